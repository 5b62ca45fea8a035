/* The trie that stacks in order are (stack_order.h), as an array: a node is followed by all that is below it. What a node weighs is a difference of two sums
 * over the stacks in their order. */
#pragma once

#include "analysis/stack_order.h"

struct trie_weight {
	uint64_t period, count; /* count: samples */
};

struct trie_node {
	uint32_t frame;
	uint32_t end;	      /* the first node behind those below */
	uint32_t first, last; /* its stacks: [first, last) of the trie's */
};

struct callgraph_trie {
	struct trie_node *nodes;
	size_t node_count;
	size_t count;		   /* stacks */
	struct trie_weight *before; /* by stack: the sum of those before it; count + 1 of them */
};

/* Of the stacks at these positions, which ascend; NULL = of the first `count`. */
void callgraph_trie_init(struct callgraph_trie *trie, const struct stack_order *order, const uint32_t *positions, size_t count);
void callgraph_trie_deinit(struct callgraph_trie *trie);

/* Of the stacks [first, last). */
static inline struct trie_weight callgraph_trie_sum(const struct callgraph_trie *trie, size_t first, size_t last)
{
	const struct trie_weight *a = &trie->before[first], *b = &trie->before[last];
	return (struct trie_weight){.period = b->period - a->period, .count = b->count - a->count};
}

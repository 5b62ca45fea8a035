/* The trie that stacks in order are (stack_order.h), without nodes in memory: a node is a range of stacks and how many frames they share,
 * and its children are found by looking where neighbours share no more than that. What a node weighs is a difference of two sums over the
 * stacks in their order. So a trie costs some bytes for each stack, however deep stacks are. */
#pragma once

#include "analysis/report/stack_order.h"

enum { TRIE_BLOCK = 64, TRIE_STEP = 8 };

struct trie_weight {
	uint64_t period, count; /* count: samples */
};

/* The stacks [first, last) have the same frames from the first one to that at `depth`. No stack before or behind them has, as far as the
 * order says. */
struct trie_node {
	uint32_t first, last;
	uint32_t depth;
};

struct callgraph_trie {
	const struct stack_order *order;
	const uint32_t *positions;  /* by stack, in the order; NULL = all of them */
	const uint16_t *shared;	    /* by stack: with the one before it */
	uint16_t *own_shared;	    /* the same, with `positions` */
	uint16_t *least;	    /* by TRIE_BLOCK stacks: the least of `shared` */
	struct trie_weight *before; /* by TRIE_STEP stacks: the sum of those before them */
	size_t count;		    /* stacks */
};

/* Of the stacks at these positions, which ascend and must outlive the trie; NULL = of the first `count`. */
void callgraph_trie_init(struct callgraph_trie *trie, const struct stack_order *order, const uint32_t *positions, size_t count,
			 unsigned int jobs);
void callgraph_trie_deinit(struct callgraph_trie *trie);

static inline uint32_t callgraph_trie_position(const struct callgraph_trie *trie, uint32_t stack)
{
	return trie->positions ? trie->positions[stack] : stack;
}

/* Adds the stacks [first, last) one by one. */
static inline void callgraph_trie_add(const struct callgraph_trie *trie, uint32_t first, uint32_t last, struct trie_weight *sum)
{
	for (uint32_t i = first; i < last; i++) {
		const struct fold_entry *entry = stack_order_entry(trie->order, callgraph_trie_position(trie, i));
		sum->period += entry->period;
		sum->count += entry->count;
	}
}

/* Of the stacks [first, last). */
static inline struct trie_weight callgraph_trie_sum(const struct callgraph_trie *trie, uint32_t first, uint32_t last)
{
	struct trie_weight sum = {0};
	if (last - first <= TRIE_STEP) {
		callgraph_trie_add(trie, first, last, &sum);
		return sum;
	}
	uint32_t begin = (first + TRIE_STEP - 1) / TRIE_STEP, end = last / TRIE_STEP;
	const struct trie_weight *a = &trie->before[begin], *b = &trie->before[end];
	sum = (struct trie_weight){.period = b->period - a->period, .count = b->count - a->count};
	callgraph_trie_add(trie, first, begin * TRIE_STEP, &sum);
	callgraph_trie_add(trie, end * TRIE_STEP, last, &sum);
	return sum;
}

/* Where the node at `depth` that begins with the stack `first` ends, at most at `last`. */
static inline uint32_t callgraph_trie_end(const struct callgraph_trie *trie, uint32_t first, uint32_t last, uint32_t depth)
{
	uint32_t at = first + 1;
	for (; at < last && at % TRIE_BLOCK; at++)
		if (trie->shared[at] <= depth)
			return at;
	while (at < last && last - at >= TRIE_BLOCK && trie->least[at / TRIE_BLOCK] > depth)
		at += TRIE_BLOCK;
	while (at < last && trie->shared[at] > depth)
		at++;
	return at;
}

/* Stacks in order become the nodes of a trie: each adds those that it doesn't share with the one before it. */
#include "analysis/callgraph_trie.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>

struct making {
	const struct stack_order *order;
	VEC(struct trie_node) nodes;
	VEC(uint32_t) path; /* the open nodes, from the first frame on */
};

static void close_path(struct making *making, uint32_t depth, size_t stack)
{
	while (making->path.len > depth) {
		struct trie_node *node = &making->nodes.data[making->path.data[--making->path.len]];
		node->end = (uint32_t)making->nodes.len;
		node->last = (uint32_t)stack;
	}
}

static void add_stack(struct making *making, const struct fold_entry *entry, uint32_t shared, size_t stack)
{
	uint32_t depth = stack_order_depth(making->order, entry);
	close_path(making, shared, stack);
	for (uint32_t at = shared; at < depth; at++) {
		vec_push(&making->path, (uint32_t)making->nodes.len);
		vec_push(&making->nodes, (struct trie_node){.frame = stack_order_frame(making->order, entry, depth, at), .first = (uint32_t)stack});
	}
}

void callgraph_trie_init(struct callgraph_trie *trie, const struct stack_order *order, const uint32_t *positions, size_t count)
{
	struct making making = {.order = order};
	struct trie_weight sum = {0};
	*trie = (struct callgraph_trie){.count = count, .before = mem_alloc_array(count + 1, sizeof(*trie->before))};
	for (size_t i = 0; i < count; i++) {
		enum { AHEAD = 16 };
		size_t at = positions ? positions[i] : i;
		const struct fold_entry *entry = stack_order_entry(order, at);
		if (i + AHEAD < count)
			__builtin_prefetch(stack_order_entry(order, positions ? positions[i + AHEAD] : i + AHEAD));
		add_stack(&making, entry, i ? stack_order_shared(order, positions ? positions[i - 1] : i - 1, at) : 0, i);
		trie->before[i] = sum;
		sum.period += entry->period;
		sum.count += entry->count;
	}
	trie->before[count] = sum;
	close_path(&making, 0, count);
	vec_deinit(&making.path);
	trie->nodes = making.nodes.data;
	trie->node_count = making.nodes.len;
}

void callgraph_trie_deinit(struct callgraph_trie *trie)
{
	free(trie->nodes);
	free(trie->before);
}

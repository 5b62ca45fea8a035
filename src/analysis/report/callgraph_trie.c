/* Stacks in order as a trie (the contract is in callgraph_trie.h). */
#include "analysis/report/callgraph_trie.h"

#include "base/mem.h"
#include "base/pool.h"

#include <stdlib.h>

struct making {
	struct callgraph_trie *trie;
	size_t step;		   /* stacks of a part: a multiple of TRIE_BLOCK */
	struct trie_weight *parts; /* what each weighs, then what is before it */
};

static size_t part_end(const struct making *making, size_t part)
{
	size_t end = (part + 1) * making->step;
	return end < making->trie->count ? end : making->trie->count;
}

/* Sums from the part's beginning on. */
static void sum_part(void *context, unsigned int worker, size_t part)
{
	enum { AHEAD = 16 };
	const struct making *making = context;
	struct callgraph_trie *trie = making->trie;
	struct trie_weight sum = {0};
	(void)worker;
	for (size_t i = part * making->step, end = part_end(making, part); i < end; i++) {
		if (i + AHEAD < end)
			__builtin_prefetch(stack_order_entry(trie->order, callgraph_trie_position(trie, (uint32_t)(i + AHEAD))));
		const struct fold_entry *entry = stack_order_entry(trie->order, callgraph_trie_position(trie, (uint32_t)i));
		uint16_t *least = &trie->least[i / TRIE_BLOCK];
		if (i % TRIE_STEP == 0)
			trie->before[i / TRIE_STEP] = sum;
		sum.period += entry->period;
		sum.count += entry->count;
		if (i % TRIE_BLOCK == 0 || trie->shared[i] < *least)
			*least = trie->shared[i];
	}
	making->parts[part] = sum;
}

static void shift_part(void *context, unsigned int worker, size_t part)
{
	const struct making *making = context;
	const struct trie_weight *before = &making->parts[part];
	(void)worker;
	for (size_t i = part * making->step, end = part_end(making, part); i < end; i += TRIE_STEP) {
		making->trie->before[i / TRIE_STEP].period += before->period;
		making->trie->before[i / TRIE_STEP].count += before->count;
	}
}

/* What stacks at positions share with those before them. */
static uint16_t *share(const struct stack_order *order, const uint32_t *positions, size_t count)
{
	uint16_t *shared = mem_alloc_array(count + 1, sizeof(*shared));
	for (size_t i = 0; i < count; i++) {
		if (i && positions[i] == positions[i - 1] + 1) {
			shared[i] = order->shared[positions[i]];
			continue;
		}
		uint32_t frames = i ? stack_order_shared(order, positions[i - 1], positions[i]) : 0;
		shared[i] = frames < UINT16_MAX ? (uint16_t)frames : UINT16_MAX;
	}
	return shared;
}

void callgraph_trie_init(struct callgraph_trie *trie, const struct stack_order *order, const uint32_t *positions, size_t count,
			 unsigned int jobs)
{
	*trie = (struct callgraph_trie){.order = order, .positions = positions, .shared = order->shared, .count = count};
	if (positions)
		trie->shared = trie->own_shared = share(order, positions, count);
	trie->before = mem_alloc_array(count / TRIE_STEP + 1, sizeof(*trie->before));
	trie->least = mem_alloc_array(count / TRIE_BLOCK + 1, sizeof(*trie->least));
	size_t blocks = count / TRIE_BLOCK + 1;
	struct making making = {
		.trie = trie, .step = (blocks / jobs + 1) * TRIE_BLOCK, .parts = mem_zalloc_array(jobs + 1, sizeof(*making.parts))};
	size_t parts = (count + making.step - 1) / making.step;
	pool_run(jobs, parts, sum_part, &making);
	struct trie_weight sum = {0};
	for (size_t i = 0; i < parts; i++) {
		const struct trie_weight own = making.parts[i];
		making.parts[i] = sum;
		sum.period += own.period;
		sum.count += own.count;
	}
	if (count % TRIE_STEP == 0)
		trie->before[count / TRIE_STEP] = sum;
	if (parts > 1)
		pool_run(jobs, parts, shift_part, &making);
	free(making.parts);
}

void callgraph_trie_deinit(struct callgraph_trie *trie)
{
	free(trie->own_shared);
	free(trie->least);
	free(trie->before);
	*trie = (struct callgraph_trie){0};
}

/* Annotate: instructions a cycle, from branch records of processors that count cycles between branches.
 *
 *	block of 5 instructions,          mov        1.25
 *	8 runs in 32 cycles:  ──►          …          …
 *	5 * 8 / 32 = 1.25                 ↓ jne      1.25    4 cycles      at the branch that ends it
 *
 * An instruction may be in several blocks, since they end at different branches: it gets the figure of the one that ends last. */
#include "analysis/annotate/annotate_internal.h"

#include "analysis/blocks.h"
#include "base/mem.h"

#include <linux/perf_event.h>
#include <stdlib.h>

static struct error *find_blocks(struct annotate_private *private, const struct event *event, const struct blocks **ret)
{
	const struct blocks_options options = {.event = event, .counters = true};
	*ret = NULL;
	if (!private->readable || !(event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
		return NULL;
	if (!private->blocks)
	private->blocks = mem_zalloc_array(private->session->reader->events.events.len, sizeof(*private->blocks));
	struct blocks **blocks = &private->blocks[event->index];
	struct error *error = *blocks ? NULL : blocks_create(private->session, private->resolver, &options, blocks);
	*ret = *blocks;
	return error;
}

void annotate_destroy_blocks(struct annotate_private *private, size_t event_count)
{
	for (size_t i = 0; private->blocks && i < event_count; i++)
		blocks_destroy(private->blocks[i]);
	free(private->blocks);
}

static int ends_later(const void *a, const void *b)
{
	uint64_t x = (*(const struct block *const *)a)->last.dso_addr, y = (*(const struct block *const *)b)->last.dso_addr;
	return x > y ? -1 : x < y;
}

/* What all blocks of the function add up to. */
struct cycle_sums {
	uint64_t run, cycles; /* instructions, by how often they ran */
	size_t covered;
};

static void add_block(const struct block *block, uint64_t moved, const uint32_t *instructions, size_t count, struct annotation *annotation,
		      struct cycle_sums *sums)
{
	size_t first = annotate_position(annotation, instructions, count, block->first + moved);
	size_t last = annotate_position(annotation, instructions, count, block->last.dso_addr + moved);
	if (first > last || last == count)
		return;
	struct annotation_cycles *end = &annotation->cycles[instructions[last]];
	end->average = block_average(block);
	end->least = block->least;
	end->most = block->most;
	end->runs = block->count;
	end->counts = block->counts;
	if (!block->has_first)
		return;
	uint64_t run = (last - first + 1) * block->count;
	sums->run += run;
	sums->cycles += block->cycles;
	for (size_t i = first; i <= last; i++) {
		double *ipc = &annotation->cycles[instructions[i]].ipc;
		sums->covered += !*ipc;
		*ipc = *ipc ? *ipc : (double)run / (double)block->cycles;
	}
}

struct error *annotate_add_cycles(struct annotate_private *private, const struct annotate_function *function, const struct event *event,
				  const uint32_t *instructions, size_t count, struct annotation *annotation)
{
	const struct blocks *blocks;
	struct cycle_sums sums = {0};
	VEC(const struct block *) own = {0};
	struct error *error = find_blocks(private, event, &blocks);
	if (error || !blocks || !blocks->cycles)
		return error;
	for (size_t i = 0; i < blocks->count; i++)
		if (blocks->list[i].last.symbol == function->symbol)
			vec_push(&own, &blocks->list[i]);
	if (own.len)
		qsort(own.data, own.len, sizeof(*own.data), ends_later);
	annotation->cycles = arena_zalloc(&annotation->arena, (annotation->lines.len + 1) * sizeof(*annotation->cycles));
	annotation->counters = blocks->counters;
	annotation->counter_count = blocks->counter_count;
	for (size_t i = 0; i < own.len; i++)
		add_block(own.data[i], annotation->start - function->symbol->start, instructions, count, annotation, &sums);
	annotation->ipc = sums.cycles ? (double)sums.run / (double)sums.cycles : 0;
	annotation->ipc_coverage = count ? 100.0 * (double)sums.covered / (double)count : 0;
	vec_deinit(&own);
	return NULL;
}

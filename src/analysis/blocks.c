/* Blocks: cycles between branches. Samples are added up by the addresses of a block's ends; these are resolved afterwards, each once, and
 * added up by function and last instruction. */
#include "analysis/blocks.h"

#include "analysis/branch_counters.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Code that ran between two branches, by addresses in memory. */
struct stretch {
	const struct maps *maps;
	uint64_t to; /* where the branch before led to; 0 = not known */
	uint64_t from;
	uint64_t epoch; /* which state of the maps */
	uint64_t time;	/* one of that state: the first */
	uint64_t cycles, count, least, most;
	uint8_t cpumode;
};

/* One time that it ran. */
struct run {
	uint64_t time;
	uintptr_t record; /* of one time they are in the order of their records */
	uint32_t depth;	  /* in the record, whose oldest branch is its last */
	uint32_t cycles;
};

/* The first ones, in order. */
struct first_runs {
	struct run list[BLOCK_RUNS];
	unsigned int count;
};

struct gathering {
	VEC(struct stretch) stretches;
	VEC(struct first_runs) runs;	 /* of the stretch of this number; empty when nobody asks for them */
	VEC(struct branch_count) counts; /* the same, as many for each as there are counters */
	struct map64 index;		 /* hash → stretch */
	uint64_t cycles;
};

struct block_lines {
	struct machine *machine;
	const struct blocks_options *options;
	bool all_branches; /* recorded: what is between two records is code without jumps that were taken */
	size_t counter_count;
	unsigned int counter_width; /* bits of each */
};

static bool is_before(const struct run *a, const struct run *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->record != b->record ? a->record < b->record : a->depth > b->depth;
}

static void add_run(struct first_runs *runs, const struct run *run)
{
	unsigned int at = runs->count;
	while (at && is_before(run, &runs->list[at - 1]))
		at--;
	if (at == BLOCK_RUNS)
		return;
	runs->count += runs->count < BLOCK_RUNS;
	memmove(&runs->list[at + 1], &runs->list[at], (runs->count - at - 1) * sizeof(*run));
	runs->list[at] = *run;
}

static void add_runs(struct first_runs *to, const struct first_runs *more)
{
	for (unsigned int i = 0; i < more->count; i++)
		add_run(to, &more->list[i]);
}

/* Its number. */
static size_t add_stretch(struct gathering *gathering, const struct stretch *stretch)
{
	const uint64_t words[] = {stretch->epoch, stretch->to, stretch->from, stretch->cpumode};
	bool is_new;
	uint64_t *slot = map64_insert(&gathering->index, hash_words(words, 4, 0).lo, &is_new);
	if (is_new) {
		*slot = gathering->stretches.len;
		vec_push(&gathering->stretches, *stretch);
		return *slot;
	}
	struct stretch *known = &gathering->stretches.data[*slot];
	known->cycles += stretch->cycles;
	known->count += stretch->count;
	known->least = stretch->least < known->least ? stretch->least : known->least;
	known->most = stretch->most > known->most ? stretch->most : known->most;
	if (stretch->time < known->time)
		known->time = stretch->time;
	return *slot;
}

static struct first_runs *runs_of(struct gathering *gathering, size_t stretch)
{
	while (gathering->runs.len <= stretch)
		vec_push(&gathering->runs, (struct first_runs){0});
	return &gathering->runs.data[stretch];
}

static struct branch_count *counts_of(struct gathering *gathering, size_t stretch, size_t counters)
{
	while (gathering->counts.len < (stretch + 1) * counters)
		vec_push(&gathering->counts, (struct branch_count){0});
	return counters ? &gathering->counts.data[stretch * counters] : NULL;
}

static void add_counts(struct branch_count *to, const struct branch_count *more, size_t counters)
{
	for (size_t i = 0; i < counters; i++) {
		to[i].sum += more[i].sum;
		to[i].saturated |= more[i].saturated;
	}
}

/* Those of a branch record, which are packed into a word. */
static void add_packed_counts(struct branch_count *to, uint64_t packed, const struct block_lines *source)
{
	uint64_t most = (1ull << source->counter_width) - 1;
	for (size_t i = 0; i < source->counter_count; i++) {
		uint64_t times = packed >> i * source->counter_width & most;
		to[i].sum += times;
		to[i].saturated |= times == most;
	}
}

static void gathering_init(void *state, void *context)
{
	*(struct gathering *)state = (struct gathering){0};
}

static void add_sample(void *state, void *argument, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	struct gathering *gathering = state;
	const struct block_lines *source = argument;
	/* Where the newest record tells no cycles, the processor doesn't count them. */
	if (event != source->options->event || !sample->branch_count || !branch_cycles(&sample->branches[0]))
		return;
	struct machine *machine = source->machine;
	struct fold_sample in = {.event = event, .sample = sample, .model_time = model_time};
	fold_sample_complete(&in, machine);
	if (source->options->accept && !source->options->accept(source->options->context, &in))
		return;
	const struct maps *user = machine_maps(machine, in.thread, CPUMODE_USER),
			  *kernel = machine_maps(machine, in.thread, CPUMODE_KERNEL);
	uint64_t user_epoch = maps_epoch(user, model_time), kernel_epoch = maps_epoch(kernel, model_time), before = 0;
	for (uint64_t i = sample->branch_count; i-- > 0;) {
		const struct branch_entry *branch = &sample->branches[i];
		uint64_t cycles = branch_cycles(branch);
		bool in_kernel = machine_is_kernel_address(machine, branch->from);
		bool joined = before && machine_is_kernel_address(machine, before) == in_kernel;
		gathering->cycles += cycles;
		const struct stretch stretch = {.maps = in_kernel ? kernel : user,
						.epoch = in_kernel ? kernel_epoch : user_epoch,
						.to = joined ? before : 0,
						.from = branch->from,
						.time = model_time,
						.cycles = cycles,
						.count = 1,
						.least = cycles,
						.most = cycles,
						.cpumode = in_kernel ? CPUMODE_KERNEL : CPUMODE_USER};
		size_t number = cycles ? add_stretch(gathering, &stretch) : 0;
		if (cycles && source->options->runs)
			add_run(runs_of(gathering, number), &(struct run){.time = sample->time,
									  .record = (uintptr_t)sample->header,
									  .depth = (uint32_t)i,
									  .cycles = (uint32_t)cycles});
		if (cycles && sample->branch_counters && source->counter_count)
			add_packed_counts(counts_of(gathering, number, source->counter_count), sample->branch_counters[i], source);
		before = source->all_branches ? branch->to : 0;
	}
}

static void gathering_merge(void *into, void *from, void *context)
{
	struct gathering *a = into;
	const struct gathering *b = from;
	size_t counters = ((const struct block_lines *)context)->counter_count;
	for (size_t i = 0; i < b->stretches.len; i++) {
		size_t number = add_stretch(a, &b->stretches.data[i]);
		if (i < b->runs.len)
			add_runs(runs_of(a, number), &b->runs.data[i]);
		if (i * counters < b->counts.len)
			add_counts(counts_of(a, number, counters), &b->counts.data[i * counters], counters);
	}
	a->cycles += b->cycles;
}

static void gathering_deinit(void *state, void *context)
{
	struct gathering *gathering = state;
	vec_deinit(&gathering->stretches);
	vec_deinit(&gathering->runs);
	vec_deinit(&gathering->counts);
	map64_deinit(&gathering->index);
}

/* The stretch's first address in the function that its last one is in; the function's start when it isn't known. */
static uint64_t first_address(struct resolver *resolver, const struct stretch *stretch, const struct frame *last)
{
	struct frame first = {0};
	if (stretch->to)
		resolver_frame(resolver, stretch->maps, stretch->cpumode, stretch->to, stretch->time, &first);
	return first.symbol == last->symbol && first.dso_addr < last->dso_addr ? first.dso_addr : 0;
}

/* A block that is being made. */
struct making {
	struct block block;
	struct first_runs runs; /* of those from its first instruction */
};

static void add_block(struct making *making, uint64_t first, const struct stretch *stretch, const struct first_runs *runs,
		      const struct frame *last)
{
	struct block *block = &making->block;
	if (!block->count) {
		block->last = *last;
		block->least = stretch->least;
	}
	block->least = stretch->least < block->least ? stretch->least : block->least;
	block->most = stretch->most > block->most ? stretch->most : block->most;
	/* 0 stands for "not known" until all are added. */
	if (first && (!block->first || first < block->first)) {
		block->first = first;
		making->runs.count = 0;
	}
	if (runs && first == block->first)
		add_runs(&making->runs, runs);
	block->cycles += stretch->cycles;
	block->count += stretch->count;
}

static struct block finish_block(const struct making *making)
{
	struct block block = making->block;
	block.has_first = block.first;
	if (!block.first)
		block.first = block.last.symbol->start;
	block.run_count = making->runs.count;
	for (unsigned int i = 0; i < block.run_count; i++)
		block.runs[i] = making->runs.list[i].cycles;
	return block;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	int difference = strcmp(x->last.symbol->name, y->last.symbol->name);
	if (!difference)
		difference = strcmp(x->last.map->dso->name, y->last.map->dso->name);
	return difference ? difference : x->last.dso_addr < y->last.dso_addr ? -1 : x->last.dso_addr > y->last.dso_addr;
}

static void make_blocks(struct resolver *resolver, const struct gathering *gathering, struct blocks *blocks)
{
	size_t counters = blocks->counter_count;
	VEC(struct making) list = {0};
	struct map64 index = {0};
	for (size_t i = 0; i < gathering->stretches.len; i++) {
		const struct stretch *stretch = &gathering->stretches.data[i];
		struct frame last;
		resolver_frame(resolver, stretch->maps, stretch->cpumode, stretch->from, stretch->time, &last);
		if (!last.symbol)
			continue;
		bool is_new;
		uint64_t *slot = map64_insert(&index, hash_combine((uintptr_t)last.symbol, last.dso_addr), &is_new);
		if (is_new) {
			*slot = list.len;
			vec_push(&list,
				 (struct making){.block.counts = arena_zalloc(&blocks->arena, counters * sizeof(struct branch_count))});
		}
		add_block(&list.data[*slot], first_address(resolver, stretch, &last), stretch,
			  i < gathering->runs.len ? &gathering->runs.data[i] : NULL, &last);
		if (i * counters < gathering->counts.len)
			add_counts(list.data[*slot].block.counts, &gathering->counts.data[i * counters], counters);
	}
	map64_deinit(&index);
	blocks->list = mem_alloc_array(list.len + 1, sizeof(*blocks->list));
	blocks->count = list.len;
	blocks->cycles = gathering->cycles;
	for (size_t i = 0; i < blocks->count; i++) {
		blocks->list[i] = finish_block(&list.data[i]);
		blocks->average_cycles += block_average(&blocks->list[i]);
	}
	vec_deinit(&list);
	if (blocks->count)
		qsort(blocks->list, blocks->count, sizeof(*blocks->list), compare_blocks);
}

struct error *blocks_create(struct session *session, struct resolver *resolver, const struct blocks_options *options, struct blocks **ret)
{
	static const struct reducer reducer = {.state_size = sizeof(struct gathering),
					       .init = gathering_init,
					       .sample = add_sample,
					       .merge = gathering_merge,
					       .deinit = gathering_deinit};
	struct blocks *blocks = mem_zalloc(sizeof(*blocks));
	const unsigned int width = branch_counters_width(&session->reader->features), most = 64 / width; /* in a word */
	if (options->counters)
		blocks->counters = branch_counters_of(&session->reader->events, options->event, &blocks->arena, &blocks->counter_count);
	if (blocks->counter_count > most)
		blocks->counter_count = most;
	struct block_lines source = {.machine = session->machine,
				     .options = options,
				     .all_branches = options->event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_ANY,
				     .counter_count = blocks->counter_count,
				     .counter_width = width};
	struct gathering *gathering;
	struct error *error = session_reduce(session, &reducer, &source, (void **)&gathering);
	if (error) {
		blocks_destroy(blocks);
		return error;
	}
	make_blocks(resolver, gathering, blocks);
	gathering_deinit(gathering, NULL);
	free(gathering);
	*ret = blocks;
	return NULL;
}

void blocks_destroy(struct blocks *blocks)
{
	if (!blocks)
		return;
	free(blocks->list);
	arena_deinit(&blocks->arena);
	free(blocks);
}

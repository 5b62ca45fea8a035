/* Stacks in bundles (the contract is in fold_bundles.h). */
#include "analysis/report/tree/fold_bundles.h"

#include "base/pool.h"
#include "base/radix.h"

#include <stdlib.h>

/* ---- stretches ---- */

/* The part behind so many. */
static const uint32_t *part_behind(const struct stack_lists *all, const struct loose_stack *stack, uint32_t parts)
{
	return &stack->parts[all->growing->options->reverse ? parts : LOOSE_PARTS - 1 - parts];
}

/* The stretch of a stack behind so many, innermost first; *ret_count 0 = there is none, or it has no frames. */
static const uint32_t *stretch_behind(const struct stack_lists *all, const struct stack_list *list, const struct loose_stack *stack,
				      uint32_t stretches, uint32_t *ret_count)
{
	const uint32_t *part = part_behind(all, stack, stretches / 2);
	bool own = stretches % 2 == !all->growing->options->reverse;
	*ret_count = 0;
	if (*part == FOLD_NONE)
		return NULL;
	if (*part & LOOSE_FRAME) {
		*ret_count = own;
		return part;
	}
	const struct loose_piece *piece = &list->pieces[*part];
	*ret_count = own ? piece->own_count : piece->outer_count;
	return own ? piece->own : piece->outer;
}

/* The next stretch that has frames, of those before `limit`; false when there is none. */
static bool enter_stretch(const struct stack_lists *all, const struct stack_list *list, const struct loose_stack *stack, uint32_t limit,
			  struct bundle *bundle)
{
	while (bundle->entered < limit) {
		uint32_t count;
		const uint32_t *frames = stretch_behind(all, list, stack, bundle->entered++, &count);
		if (!count)
			continue;
		bundle->left = count & ((1 << 29) - 1);
		bundle->next = all->growing->options->reverse ? frames : frames + count - 1;
		return true;
	}
	return false;
}

bool stack_lists_go_on(const struct stack_lists *all, struct bundle *bundle)
{
	const struct stack_list *list = stack_lists_at(all, bundle->begin);
	const struct loose_stack *stack = fold_loose_stack(list->blocks, all->order[bundle->begin]);
	return enter_stretch(all, list, stack, bundle->count == 1 ? STRETCHES : (bundle->entered + 1) & ~(uint32_t)1, bundle);
}

static void weigh(const struct stack_lists *all, const struct loose_stack *stack, struct bundle *bundle)
{
	bundle->total += all->growing->options->count ? stack->count : stack->period;
	bundle->total_count += stack->count;
}

struct sorting {
	const struct stack_lists *all;
	const struct stack_list *list;
	uint32_t parts; /* how many they have in common */
};

static uint64_t by_next_part(const void *context, uint32_t number)
{
	const struct sorting *sorting = context;
	return *part_behind(sorting->all, fold_loose_stack(sorting->list->blocks, number), sorting->parts);
}

/* Stacks that begin with the same part of the same thread. */
static uint64_t by_beginning(const void *context, uint32_t number)
{
	const struct sorting *sorting = context;
	const struct loose_stack *stack = fold_loose_stack(sorting->list->blocks, number);
	const uint32_t *roots = sorting->all->growing->root_ranks;
	return (uint64_t)(roots ? roots[stack->actor] : 0) << 32 | *part_behind(sorting->all, stack, 0);
}

/* Few are sorted without the other's tables. */
static void sort_stacks(const struct sorting *sorting, uint64_t (*key)(const void *context, uint32_t number), uint32_t *order,
			uint32_t count)
{
	enum { FEW = 32 };
	uint64_t keys[FEW];
	if (count > FEW)
		return radix_sort(order, count, key, sorting);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = order[i], at = i;
		uint64_t value = key(sorting, number);
		for (; at > 0 && keys[at - 1] > value; at--) {
			keys[at] = keys[at - 1];
			order[at] = order[at - 1];
		}
		keys[at] = value;
		order[at] = number;
	}
}

/* Stacks that are the same in what they are sorted by become bundles. */
static void tie(const struct sorting *sorting, uint64_t (*key)(const void *context, uint32_t number), uint32_t begin, uint32_t count,
		bundle_list *bundles)
{
	const struct stack_lists *all = sorting->all;
	struct loose_stack *const *blocks = sorting->list->blocks;
	uint32_t *order = all->order + begin;
	sort_stacks(sorting, key, order, count);
	for (uint32_t i = 0, end; i < count; i = end) {
		uint64_t value = key(sorting, order[i]);
		struct bundle bundle = {.begin = begin + i, .entered = (sorting->parts * 2) & 7};
		for (end = i; end < count && key(sorting, order[end]) == value; end++) {
			if (end + AHEAD < count)
				__builtin_prefetch(fold_loose_stack(blocks, order[end + AHEAD]));
			weigh(all, fold_loose_stack(blocks, order[end]), &bundle);
		}
		bundle.count = end - i;
		uint32_t limit = bundle.count == 1 ? STRETCHES : (sorting->parts + 1) * 2;
		enter_stretch(all, sorting->list, fold_loose_stack(blocks, order[i]), limit, &bundle);
		vec_push(bundles, bundle);
	}
}

/* What ends in each frame. */
static uint64_t *sum_frames(const struct stack_lists *all, const struct stack_list *list)
{
	uint64_t *sums = mem_zalloc_array(all->growing->fold->frame_count + 1, sizeof(*sums));
	bool reverse = all->growing->options->reverse;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct loose_stack *stack = fold_loose_stack(list->blocks, i);
		uint32_t count = 0;
		const uint32_t *last = NULL;
		for (uint32_t stretches = STRETCHES; !count && stretches-- > 0;)
			last = stretch_behind(all, list, stack, stretches, &count);
		if (count)
			sums[stack_lists_frame(all, last[reverse ? count - 1 : 0])] +=
				all->growing->options->count ? stack->count : stack->period;
	}
	return sums;
}

static void make_bundles(void *context, unsigned int worker, size_t number)
{
	struct stack_lists *all = context;
	struct stack_list *list = &all->lists[number];
	(void)worker;
	for (uint32_t i = 0; i < list->count; i++)
		all->order[list->begin + i] = i;
	tie(&(struct sorting){.all = all, .list = list}, by_beginning, list->begin, list->count, &list->bundles);
	list->own = sum_frames(all, list);
}

void stack_lists_untie(const struct stack_lists *all, const struct bundle *tied, bundle_list *untied)
{
	size_t begin = untied->len, kept = begin;
	struct sorting sorting = {.all = all, .list = stack_lists_at(all, tied->begin), .parts = tied->entered / 2};
	if (sorting.parts < LOOSE_PARTS)
		tie(&sorting, by_next_part, tied->begin, tied->count, untied);
	for (size_t i = begin; i < untied->len; i++) {
		const struct bundle bundle = untied->data[i];
		sorting.parts = bundle.entered / 2;
		if (bundle.left)
			untied->data[kept++] = bundle;
		else if (bundle.count > 1 && sorting.parts < LOOSE_PARTS)
			tie(&sorting, by_next_part, bundle.begin, bundle.count, untied);
	}
	untied->len = kept;
}

/* ---- lists ---- */

/* A fold's entries as stacks. */
static struct loose_stack **stacks_of_entries(const struct tree_growing *growing)
{
	struct loose_stack **blocks = mem_zalloc_array(growing->count / LOOSE_BLOCK + 1, sizeof(*blocks));
	for (uint32_t i = 0; i < growing->count; i++) {
		const struct fold_entry *entry = &growing->fold->entries[growing->entries[i]];
		bool chain = entry->inner != FOLD_NONE || entry->outer != FOLD_NONE;
		if (i % LOOSE_BLOCK == 0)
			blocks[i / LOOSE_BLOCK] = mem_alloc_table(LOOSE_BLOCK, sizeof(**blocks));
		*fold_loose_stack(blocks, i) = (struct loose_stack){
			.parts = {entry->inner, chain ? FOLD_NONE : entry->leaf | LOOSE_FRAME, entry->outer},
			.actor = entry->actor,
			.count = entry->count,
			.place = i,
			.period = entry->period,
		};
	}
	return blocks;
}

static struct loose_piece *pieces_of_fold(const struct tree_growing *growing)
{
	struct loose_piece *pieces = mem_alloc_array(growing->fold->piece_count + 1, sizeof(*pieces));
	for (size_t i = 0; i < growing->fold->piece_count; i++)
		pieces[i] = (struct loose_piece){.own = growing->frames + growing->pieces[i].frames,
						 .own_count = growing->pieces[i].frame_count};
	return pieces;
}

/* Those of its feeds; else its entries. */
static void list_stacks(struct stack_lists *all)
{
	const struct tree_growing *growing = all->growing;
	const struct fold_private *private = growing->fold->private;
	size_t count = 0;
	all->count = private->loose.len ? private->loose.len : 1;
	all->lists = mem_zalloc_array(all->count, sizeof(*all->lists));
	for (size_t i = 0; i < private->loose.len; i++) {
		const struct fold_loose *loose = private->loose.data[i];
		all->lists[i] = (struct stack_list){.blocks = loose->blocks.data,
						    .pieces = loose->pieces.data,
						    .begin = (uint32_t)count,
						    .count = (uint32_t)loose->stack_count};
		count += loose->stack_count;
	}
	if (!private->loose.len) {
		count = growing->count;
		*all->lists = (struct stack_list){
			.blocks = stacks_of_entries(growing), .pieces = pieces_of_fold(growing), .count = (uint32_t)count};
	}
	if (count > UINT32_MAX)
		mem_exhausted();
	all->order = mem_alloc_table(count + 1, sizeof(*all->order));
}

void stack_lists_deinit(struct stack_lists *all)
{
	for (size_t i = 0; i < all->count; i++) {
		vec_deinit(&all->lists[i].bundles);
		free(all->lists[i].own);
	}
	if (!all->growing->fold->private->loose.len) {
		for (size_t i = 0; i <= all->growing->count / LOOSE_BLOCK; i++)
			free(all->lists->blocks[i]);
		free((void *)all->lists->blocks);
		free((void *)all->lists->pieces);
	}
	free(all->lists);
	free(all->order);
	free(all->frames);
	free(all->looks);
}

static void list_frames(struct stack_lists *all)
{
	const struct tree_growing *growing = all->growing;
	const struct fold *fold = growing->fold;
	const uint32_t *packed = fold->private->packed_frames;
	size_t count = packed ? fold->private->frame_numbers : fold->frame_count;
	struct map64 looks = {0};
	all->frames = mem_alloc_array(count + 1, sizeof(*all->frames));
	for (uint32_t i = 0; i < count && fold->frame_count; i++) {
		uint32_t frame = packed ? packed[i] : i;
		all->frames[i] = (uint64_t)frame << 32 | growing->frame_ranks[frame];
	}
	all->looks = mem_alloc_array(fold->frame_count + 1, sizeof(*all->looks));
	for (uint32_t i = 0; i < fold->frame_count; i++) {
		const struct map *map = fold->frames[i].map;
		uintptr_t module = map ? (uintptr_t)map->dso->short_name : 0;
		bool new;
		uint64_t *look = map64_insert(&looks, hash_combine(module, fold_frame_kind(fold, i)), &new);
		*look = new ? i : *look;
		all->looks[i] = (uint32_t)*look;
	}
	map64_deinit(&looks);
}

void stack_lists_init(struct stack_lists *all, const struct tree_growing *growing)
{
	*all = (struct stack_lists){.growing = growing};
	list_stacks(all);
	list_frames(all);
	pool_run(growing->fold->private->options.jobs, all->count, make_bundles, all);
}

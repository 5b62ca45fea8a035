/* The order of stacks (the contract is in stack_order.h).
 *
 * A stack is two pieces, and each piece is part of many stacks. So pieces are sorted by their frames, once, and entries by the ranks of
 * their pieces:
 *
 *	pieces   ── sequence_sort.h ──►  ranks
 *	entries  ── radix sort by (section, first piece's rank, second piece's rank)
 */
#include "analysis/report/stack_order.h"

#include "analysis/sequence_sort.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/radix.h"

#include <stdlib.h>

/* ---- pieces ---- */

struct ranking {
	const struct fold *fold;
	bool outside_in;
};

static uint32_t piece_frame(const struct ranking *ranking, const struct fold_piece *piece, uint32_t depth)
{
	return ranking->fold->frame_ids[piece->frames + (ranking->outside_in ? piece->frame_count - 1 - depth : depth)];
}

static uint64_t key_at(const void *context, uint32_t number, uint32_t depth)
{
	const struct ranking *ranking = context;
	const struct fold_piece *piece = &ranking->fold->pieces[number];
	uint64_t first = depth < piece->frame_count ? piece_frame(ranking, piece, depth) + (uint64_t)1 : 0;
	uint64_t second = depth + 1 < piece->frame_count ? piece_frame(ranking, piece, depth + 1) + (uint64_t)1 : 0;
	return first << 32 | second;
}

/* By piece. */
static uint32_t *rank_pieces(const struct fold *fold, bool outside_in, unsigned int jobs)
{
	const struct ranking ranking = {.fold = fold, .outside_in = outside_in};
	const struct sequences sequences = {.key = key_at, .context = &ranking, .jobs = jobs};
	uint32_t *pieces = mem_alloc_array(fold->piece_count + 1, sizeof(*pieces));
	uint32_t *ranks = mem_alloc_array(fold->piece_count + 1, sizeof(*ranks));
	for (uint32_t i = 0; i < fold->piece_count; i++)
		pieces[i] = i;
	sequences_sort(&sequences, pieces, fold->piece_count);
	for (uint32_t i = 0; i < fold->piece_count; i++)
		ranks[pieces[i]] = i + 1;
	free(pieces);
	return ranks;
}

/* ---- entries ---- */

struct sorting {
	const struct stack_order *order;
	const uint32_t *ranks;
};

static uint32_t first_piece(const struct stack_order *order, const struct fold_entry *entry)
{
	return order->outside_in ? entry->outer : entry->inner;
}

static uint32_t second_piece(const struct stack_order *order, const struct fold_entry *entry)
{
	return order->outside_in ? entry->inner : entry->outer;
}

static uint32_t rank_of(const struct sorting *sorting, uint32_t piece)
{
	return piece == FOLD_NONE ? 0 : sorting->ranks[piece];
}

static uint64_t by_second_piece(const void *context, uint32_t entry)
{
	const struct sorting *sorting = context;
	return rank_of(sorting, second_piece(sorting->order, &sorting->order->fold->entries[entry]));
}

static uint64_t by_first_piece(const void *context, uint32_t entry)
{
	const struct sorting *sorting = context;
	uint64_t section = sorting->order->sections[entry];
	return section << 32 | rank_of(sorting, first_piece(sorting->order, &sorting->order->fold->entries[entry]));
}

static uint32_t shared_frames(const struct stack_order *order, uint32_t a, uint32_t b)
{
	if (a == FOLD_NONE || b == FOLD_NONE)
		return 0;
	const struct fold_piece *x = &order->fold->pieces[a], *y = &order->fold->pieces[b];
	uint32_t least = x->frame_count < y->frame_count ? x->frame_count : y->frame_count, shared = 0;
	if (a == b)
		return least;
	const uint32_t *f = order->fold->frame_ids + x->frames, *g = order->fold->frame_ids + y->frames;
	if (order->outside_in) {
		f += x->frame_count - 1;
		g += y->frame_count - 1;
		while (shared < least && f[-(ptrdiff_t)shared] == g[-(ptrdiff_t)shared])
			shared++;
	} else {
		while (shared < least && f[shared] == g[shared])
			shared++;
	}
	return shared;
}

uint32_t stack_order_shared(const struct stack_order *order, size_t before, size_t position)
{
	if (order->sections[order->entries[before]] != order->sections[order->entries[position]])
		return 0;
	const struct fold_entry *a = stack_order_entry(order, before), *b = stack_order_entry(order, position);
	uint32_t first = first_piece(order, a), other = first_piece(order, b), shared = shared_frames(order, first, other);
	if (first != other)
		return shared;
	return shared + shared_frames(order, second_piece(order, a), second_piece(order, b));
}

/* ---- all of them ---- */

struct sharing {
	struct stack_order *order;
	size_t step; /* positions of an item */
};

static void share_range(void *context, unsigned int worker, size_t item)
{
	enum { AHEAD = 16 };
	const struct sharing *sharing = context;
	const struct stack_order *order = sharing->order;
	size_t begin = item * sharing->step, end = begin + sharing->step < order->count ? begin + sharing->step : order->count;
	(void)worker;
	for (size_t i = begin; i < end; i++) {
		if (i + AHEAD < order->count)
			__builtin_prefetch(stack_order_entry(order, i + AHEAD));
		uint32_t shared = i ? stack_order_shared(order, i - 1, i) : 0;
		order->shared[i] = shared < UINT16_MAX ? (uint16_t)shared : UINT16_MAX;
	}
}

static void share(struct stack_order *order, unsigned int jobs)
{
	enum { STEP = 1 << 14 };
	struct sharing sharing = {.order = order, .step = STEP};
	order->shared = mem_alloc_array(order->count + 1, sizeof(*order->shared));
	pool_run(jobs, (order->count + STEP - 1) / STEP, share_range, &sharing);
}

struct stack_order *stack_order_create(const struct fold *fold, const uint32_t *sections, bool outside_in, unsigned int jobs)
{
	struct stack_order *order = mem_zalloc(sizeof(*order));
	*order = (struct stack_order){.fold = fold, .sections = sections, .outside_in = outside_in};
	order->entries = mem_alloc_array(fold->entry_count + 1, sizeof(*order->entries));
	for (uint32_t i = 0; i < fold->entry_count; i++)
		if (sections[i] != FOLD_NONE)
			order->entries[order->count++] = i;
	uint32_t *ranks = rank_pieces(fold, outside_in, jobs);
	const struct sorting sorting = {.order = order, .ranks = ranks};
	radix_sort(order->entries, order->count, by_second_piece, &sorting);
	radix_sort(order->entries, order->count, by_first_piece, &sorting);
	free(ranks);
	share(order, jobs);
	return order;
}

void stack_order_destroy(struct stack_order *order)
{
	if (!order)
		return;
	free(order->entries);
	free(order->shared);
	free(order);
}

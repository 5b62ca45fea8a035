/* The order of stacks (the contract is in stack_order.h).
 *
 * A stack is two pieces, and each piece is part of many stacks. So pieces are sorted by their frames, once, and entries by the ranks of
 * their pieces:
 *
 *	pieces   ── sequence_sort.h ──►  ranks
 *	entries  ── radix sort by (section, first piece's rank, second piece's rank)
 *
 * From the outside in, pieces that share frames (struct fold_piece) are branches of one another already, and only those are sorted that
 * leave the same piece: by where they do, the innermost place first, and then by frames of their own. A piece comes before its branches:
 *
 *	main ── run ── parse ── read         ranks: 1
 *	          │       └── token                 2     leaves behind parse
 *	          └── write                         3     leaves behind run
 */
#include "analysis/report/stack_order.h"

#include "analysis/sequence_sort.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/radix.h"
#include "base/vec.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces ---- */

/* The frames inside out. */
static uint64_t key_at(const void *context, uint32_t number, uint32_t depth)
{
	const struct fold *fold = context;
	const struct fold_piece *piece = &fold->pieces[number];
	uint64_t first = depth < piece->frame_count ? *fold_piece_frame(fold, piece, depth) + (uint64_t)1 : 0;
	uint64_t second = depth + 1 < piece->frame_count ? *fold_piece_frame(fold, piece, depth + 1) + (uint64_t)1 : 0;
	return first << 32 | second;
}

/* Which piece it leaves, and where; then its own frames from the outside in. */
static uint64_t branch_key_at(const void *context, uint32_t number, uint32_t depth)
{
	const struct fold *fold = context;
	const struct fold_piece *piece = &fold->pieces[number];
	uint32_t own = piece->frame_count - piece->shared;
	if (!depth)
		return (piece->shared ? piece->outer + (uint64_t)2 : 1) << 32 | (UINT32_MAX - piece->shared);
	depth -= 2;
	const uint32_t *frames = fold->frame_ids + piece->frames;
	uint64_t first = depth < own ? frames[own - 1 - depth] + (uint64_t)1 : 0;
	uint64_t second = depth + 1 < own ? frames[own - 2 - depth] + (uint64_t)1 : 0;
	return first << 32 | second;
}

static bool leave_same(const struct fold_piece *a, const struct fold_piece *b)
{
	return !a->shared == !b->shared && (!a->shared || a->outer == b->outer);
}

/* `pieces` are sorted by branch_key_at(). A piece is behind the one that it leaves, and before those that leave it. */
static void rank_branches(const struct fold *fold, const uint32_t *pieces, uint32_t *ranks)
{
	uint32_t *branches = mem_alloc_array(fold->piece_count + 1, sizeof(*branches)); /* by piece: the first of its own, in `pieces` */
	uint32_t count = (uint32_t)fold->piece_count, rank = 0;
	VEC(uint32_t) path = {0};
	memset(branches, 0xff, count * sizeof(*branches));
	for (uint32_t i = count; i-- > 0;)
		if (fold->pieces[pieces[i]].shared)
			branches[fold->pieces[pieces[i]].outer] = i;
	for (uint32_t at = 0; at < count;) {
		ranks[pieces[at]] = ++rank;
		if (branches[pieces[at]] != FOLD_NONE) {
			vec_push(&path, at);
			at = branches[pieces[at]];
			continue;
		}
		while (path.len && (at + 1 == count || !leave_same(&fold->pieces[pieces[at]], &fold->pieces[pieces[at + 1]])))
			at = path.data[--path.len];
		if (!path.len && at + 1 < count && fold->pieces[pieces[at + 1]].shared)
			break;
		at++;
	}
	vec_deinit(&path);
	free(branches);
}

/* By piece. */
static uint32_t *rank_pieces(const struct fold *fold, bool outside_in, unsigned int jobs)
{
	const struct sequences sequences = {.key = outside_in ? branch_key_at : key_at, .context = fold, .jobs = jobs};
	uint32_t *pieces = mem_alloc_array(fold->piece_count + 1, sizeof(*pieces));
	uint32_t *ranks = mem_alloc_array(fold->piece_count + 1, sizeof(*ranks));
	for (uint32_t i = 0; i < fold->piece_count; i++)
		pieces[i] = i;
	sequences_sort(&sequences, pieces, fold->piece_count);
	if (outside_in)
		rank_branches(fold, pieces, ranks);
	for (uint32_t i = 0; i < fold->piece_count && !outside_in; i++)
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

/* The piece whose own the frame is that `left` counts from the outermost one. */
static const struct fold_piece *owner(const struct fold *fold, const struct fold_piece *piece, uint32_t left)
{
	while (piece->shared >= left)
		piece = &fold->pieces[piece->outer];
	return piece;
}

/* How many of the outermost frames are the same: less than the last difference on the way there. The way ends where both are in one
 * piece. */
static uint32_t shared_outermost(const struct fold *fold, const struct fold_piece *x, const struct fold_piece *y)
{
	uint32_t left = x->frame_count < y->frame_count ? x->frame_count : y->frame_count, shared = left;
	while (left) {
		x = owner(fold, x, left);
		y = owner(fold, y, left);
		if (x == y)
			break;
		uint32_t least = x->shared > y->shared ? x->shared : y->shared;
		const uint32_t *f = fold->frame_ids + x->frames + x->frame_count, *g = fold->frame_ids + y->frames + y->frame_count;
		uint32_t same = least;
		while (same < left && f[-(ptrdiff_t)same - 1] == g[-(ptrdiff_t)same - 1])
			same++;
		if (same < left)
			shared = same;
		left = least;
	}
	return shared;
}

static uint32_t shared_innermost(const struct fold *fold, const struct fold_piece *x, const struct fold_piece *y)
{
	uint32_t least = x->frame_count < y->frame_count ? x->frame_count : y->frame_count, shared = 0;
	while (shared < least && *fold_piece_frame(fold, x, shared) == *fold_piece_frame(fold, y, shared))
		shared++;
	return shared;
}

static uint32_t shared_frames(const struct stack_order *order, uint32_t a, uint32_t b)
{
	if (a == FOLD_NONE || b == FOLD_NONE)
		return 0;
	const struct fold_piece *x = &order->fold->pieces[a], *y = &order->fold->pieces[b];
	if (a == b)
		return x->frame_count;
	return order->outside_in ? shared_outermost(order->fold, x, y) : shared_innermost(order->fold, x, y);
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

/* What will be read of the entries behind position `i`: those, then their first pieces, then the frames where two are compared first. */
static void ask_ahead(const struct stack_order *order, size_t i)
{
	enum { STEP = 6 };
	if (i + 3 * STEP >= order->count)
		return;
	const struct fold *fold = order->fold;
	__builtin_prefetch(stack_order_entry(order, i + 3 * STEP));
	uint32_t next = first_piece(order, stack_order_entry(order, i + 2 * STEP)),
		 near = first_piece(order, stack_order_entry(order, i + STEP));
	if (next != FOLD_NONE)
		__builtin_prefetch(&fold->pieces[next]);
	if (near == FOLD_NONE)
		return;
	const struct fold_piece *piece = &fold->pieces[near];
	__builtin_prefetch(fold->frame_ids + piece->frames + (order->outside_in ? piece->frame_count - piece->shared : 0));
}

static void share_range(void *context, unsigned int worker, size_t item)
{
	const struct sharing *sharing = context;
	const struct stack_order *order = sharing->order;
	size_t begin = item * sharing->step, end = begin + sharing->step < order->count ? begin + sharing->step : order->count;
	(void)worker;
	for (size_t i = begin; i < end; i++) {
		ask_ahead(order, i);
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
	/* What sorting needed was taken from holes that folding has left: it goes back as those did. */
	if (fold->entry_count > FOLD_MUCH)
		malloc_trim(0);
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

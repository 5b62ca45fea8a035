/* The order of stacks (the contract is in stack_order.h).
 *
 * A stack is two pieces, and each piece is part of many stacks. So pieces are sorted by their frames, once, and entries by the ranks of their pieces:
 *
 *	pieces   ── multikey quicksort, two frames at a time ──►  ranks
 *	entries  ── radix sort by (section, first piece's rank, second piece's rank)
 */
#include "analysis/stack_order.h"

#include "base/mem.h"
#include "base/radix.h"

#include <stdlib.h>

/* ---- pieces ---- */

struct ranked_piece {
	uint64_t key; /* two frames at the depth that is being sorted, 0 behind the end */
	uint32_t piece;
};

struct ranking {
	const struct fold *fold;
	bool outside_in;
};

static uint32_t piece_frame(const struct ranking *ranking, const struct fold_piece *piece, uint32_t depth)
{
	return ranking->fold->frame_ids[piece->frames + (ranking->outside_in ? piece->frame_count - 1 - depth : depth)];
}

static uint64_t key_at(const struct ranking *ranking, uint32_t number, uint32_t depth)
{
	const struct fold_piece *piece = &ranking->fold->pieces[number];
	uint64_t first = depth < piece->frame_count ? piece_frame(ranking, piece, depth) + (uint64_t)1 : 0;
	uint64_t second = depth + 1 < piece->frame_count ? piece_frame(ranking, piece, depth + 1) + (uint64_t)1 : 0;
	return first << 32 | second;
}

static void load_keys(const struct ranking *ranking, struct ranked_piece *pieces, size_t count, uint32_t depth)
{
	for (size_t i = 0; i < count; i++)
		pieces[i].key = key_at(ranking, pieces[i].piece, depth);
}

static void swap(struct ranked_piece *a, struct ranked_piece *b)
{
	struct ranked_piece t = *a;
	*a = *b;
	*b = t;
}

static void insertion_sort(struct ranked_piece *pieces, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t at = i; at && pieces[at].key < pieces[at - 1].key; at--)
			swap(&pieces[at], &pieces[at - 1]);
}

/* Keys below, equal to and above that of some element: | < | = | > |. */
static void split(struct ranked_piece *pieces, size_t count, size_t *ret_equal, size_t *ret_above)
{
	uint64_t a = pieces[0].key, b = pieces[count / 2].key, c = pieces[count - 1].key;
	uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
	size_t below = 0, at = 0, above = count;
	while (at < above) {
		if (pieces[at].key < pivot)
			swap(&pieces[at++], &pieces[below++]);
		else if (pieces[at].key > pivot)
			swap(&pieces[at], &pieces[--above]);
		else
			at++;
	}
	*ret_equal = below;
	*ret_above = above;
}

static void sort_pieces(const struct ranking *ranking, struct ranked_piece *pieces, size_t count, uint32_t depth);

/* Pieces with equal keys at `depth`. Those that end there are equal. */
static void sort_equal(const struct ranking *ranking, struct ranked_piece *pieces, size_t count, uint32_t depth)
{
	if (count < 2 || !(uint32_t)pieces->key)
		return;
	load_keys(ranking, pieces, count, depth + 2);
	sort_pieces(ranking, pieces, count, depth + 2);
}

/* Runs of equal keys are sorted by what follows. */
static void sort_runs(const struct ranking *ranking, struct ranked_piece *pieces, size_t count, uint32_t depth)
{
	for (size_t begin = 0, end; begin < count; begin = end) {
		uint64_t key = pieces[begin].key;
		for (end = begin + 1; end < count && pieces[end].key == key; end++)
			;
		sort_equal(ranking, pieces + begin, end - begin, depth);
	}
}

/* Their keys at `depth` are loaded. The largest part is sorted in the loop, the others by calls: they are at most as deep as the logarithm of `count`. */
static void sort_pieces(const struct ranking *ranking, struct ranked_piece *pieces, size_t count, uint32_t depth)
{
	enum { FEW = 16 };
	while (count > FEW) {
		size_t equal, above;
		split(pieces, count, &equal, &above);
		size_t same = above - equal, rest = count - above;
		if (same >= equal && same >= rest) {
			sort_pieces(ranking, pieces, equal, depth);
			sort_pieces(ranking, pieces + above, rest, depth);
			pieces += equal;
			count = same;
			if (!(uint32_t)pieces->key)
				return;
			depth += 2;
			load_keys(ranking, pieces, count, depth);
			continue;
		}
		sort_equal(ranking, pieces + equal, same, depth);
		sort_pieces(ranking, equal < rest ? pieces : pieces + above, equal < rest ? equal : rest, depth);
		pieces += equal < rest ? above : 0;
		count = equal < rest ? rest : equal;
	}
	insertion_sort(pieces, count);
	/* As long as all are alike it goes on here: each call for a run has fewer pieces, so that there are at most FEW. */
	while (count > 1 && pieces[0].key == pieces[count - 1].key && (uint32_t)pieces[0].key) {
		depth += 2;
		load_keys(ranking, pieces, count, depth);
		insertion_sort(pieces, count);
	}
	sort_runs(ranking, pieces, count, depth);
}

/* By piece. */
static uint32_t *rank_pieces(const struct fold *fold, bool outside_in)
{
	const struct ranking ranking = {.fold = fold, .outside_in = outside_in};
	struct ranked_piece *pieces = mem_alloc_array(fold->piece_count + 1, sizeof(*pieces));
	uint32_t *ranks = mem_alloc_array(fold->piece_count + 1, sizeof(*ranks));
	for (uint32_t i = 0; i < fold->piece_count; i++)
		pieces[i].piece = i;
	load_keys(&ranking, pieces, fold->piece_count, 0);
	sort_pieces(&ranking, pieces, fold->piece_count, 0);
	for (uint32_t i = 0; i < fold->piece_count; i++)
		ranks[pieces[i].piece] = i + 1;
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

struct stack_order *stack_order_create(const struct fold *fold, const uint32_t *sections, bool outside_in)
{
	struct stack_order *order = mem_zalloc(sizeof(*order));
	*order = (struct stack_order){.fold = fold, .sections = sections, .outside_in = outside_in};
	order->entries = mem_alloc_array(fold->entry_count + 1, sizeof(*order->entries));
	for (uint32_t i = 0; i < fold->entry_count; i++)
		if (sections[i] != FOLD_NONE)
			order->entries[order->count++] = i;
	uint32_t *ranks = rank_pieces(fold, outside_in);
	const struct sorting sorting = {.order = order, .ranks = ranks};
	radix_sort(order->entries, order->count, by_second_piece, &sorting);
	radix_sort(order->entries, order->count, by_first_piece, &sorting);
	free(ranks);
	return order;
}

void stack_order_destroy(struct stack_order *order)
{
	if (!order)
		return;
	free(order->entries);
	free(order);
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

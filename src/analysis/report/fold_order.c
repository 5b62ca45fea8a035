/* Fold: orders that follow from the data. Which worker meets a frame first, and with which of its addresses, is chance: so are the frames'
 * numbers, and what a frame with a symbol says of one of its occurrences.
 */
#include "analysis/report/fold_internal.h"

#include <string.h>

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* In its file: the same in every process. */
static uint64_t address_of(const struct fold_frame *frame)
{
	if (frame->symbol)
		return frame->symbol->start;
	return frame->map ? map_to_dso(frame->map, frame->ip) : frame->ip;
}

static int compare_symbols(const struct symbol *a, const struct symbol *b)
{
	if (a == b || !a || !b)
		return (a != NULL) - (b != NULL);
	int result = strcmp(a->name, b->name);
	return result ? result : compare(a->end, b->end) ?: (int)a->inlined - (int)b->inlined;
}

int fold_frame_compare(const struct fold_frame *a, const struct fold_frame *b)
{
	int result = compare(a->map ? a->map->dso->index + (uint64_t)1 : 0, b->map ? b->map->dso->index + (uint64_t)1 : 0);
	if (!result)
		result = compare(address_of(a), address_of(b));
	if (!result)
		result = compare_symbols(a->symbol, b->symbol);
	if (!result && !a->symbol)
		result = compare(a->ip, b->ip);
	return result ? result : compare(a->cpumode, b->cpumode);
}

uint32_t fold_piece_copy(const struct fold *fold, const struct fold_piece *piece, uint32_t *to)
{
	uint32_t count = piece->frame_count, left = count;
	while (left) {
		uint32_t beyond = piece->frame_count - left, own = piece->frame_count - piece->shared;
		if (beyond < own) {
			memcpy(to, fold->frame_ids + piece->frames + beyond, (own - beyond) * sizeof(*to));
			to += own - beyond;
			left -= own - beyond;
		}
		piece = &fold->pieces[piece->outer];
	}
	return count;
}

int fold_piece_compare(const struct fold *fold, uint32_t a, uint32_t b)
{
	if (a == b || a == FOLD_NONE || b == FOLD_NONE)
		return (a != FOLD_NONE) - (b != FOLD_NONE);
	const struct fold_piece *x = &fold->pieces[a], *y = &fold->pieces[b];
	for (uint32_t i = 0; i < x->frame_count && i < y->frame_count; i++) {
		uint32_t f = *fold_piece_frame(fold, x, i), g = *fold_piece_frame(fold, y, i);
		int result = f == g ? 0 : fold_frame_compare(&fold->frames[f], &fold->frames[g]);
		if (result)
			return result;
	}
	return compare(x->frame_count, y->frame_count);
}

/* Rows: their order. By the sums and ranks that the sort keys name; rows that are equal in all of them by address. */
#include "analysis/rows_internal.h"

#include <stdlib.h>

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static uint64_t total_value(const struct rows *rows, uint32_t row, enum key_total total, size_t event)
{
	const struct row_sums *sums = &rows->sums[row * rows->options.event_count + event];
	switch (total) {
	case TOTAL_OVERHEAD_CHILDREN:
		return rows->options.children ? sums->children : sums->period;
	case TOTAL_SAMPLES:
		return sums->count;
	case TOTAL_OVERHEAD_SYS:
		return rows->modes ? rows->modes[row].sys : 0;
	case TOTAL_OVERHEAD_US:
		return rows->modes ? rows->modes[row].us : 0;
	case TOTAL_OVERHEAD_GUEST_SYS:
		return rows->modes ? rows->modes[row].guest_sys : 0;
	case TOTAL_OVERHEAD_GUEST_US:
		return rows->modes ? rows->modes[row].guest_us : 0;
	default:
		return sums->period;
	}
}

static int compare_total(const struct rows *rows, uint32_t a, uint32_t b, enum key_total total)
{
	size_t first = rows->options.sort_event;
	int result = compare_u64(total_value(rows, a, total, first), total_value(rows, b, total, first));
	for (size_t i = 0; !result && i < rows->options.event_count; i++)
		if (i != first)
			result = compare_u64(total_value(rows, a, total, i), total_value(rows, b, total, i));
	if (result || total != TOTAL_OVERHEAD_CHILDREN || !rows->options.children || !rows->options.tie_by_depth)
		return result;
	/* Callers above what they call when both have the same: by the depth of what hangs below them. */
	const struct fold *fold = rows->fold;
	if (fold->actors[fold->entries[rows->rows[a].first].actor].thread != fold->actors[fold->entries[rows->rows[b].first].actor].thread)
		return 0;
	int deeper = (int)rows->private->depths[a] - (int)rows->private->depths[b];
	return rows->options.caller_order ? -deeper : deeper;
}

static const uint32_t *ranks_of(const struct rows *rows, const struct key *key)
{
	if (key->domain == KEY_STACK)
		return rows->private->parent_ranks;
	const struct classes *classes = &rows->private->classes[key->domain == KEY_ACTOR ? CLASS_ACTOR : key->domain == KEY_PLACE ? CLASS_PLACE : CLASS_EXTRA];
	for (unsigned int i = 0; i < classes->key_count; i++)
		if (classes->keys[i] == key)
			return classes->ranks[i];
	return NULL;
}

/* Rows with equal ranks: by address, as signed numbers. */
static int compare_place(const struct rows *rows, uint32_t a, uint32_t b)
{
	if (rows->rows[a].place == rows->rows[b].place)
		return 0;
	struct key_source x, y;
	static const struct key any = {.domain = KEY_PLACE};
	classes_source(rows, CLASS_PLACE, rows->rows[a].place, &any, &x);
	classes_source(rows, CLASS_PLACE, rows->rows[b].place, &any, &y);
	const struct fold_frame *p = x.place, *q = y.place;
	uint64_t u = p->symbol ? p->symbol->start : p->map && !x.caller ? map_to_dso(p->map, p->ip) : p->ip;
	uint64_t v = q->symbol ? q->symbol->start : q->map && !y.caller ? map_to_dso(q->map, q->ip) : q->ip;
	return u == v ? 0 : (int64_t)(u - v) < 0 ? -1 : 1;
}

static int compare_rows(const void *x, const void *y, void *context)
{
	const struct rows *rows = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	for (size_t i = 0; i < rows->options.sort_count; i++) {
		const struct key *key = rows->options.sort[i];
		int result = 0;
		if (key->domain == KEY_TOTAL) {
			result = compare_total(rows, a, b, key->total);
		} else {
			const uint32_t *ranks = ranks_of(rows, key);
			if (!ranks)
				continue;
			uint32_t u = ranks[classes_of_row(rows, a, key)], v = ranks[classes_of_row(rows, b, key)];
			result = (u > v) - (u < v);
		}
		if (result)
			return result;
	}
	int result = compare_place(rows, a, b);
	if (result)
		return result;
	/* Whatever is left must not depend on the numbering. */
	const struct record_header *first_a = rows->fold->entries[rows->rows[a].first].first, *first_b = rows->fold->entries[rows->rows[b].first].first;
	return (first_a > first_b) - (first_a < first_b);
}

void rows_sort(struct rows *rows)
{
	qsort_r(rows->order, rows->shown_count, sizeof(*rows->order), compare_rows, rows);
}

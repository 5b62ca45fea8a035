/* How much time each row took in the hour before, in slices: an average, and the most that there was. A row is a number here; its names are
 * known where it happens again. */
#include "cmd/agent/flight_internal.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS_MOST = 1 << 17 };
static const uint64_t slice_ns = 10000000000, hour_ns = 3600000000000;

static int by_row(const void *a, const void *b)
{
	uint64_t x = ((const struct flight_cell *)a)->row, y = ((const struct flight_cell *)b)->row;
	return (x > y) - (x < y);
}

static void drop_first(struct flight_history *history)
{
	struct flight_slice *first = &history->slices.data[0];
	history->cells -= first->count;
	free(first->cells);
	memmove(first, first + 1, --history->slices.len * sizeof(*first));
}

void flight_history_deinit(struct flight_history *history)
{
	while (history->slices.len)
		drop_first(history);
	vec_deinit(&history->slices);
	map64_deinit(&history->now);
}

void flight_history_add(struct flight_history *history, uint64_t row, uint64_t value_ns)
{
	if (history->begin)
		*map64_insert(&history->now, row, NULL) += value_ns;
}

static void keep_slice(struct flight_history *history, uint64_t end)
{
	struct flight_slice slice = {.begin = history->begin, .end = end};
	slice.cells = mem_zalloc_array(history->now.count + 1, sizeof(*slice.cells));
	for (const struct map64_slot *slot = NULL; (slot = map64_next(&history->now, slot));)
		slice.cells[slice.count++] = (struct flight_cell){slot->key, slot->value};
	qsort(slice.cells, slice.count, sizeof(*slice.cells), by_row);
	history->cells += slice.count;
	vec_push(&history->slices, slice);
}

void flight_history_turn(struct flight_history *history, uint64_t now)
{
	if (history->begin && now < history->begin + slice_ns)
		return;
	if (history->begin)
		keep_slice(history, now);
	map64_deinit(&history->now);
	history->now = (struct map64){0};
	history->begin = now;
	while (history->slices.len && (history->slices.data[0].end + hour_ns <= now || history->cells > CELLS_MOST))
		drop_first(history);
}

struct flight_before flight_history_of(const struct flight_history *history, uint64_t row, uint64_t until)
{
	const struct flight_cell wanted = {.row = row};
	struct flight_before before = {0};
	double seconds = 0;
	for (size_t i = 0; i < history->slices.len; i++) {
		const struct flight_slice *slice = &history->slices.data[i];
		double length = (double)(slice->end - slice->begin) / 1e9;
		if (slice->end > until)
			break;
		const struct flight_cell *cell = bsearch(&wanted, slice->cells, slice->count, sizeof(wanted), by_row);
		double value = cell ? (double)cell->value_ns : 0;
		seconds += length;
		before.average += value;
		before.most = value / length > before.most ? value / length : before.most;
	}
	before.average = seconds > 0 ? before.average / seconds : 0;
	return before;
}

uint64_t flight_history_ns(const struct flight_history *history, uint64_t until, size_t *ret_slices)
{
	uint64_t ns = 0;
	*ret_slices = 0;
	for (size_t i = 0; i < history->slices.len && history->slices.data[i].end <= until; i++) {
		ns += history->slices.data[i].end - history->slices.data[i].begin;
		++*ret_slices;
	}
	return ns;
}

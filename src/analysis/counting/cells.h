/* Cells: what each counter says now, by event × CPU × thread, and what it said when the interval began.
 *
 * Whoever counts, live or from a recording, writes `now`; counts.h makes numbers of the difference. */
#pragma once

#include "event/counter_value.h"

#include <stddef.h>
#include <stdint.h>

struct counter_cells {
	struct counter_value **now, **before; /* by event: cells by CPU × thread */
	size_t events, cpus, threads;
};

/* All cells anew, at 0, also when there were other ones. */
void counter_cells_allocate(struct counter_cells *cells, size_t events, size_t cpus, size_t threads);
void counter_cells_deinit(struct counter_cells *cells);
/* What is said now is where the next interval begins. */
void counter_cells_keep(struct counter_cells *cells);
/* The sum of an event's cells: value and times. */
struct counter_value counter_cells_sum(const struct counter_cells *cells, size_t event);

static inline struct counter_value *counter_cell(const struct counter_cells *cells, size_t event, size_t cpu, size_t thread)
{
	return &cells->now[event][cpu * cells->threads + thread];
}

/* What counters say, and said (cells.h). */
#include "analysis/counting/cells.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void counter_cells_deinit(struct counter_cells *cells)
{
	for (size_t i = 0; i < cells->events; i++) {
		free(cells->now[i]);
		free(cells->before[i]);
	}
	free(cells->now);
	free(cells->before);
	*cells = (struct counter_cells){0};
}

void counter_cells_allocate(struct counter_cells *cells, size_t events, size_t cpus, size_t threads)
{
	counter_cells_deinit(cells);
	cells->now = mem_zalloc_array(events + 1, sizeof(*cells->now));
	cells->before = mem_zalloc_array(events + 1, sizeof(*cells->before));
	for (size_t i = 0; i < events; i++) {
		cells->now[i] = mem_zalloc_array(cpus * threads + 1, sizeof(**cells->now));
		cells->before[i] = mem_zalloc_array(cpus * threads + 1, sizeof(**cells->before));
	}
	cells->events = events;
	cells->cpus = cpus;
	cells->threads = threads;
}

void counter_cells_keep(struct counter_cells *cells)
{
	for (size_t i = 0; i < cells->events; i++)
		memcpy(cells->before[i], cells->now[i], cells->cpus * cells->threads * sizeof(**cells->now));
}

struct counter_value counter_cells_sum(const struct counter_cells *cells, size_t event)
{
	struct counter_value sum = {0};
	for (size_t i = 0; i < cells->cpus * cells->threads; i++) {
		sum.value += cells->now[event][i].value;
		sum.enabled_ns += cells->now[event][i].enabled_ns;
		sum.running_ns += cells->now[event][i].running_ns;
	}
	return sum;
}

/* Rounds of counts. Cells are [event][thread][cpu]; a round's end makes rows of them, of counters that were never open too. */
#include "analysis/script/counted.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "perfdata/stat_maps.h"

#include <stdlib.h>

/* A recording says that it adds everything up by this number, in all versions of the kernel tool. */
enum { AGGREGATION_GLOBAL = 1 };
enum { MOST_CELLS = 1 << 20 };

struct counts_of_cell {
	uint64_t value, enabled_ns, running_ns;
};

struct counted_cell {
	struct counts_of_cell now, before;
};

struct counted {
	const struct reader *reader;
	bool sums, global, scaled;
	int *cpus;
	size_t cpu_count;
	VEC(int32_t) threads;
	struct counted_cell *cells;
	size_t event_count; /* that have cells; 0 before the first count */
	bool refused;	    /* too many */
	VEC(struct counted_row) rows;
	size_t next;
};

struct counted *counted_create(const struct reader *reader, bool sums)
{
	struct counted *counted = mem_zalloc(sizeof(*counted));
	counted->reader = reader;
	counted->sums = sums;
	return counted;
}

void counted_destroy(struct counted *counted)
{
	if (!counted)
		return;
	free(counted->cpus);
	free(counted->cells);
	vec_deinit(&counted->threads);
	vec_deinit(&counted->rows);
	free(counted);
}

static void take_cpus(struct counted *counted, const struct record_header *header)
{
	free(counted->cpus);
	counted->cpus = stat_map_cpus(header, &counted->cpu_count);
}

static void take_threads(struct counted *counted, const struct record_header *header)
{
	struct stat_map_thread thread;
	counted->threads.len = 0;
	for (size_t i = 0; stat_map_thread(header, i, &thread); i++)
		vec_push(&counted->threads, thread.tid);
}

static void take_config(struct counted *counted, const struct record_header *header)
{
	uint64_t value;
	if (stat_map_config(header, STAT_CONFIG_AGGR_MODE, &value))
		counted->global = value == AGGREGATION_GLOBAL;
	if (stat_map_config(header, STAT_CONFIG_SCALE, &value))
		counted->scaled = value;
}

static size_t cells_of_event(const struct counted *counted)
{
	return counted->threads.len * counted->cpu_count;
}

/* Everything that describes the cells came before the first count. */
static bool begin(struct counted *counted)
{
	size_t events = counted->reader->events.events.len, each = cells_of_event(counted);
	if (!counted->event_count && !counted->refused) {
		counted->refused = each > MOST_CELLS;
		if (counted->refused)
			log_warning("counts of %zu CPUs times %zu threads are too many to show", counted->cpu_count, counted->threads.len);
		else
			counted->cells = mem_zalloc_array(events * each + 1, sizeof(*counted->cells));
		counted->event_count = counted->refused ? 0 : events;
	}
	return !counted->refused;
}

static void take_count(struct counted *counted, const struct record_stat *record)
{
	const struct event *event = reader_event_by_id(counted->reader, record->id);
	size_t cpu = 0;
	if (!begin(counted))
		return;
	while (cpu < counted->cpu_count && counted->cpus[cpu] != record->cpu)
		cpu++;
	if (!event || event->index >= counted->event_count || cpu == counted->cpu_count || record->thread < 0 ||
	    (size_t)record->thread >= counted->threads.len)
		return;
	struct counted_cell *cell =
		&counted->cells[event->index * cells_of_event(counted) + (size_t)record->thread * counted->cpu_count + cpu];
	cell->now = (struct counts_of_cell){record->value, record->enabled_ns, record->running_ns};
}

static void add_difference(const struct counted_cell *cell, struct counted_row *row)
{
	row->value += cell->now.value - cell->before.value;
	row->enabled_ns += cell->now.enabled_ns - cell->before.enabled_ns;
	row->running_ns += cell->now.running_ns - cell->before.running_ns;
}

static void scale(const struct counted *counted, struct counted_row *row)
{
	if (!counted->scaled || row->running_ns >= row->enabled_ns)
		return;
	row->value = row->running_ns ? (uint64_t)((double)row->value * (double)row->enabled_ns / (double)row->running_ns + 0.5) : 0;
}

static void add_row(struct counted *counted, struct counted_row *row, const struct counted_cell *cell)
{
	if (counted->global) {
		row->value = cell->now.value;
		row->enabled_ns = cell->now.enabled_ns;
		row->running_ns = cell->now.running_ns;
	} else {
		add_difference(cell, row);
		scale(counted, row);
	}
	vec_push(&counted->rows, *row);
}

static void end_event(struct counted *counted, size_t index, uint64_t time_ns)
{
	const struct event *event = counted->reader->events.events.data[index];
	struct counted_cell *cells = counted->cells + index * cells_of_event(counted);
	struct counted_row sum = {.event = event, .cpu = -1, .thread = -1, .time_ns = time_ns};
	bool summed = counted->sums && counted->global;
	for (size_t i = 0; i < cells_of_event(counted); i++) {
		struct counted_cell *cell = &cells[i];
		struct counted_row row = {.event = event,
					  .cpu = counted->cpus[i % counted->cpu_count],
					  .thread = counted->threads.data[i / counted->cpu_count],
					  .time_ns = time_ns};
		add_difference(cell, &sum);
		if (!summed)
			add_row(counted, &row, cell);
		cell->before = cell->now;
	}
	scale(counted, &sum);
	if (summed)
		vec_push(&counted->rows, sum);
}

static void end_round(struct counted *counted, const struct record_stat_round *round)
{
	counted->rows.len = counted->next = 0;
	begin(counted); /* there is no count at all when no counter could be opened */
	for (size_t i = 0; i < counted->event_count; i++)
		end_event(counted, i, round->time_ns);
}

bool counted_take(struct counted *counted, const struct record_header *header, uint64_t *ret_time_ns)
{
	bool begun = counted->event_count || counted->refused;
	if (header->type == RECORD_STAT) {
		take_count(counted, (const struct record_stat *)header);
	} else if (header->type == RECORD_STAT_ROUND) {
		end_round(counted, (const struct record_stat_round *)header);
		*ret_time_ns = ((const struct record_stat_round *)header)->time_ns;
		return true;
	} else if (header->type == RECORD_STAT_CONFIG) {
		take_config(counted, header);
	} else if (header->type == RECORD_CPU_MAP && !begun) {
		take_cpus(counted, header);
	} else if (header->type == RECORD_THREAD_MAP && !begun) {
		take_threads(counted, header);
	}
	return false;
}

bool counted_next(struct counted *counted, struct counted_row *ret)
{
	if (counted->next >= counted->rows.len)
		return false;
	*ret = counted->rows.data[counted->next++];
	return true;
}

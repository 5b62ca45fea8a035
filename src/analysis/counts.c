/* Adding up counts. Means and squares are kept by Welford's method: exact for many runs of large numbers. */
#include "analysis/counts.h"

#include "analysis/figures.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void statistics_add(struct statistics *statistics, double value)
{
	double delta = value - statistics->mean;

	statistics->count++;
	statistics->mean += delta / (double)statistics->count;
	statistics->squares += delta * (value - statistics->mean);
}

double statistics_deviation(const struct statistics *statistics)
{
	double count = (double)statistics->count;

	return statistics->count < 2 ? 0 : sqrt(statistics->squares / (count - 1) / count);
}

double statistics_relative(const struct statistics *statistics)
{
	return statistics->mean != 0 ? 100 * statistics_deviation(statistics) / statistics->mean : 0;
}

void counts_init(struct counts *counts, const struct event_list *events, const struct counts_places *places)
{
	*counts = (struct counts){.events = events, .places = places};
	counts->totals = mem_zalloc_array(events->events.len * places->count + 1, sizeof(*counts->totals));
}

void counts_deinit(struct counts *counts)
{
	free(counts->totals);
	*counts = (struct counts){0};
}

void counts_clear(struct counts *counts)
{
	memset(counts->totals, 0, counts->events->events.len * counts->places->count * sizeof(*counts->totals));
	counts->elapsed = counts->user = counts->system = (struct statistics){0};
}

static size_t place_of(const struct counts_places *places, size_t cpu, size_t thread)
{
	switch (places->by) {
	case COUNTS_BY_CPU:
		return cpu;
	case COUNTS_BY_PLACE:
		return places->cpu_places[cpu];
	case COUNTS_BY_THREAD:
		return thread;
	default:
		return 0;
	}
}

/* What a counter would have counted had it run all the time. */
static double scaled(const struct count *sum, bool raw)
{
	double value = (double)sum->value;

	if (raw || !sum->running_ns || sum->running_ns >= sum->enabled_ns)
		return value;
	return value * (double)sum->enabled_ns / (double)sum->running_ns;
}

void counts_add_run(struct counts *counts, size_t event, const struct count *cells, const struct count *before, size_t cpus, size_t threads)
{
	size_t places = counts->places->count;
	struct count_total *totals = &counts->totals[event * places];
	struct count *sums = mem_zalloc_array(places, sizeof(*sums));
	unsigned int *members = mem_zalloc_array(places, sizeof(*members));

	for (size_t cpu = 0; cpu < cpus; cpu++) {
		size_t counted = SIZE_MAX;
		for (size_t thread = 0; thread < threads; thread++) {
			size_t cell = cpu * threads + thread, place = place_of(counts->places, cpu, thread);
			if (!cells[cell].open)
				continue;
			sums[place].value += cells[cell].value - (before ? before[cell].value : 0);
			sums[place].enabled_ns += cells[cell].enabled_ns - (before ? before[cell].enabled_ns : 0);
			sums[place].running_ns += cells[cell].running_ns - (before ? before[cell].running_ns : 0);
			members[place] += place != counted;
			counted = place;
		}
	}
	for (size_t place = 0; place < places; place++) {
		statistics_add(&totals[place].value, scaled(&sums[place], counts->raw));
		statistics_add(&totals[place].enabled, (double)sums[place].enabled_ns);
		statistics_add(&totals[place].running, (double)sums[place].running_ns);
		totals[place].members = members[place];
	}
	free(sums);
	free(members);
}

void counts_add_tool(struct counts *counts, size_t event, uint64_t value_ns)
{
	struct count_total *total = &counts->totals[event * counts->places->count];

	statistics_add(&total->value, (double)value_ns);
	statistics_add(&total->enabled, (double)value_ns);
	statistics_add(&total->running, (double)value_ns);
	total->members = 1;
}

static void add_row(struct counting *result, const struct counts *counts, const struct counts_result_options *options, size_t index,
		    size_t place)
{
	const struct event *event = counts->events->events.data[index];
	const struct count_total *total = counts_total(counts, index, place);
	struct counting_row row = {.place = counts->places->labels ? counts->places->labels[place] : NULL,
				   .members = total->members,
				   .event = event->name,
				   .unit = event->unit ? event->unit : "",
				   .cgroup = event->cgroup,
				   .state = COUNTING_COUNTED,
				   .real = floor(event->scale) != event->scale,
				   .running = 100};

	if (options->absent && options->absent[index])
		row.state = COUNTING_NOT_SUPPORTED;
	else if (!count_total_is_counted(total))
		row.state = COUNTING_NOT_COUNTED;
	if (row.state == COUNTING_COUNTED) {
		row.value = total->value.mean * event->scale;
		row.deviation = statistics_relative(&total->value);
		row.running_ns = (uint64_t)(total->running.mean + 0.5);
		row.running = 100 * total->running.mean / total->enabled.mean;
		row.multiplexed = total->running.mean != total->enabled.mean;
	}
	result->cgroups |= event->cgroup != NULL;
	row.figures = figures_of(counts, index, place, row.state == COUNTING_COUNTED, &result->arena, &row.figure_count);
	vec_push(&result->rows, row);
}

/* Larger values first; equal ones in their order. */
static int compare_rows(const void *left, const void *right)
{
	const struct counting_row *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	return a->running_ns < b->running_ns ? 1 : a->running_ns > b->running_ns ? -1 : strcmp(a->place, b->place);
}

static void add_event(struct counting *result, const struct counts *counts, const struct counts_result_options *options, size_t event)
{
	size_t first = result->rows.len;

	for (size_t place = 0; place < counts->places->count; place++) {
		const struct count_total *total = counts_total(counts, event, place);
		bool absent = options->absent && options->absent[event];
		if (options->skip_idle && (absent || total->value.mean == 0))
			continue;
		if (counts->places->by == COUNTS_BY_CPU && !total->members && !absent)
			continue;
		add_row(result, counts, options, event, place);
	}
	if (options->sort)
		qsort(result->rows.data + first, result->rows.len - first, sizeof(*result->rows.data), compare_rows);
}

struct counting *counts_result(const struct counts *counts, const struct counts_result_options *options)
{
	struct counting *result = counting_create();
	size_t events = counts->events->events.len;

	result->places = counts->places->kind;
	result->runs = (unsigned int)counts->elapsed.count;
	if (counts->places->by == COUNTS_BY_PLACE) {
		for (size_t place = 0; place < counts->places->count; place++)
			for (size_t event = 0; event < events; event++)
				add_row(result, counts, options, event, place);
	} else {
		for (size_t event = 0; event < events; event++)
			add_event(result, counts, options, event);
	}
	result->elapsed = counts->elapsed.mean;
	result->elapsed_deviation = statistics_deviation(&counts->elapsed);
	result->user = counts->user.mean;
	result->system = counts->system.mean;
	return result;
}

/* Adding up counts. */
#include "analysis/counting/counts.h"

#include "analysis/counting/derived_metrics.h"
#include "analysis/counting/metrics.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* An event of which several PMUs count parts is shown as its first one. */
static const struct event *shown_as(const struct counts *counts, const struct event *event)
{
	if (!event->part_of || (event->core_kind ? !counts->merge_cores : counts->no_merge))
		return event;
	return event->part_of;
}

static size_t place_of(const struct counts_places *places, const struct event *event, size_t cpu, size_t thread)
{
	switch (places->by) {
	case COUNTS_BY_CPU:
		return event->percore && places->cpu_cores ? places->cpu_cores[cpu] : cpu;
	case COUNTS_BY_PLACE:
		return places->cpu_places[cpu];
	case COUNTS_BY_THREAD:
		return thread;
	default:
		return 0;
	}
}

/* What a counter would have counted had it run all the time. */
static double scaled(const struct counter_value *sum, bool raw)
{
	double value = (double)sum->value;

	if (raw || !sum->running_ns || sum->running_ns >= sum->enabled_ns)
		return value;
	return value * (double)sum->enabled_ns / (double)sum->running_ns;
}

/* One run of one event, or of one shown as another. */
struct place_sum {
	struct counter_value count;
	double value, enabled, running;
	unsigned int members;
};

/* Events that count for a whole package: the first CPU of each that ran is enough. */
static bool is_package_known(uint64_t seen[4], const struct counts_places *places, const struct event *event, size_t cpu)
{
	if (!event->per_package || !places->cpu_packages)
		return false;
	unsigned int package = places->cpu_packages[cpu] % 256;
	bool known = seen[package / 64] >> package % 64 & 1;
	seen[package / 64] |= 1ull << package % 64;
	return known;
}

static void sum_cells(const struct counts *counts, const struct event *event, const struct counts_reading *reading, struct place_sum *sums)
{
	const struct counter_value *cells = reading->now[event->index], *before = reading->before ? reading->before[event->index] : NULL;
	uint64_t packages[4] = {0};

	for (size_t cpu = 0; cpu < reading->cpus; cpu++) {
		size_t counted = SIZE_MAX;
		bool skip = is_package_known(packages, counts->places, event, cpu);
		for (size_t thread = 0; !skip && thread < reading->threads; thread++) {
			size_t cell = cpu * reading->threads + thread, place = place_of(counts->places, event, cpu, thread);
			struct place_sum *sum = &sums[place];
			if (!cells[cell].open)
				continue;
			sum->count.value += cells[cell].value - (before && !event->snapshot ? before[cell].value : 0);
			sum->count.enabled_ns += cells[cell].enabled_ns - (before ? before[cell].enabled_ns : 0);
			sum->count.running_ns += cells[cell].running_ns - (before ? before[cell].running_ns : 0);
			sum->members += place != counted;
			counted = place;
		}
	}
	for (size_t place = 0; place < counts->places->count; place++) {
		struct place_sum *sum = &sums[place];
		sum->value += scaled(&sum->count, counts->raw);
		sum->enabled += (double)sum->count.enabled_ns;
		sum->running += (double)sum->count.running_ns;
		sum->count = (struct counter_value){0};
	}
}

static void add_event_run(struct counts *counts, const struct event *event, const struct counts_reading *reading, struct place_sum *sums)
{
	size_t places = counts->places->count;
	struct count_total *totals = &counts->totals[event->index * places];

	memset(sums, 0, places * sizeof(*sums));
	sum_cells(counts, event, reading, sums);
	for (size_t i = event->index + 1; i < counts->events->events.len; i++)
		if (shown_as(counts, counts->events->events.data[i]) == event)
			sum_cells(counts, counts->events->events.data[i], reading, sums);
	bool spread = event->percore && counts->percore_threads && counts->places->cpu_cores && counts->places->by == COUNTS_BY_CPU;
	for (size_t place = 0; place < places; place++) {
		const struct place_sum *sum = &sums[spread ? counts->places->cpu_cores[place] : place];
		statistics_add(&totals[place].value, sum->value);
		statistics_add(&totals[place].enabled, sum->enabled);
		statistics_add(&totals[place].running, sum->running);
		totals[place].members = sum->members;
	}
}

/* What the tool counts itself ran all the time; it stands in the first place. */
static void add_tool_run(struct counts *counts, const struct event *event, const struct counts_reading *reading)
{
	struct count_total *total = &counts->totals[event->index * counts->places->count];
	double value = (double)(event->tool == EVENT_TOOL_DURATION_TIME ? reading->duration_ns
				: event->tool == EVENT_TOOL_USER_TIME	? reading->user_ns
									: reading->system_ns);

	statistics_add(&total->value, value);
	statistics_add(&total->enabled, value > 0 ? value : 1);
	statistics_add(&total->running, value > 0 ? value : 1);
	total->members = 1;
}

void counts_add(struct counts *counts, const struct counts_reading *reading)
{
	struct place_sum *sums = mem_zalloc_array(counts->places->count, sizeof(*sums));

	for (size_t i = 0; i < counts->events->events.len; i++) {
		const struct event *event = counts->events->events.data[i];
		if (event->tool)
			add_tool_run(counts, event, reading);
		else if (shown_as(counts, event) == event)
			add_event_run(counts, event, reading, sums);
	}
	statistics_add(&counts->elapsed, (double)reading->duration_ns / 1e9);
	statistics_add(&counts->user, (double)reading->user_ns / 1e9);
	statistics_add(&counts->system, (double)reading->system_ns / 1e9);
	free(sums);
}

/* None of the PMUs that count parts of it is there. */
static bool is_absent(const struct counts *counts, const struct event *event)
{
	if (!counts->absent || !counts->absent[event->index])
		return false;
	for (size_t i = event->index + 1; i < counts->events->events.len; i++)
		if (shown_as(counts, counts->events->events.data[i]) == event && !counts->absent[i])
			return false;
	return true;
}

/* Events that the same text stands for are told apart by their PMU: "cpu_core/cycles/", "data_reads [uncore_imc_0]". */
static const char *name_of(const struct counts *counts, const struct event *event, struct arena *arena)
{
	bool is_head = false;

	for (size_t i = event->index + 1; i < counts->events->events.len && !is_head; i++)
		is_head = counts->events->events.data[i]->part_of == event;
	if (!event->pmu_name || (!event->part_of && !is_head) || (event->core_kind ? counts->merge_cores : !counts->no_merge))
		return event->name;
	if (!event->core_kind)
		return arena_printf(arena, "%s [%s]", event->name, event->pmu_name);
	size_t length = strcspn(event->name, ":");
	if (strchr(event->name, '/'))
		return event->name;
	return arena_printf(arena, "%s/%.*s/%s", event->pmu_name, (int)length, event->name,
			    event->name[length] ? event->name + length + 1 : "");
}

static const char *label_of(const struct counts_places *places, const struct event *event, size_t place, bool threads)
{
	if (!places->labels)
		return NULL;
	return event->percore && places->core_labels && places->by == COUNTS_BY_CPU && !threads ? places->core_labels[place]
												: places->labels[place];
}

static void add_row(struct counting *result, const struct counts *counts, size_t index, size_t place)
{
	const struct event *event = counts->events->events.data[index];
	const struct count_total *total = counts_total(counts, index, place);
	struct counting_row row = {.place = label_of(counts->places, event, place, counts->percore_threads),
				   .members = total->members,
				   .name = name_of(counts, event, &result->arena),
				   .unit = event->unit ? event->unit : "",
				   .cgroup = event->cgroup,
				   .state = COUNTING_COUNTED,
				   .real = floor(event->scale) != event->scale,
				   .running = 100};

	if (is_absent(counts, event))
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
	row.metrics = derived_metrics_of(counts, index, place, row.state == COUNTING_COUNTED, &result->arena, &row.metric_count);
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

static bool is_zero(const struct counts *counts, const struct event *event, const struct count_total *total)
{
	return count_total_is_counted(total) && total->value.mean == 0 &&
	       !(counts->metrics && metric_plan_has_event(counts->metrics, event));
}

static void add_event(struct counting *result, const struct counts *counts, const struct counts_result_options *options, size_t index)
{
	const struct event *event = counts->events->events.data[index];
	size_t first = result->rows.len;
	bool absent = is_absent(counts, event);

	for (size_t place = 0; place < counts->places->count; place++) {
		const struct count_total *total = counts_total(counts, index, place);
		if (options->skip_idle && (absent || total->value.mean == 0))
			continue;
		if (options->skip_zero && !absent && is_zero(counts, event, total))
			continue;
		if (counts->places->by == COUNTS_BY_CPU && !total->members && !absent)
			continue;
		add_row(result, counts, index, place);
	}
	if (options->sort)
		qsort(result->rows.data + first, result->rows.len - first, sizeof(*result->rows.data), compare_rows);
}

struct counting *counts_result(const struct counts *counts, const struct counts_result_options *options)
{
	struct counting *result = counting_create();
	size_t events = counts->events->events.len, places = counts->places->count;
	bool by_place = counts->places->by == COUNTS_BY_PLACE || options->place_by_place;

	result->places = counts->places->kind;
	result->runs = (unsigned int)counts->elapsed.count;
	for (size_t place = 0; by_place && place < places; place++)
		for (size_t event = 0; event < events; event++)
			if (shown_as(counts, counts->events->events.data[event])->index == event)
				add_row(result, counts, event, place);
	for (size_t event = 0; !by_place && event < events; event++)
		if (shown_as(counts, counts->events->events.data[event])->index == event)
			add_event(result, counts, options, event);
	result->elapsed = counts->elapsed.mean;
	result->elapsed_deviation = statistics_deviation(&counts->elapsed);
	result->user = counts->user.mean;
	result->system = counts->system.mean;
	return result;
}

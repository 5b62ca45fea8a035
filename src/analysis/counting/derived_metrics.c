/* Derived metrics from counts. Which two events make a metric stands in one table; events are matched by what they count, not by their
 * names, and only with one another when they count the same parts (user, kernel, hypervisor), the same group of processes and on the
 * same PMU. */
#include "analysis/counting/derived_metrics.h"

#include "analysis/counting/metrics.h"
#include "base/cleanup.h"
#include "base/mem.h"

#include <linux/perf_event.h>
#include <math.h>
#include <string.h>

#define CACHE(cache, operation, result) \
	PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##operation << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16

struct metric_rule {
	uint32_t type;
	uint64_t config; /* of the event with the metric */
	uint64_t base;	 /* of the one it is divided by; the same type */
	const char *unit;
	const char *sign; /* behind the number */
	unsigned int width, decimals;
	double low, medium, high; /* from where it is coloured; 0 = never. Falling: below */
};

static const struct metric_rule rules[] = {
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, "insn per cycle", " ", 7, 2, 0, 0, 0},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "of all branches", "%", 7, 2, 5, 10, 20},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, "of all cache refs", " %", 8, 3, 0, 0, 0},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, PERF_COUNT_HW_CPU_CYCLES, "frontend cycles idle", "%", 7, 2, 10, 30,
	 50},
	{PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, PERF_COUNT_HW_CPU_CYCLES, "backend cycles idle", "%", 7, 2, 20, 50, 75},
	{PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS), CACHE(L1D, READ, ACCESS), "of all L1-dcache accesses", "%", 7, 2, 5, 10, 20},
	{PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS), CACHE(L1I, READ, ACCESS), "of all L1-icache accesses", "%", 7, 2, 5, 10, 20},
	{PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS), CACHE(LL, READ, ACCESS), "of all LL-cache accesses", "%", 7, 2, 5, 10, 20},
	{PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS), CACHE(DTLB, READ, ACCESS), "of all dTLB cache accesses", "%", 7, 2, 5, 10, 20},
	{PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS), CACHE(ITLB, READ, ACCESS), "of all iTLB cache accesses", "%", 7, 2, 5, 10, 20},
};

static bool same_scope(const struct event *a, const struct event *b)
{
	if (a->attr.exclude_user != b->attr.exclude_user || a->attr.exclude_kernel != b->attr.exclude_kernel ||
	    a->attr.exclude_hv != b->attr.exclude_hv)
		return false;
	if ((a->cgroup != NULL) != (b->cgroup != NULL) || (a->cgroup && strcmp(a->cgroup, b->cgroup)))
		return false;
	return !a->pmu_name || !b->pmu_name || !strcmp(a->pmu_name, b->pmu_name);
}

static bool counts_this(const struct event *event, uint32_t type, uint64_t config)
{
	return !event->tool && event->attr.type == type && event->attr.config == config;
}

/* The value of the counted event of this kind that goes with `event`; those of its own group first. False when there is none. */
static bool find_value(const struct counts *counts, const struct event *event, uint32_t type, uint64_t config, size_t place, double *ret)
{
	const struct event_list *events = counts->events;
	bool found = false;

	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *other = events->events.data[i];
		const struct count_total *total = counts_total(counts, i, place);
		if (!counts_this(other, type, config) || !count_total_is_counted(total) || !same_scope(event, other))
			continue;
		if (!found || other->leader == event->leader)
			*ret = total->value.mean;
		found = true;
	}
	return found;
}

/* The time that the place was measured for, in ns: the clock among the events. */
static bool find_clock(const struct counts *counts, const struct event *event, size_t place, double *ret)
{
	static const uint64_t clocks[] = {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CPU_CLOCK};
	struct event any = *event;

	/* Clocks have no user or kernel part. */
	for (size_t i = 0; i < counts->events->events.len; i++) {
		const struct event *other = counts->events->events.data[i];
		for (size_t c = 0; c < 2; c++) {
			if (!counts_this(other, PERF_TYPE_SOFTWARE, clocks[c]))
				continue;
			any.attr.exclude_user = other->attr.exclude_user;
			any.attr.exclude_kernel = other->attr.exclude_kernel;
			any.attr.exclude_hv = other->attr.exclude_hv;
			any.pmu_name = NULL;
			if (find_value(counts, &any, PERF_TYPE_SOFTWARE, clocks[c], place, ret) && *ret > 0)
				return true;
		}
	}
	return false;
}

static enum counting_level level_of(const struct metric_rule *rule, double value)
{
	if (!rule->high)
		return COUNTING_PLAIN;
	return value > rule->high     ? COUNTING_HIGH
	       : value > rule->medium ? COUNTING_MEDIUM
	       : value > rule->low    ? COUNTING_LOW
				      : COUNTING_PLAIN;
}

static struct derived_metric by_rule(const struct counts *counts, const struct metric_rule *rule, const struct event *event, double value,
				     size_t place, bool counted)
{
	struct derived_metric metric = {
		.unit = rule->unit, .alone = true, .sign = rule->sign, .width = rule->width, .decimals = rule->decimals};
	double base;

	if (!counted || !find_value(counts, event, rule->type, rule->base, place, &base) || base == 0)
		return metric;
	metric.known = true;
	metric.value = value / base * (strchr(rule->sign, '%') ? 100 : 1);
	metric.level = level_of(rule, metric.value);
	return metric;
}

/* "stalled cycles per insn", below the instructions. */
static bool stalled_per_instruction(const struct counts *counts, const struct event *event, double value, size_t place,
				    struct derived_metric *ret)
{
	double front = 0, back = 0;

	find_value(counts, event, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, place, &front);
	find_value(counts, event, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, place, &back);
	double stalled = fmax(front, back);
	if (stalled <= 0 || value <= 0)
		return false;
	*ret = (struct derived_metric){.unit = "stalled cycles per insn",
				       .sign = " ",
				       .alone = true,
				       .known = true,
				       .value = stalled / value,
				       .width = 7,
				       .decimals = 2};
	return true;
}

/* How many CPUs were busy, of a clock's own time and the time that passed. */
static struct derived_metric cpus_utilized(const struct counts *counts, double value, bool counted)
{
	double elapsed_ns = counts->elapsed.mean * 1e9;
	bool known = counted && elapsed_ns > 0;

	return (struct derived_metric){
		.unit = "CPUs utilized", .sign = "", .known = known, .value = known ? value / elapsed_ns : 0, .width = 8, .decimals = 3};
}

static struct derived_metric per_second(double value, double clock_ns)
{
	static const char *const units[] = {"/sec", "K/sec", "M/sec", "G/sec"};
	struct derived_metric metric = {.sign = "", .known = true, .value = value / clock_ns * 1e9, .width = 8, .decimals = 3};
	size_t unit = 0;

	for (; unit < 3 && metric.value > 1000; unit++)
		metric.value /= 1000;
	metric.unit = units[unit];
	return metric;
}

static bool is_clock(const struct event *event)
{
	return counts_this(event, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK) ||
	       counts_this(event, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
}

static unsigned int compute(const struct counts *counts, const struct event *event, double value, size_t place, bool counted,
			    struct derived_metric metrics[2])
{
	double clock;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (!counts_this(event, rules[i].type, rules[i].config))
			continue;
		metrics[0] = by_rule(counts, &rules[i], event, value, place, counted);
		if (rules[i].config == PERF_COUNT_HW_INSTRUCTIONS && rules[i].type == PERF_TYPE_HARDWARE && counted &&
		    stalled_per_instruction(counts, event, value, place, &metrics[1]))
			return 2;
		return 1;
	}
	bool has_clock = counted && find_clock(counts, event, place, &clock);
	if (is_clock(event)) {
		metrics[0] = cpus_utilized(counts, value, counted);
	} else if (counts_this(event, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)) {
		metrics[0] = (struct derived_metric){.unit = "GHz",
						     .sign = "",
						     .alone = true,
						     .known = has_clock,
						     .value = has_clock ? value / clock : 0,
						     .width = 8,
						     .decimals = 3};
	} else if (has_clock) {
		metrics[0] = per_second(value, clock);
	} else {
		return 0;
	}
	return 1;
}

/* The value of a metric where its events were counted, else NAN. */
static double metric_value(const struct counts *counts, const struct metric_use *use, size_t place)
{
	size_t names = use->expression.names.len;
	cleanup_free double *values = mem_alloc_array(names + 1, sizeof(*values));

	for (size_t i = 0; i < names; i++) {
		const struct event *event = use->events[i];
		const struct count_total *total = counts_total(counts, event->index, event->tool ? 0 : place);
		values[i] = count_total_is_counted(total) ? total->value.mean * (event->tool ? 1e-9 : 1) : NAN;
	}
	return metric_evaluate(&use->expression, values);
}

static struct derived_metric by_metric(const struct counts *counts, const struct metric_use *use, size_t place, struct arena *arena)
{
	const struct metric *metric = use->metric;
	double value = metric_value(counts, use, place);
	struct derived_metric derived = {.sign = "", .alone = true, .width = 8, .decimals = 2};

	derived.unit = *metric->unit ? arena_printf(arena, "%s  %s", metric->unit, metric->name) : metric->name;
	if (isnan(value))
		return derived;
	derived.known = true;
	derived.value = value * metric->scale;
	if (derived.value >= 100)
		derived.decimals = 1;
	if (use->threshold.root && metric_evaluate(&use->threshold, &value) != 0)
		derived.level = COUNTING_HIGH;
	return derived;
}

/* The metrics that stand next to this event. */
static unsigned int compute_metrics(const struct counts *counts, const struct event *event, size_t place, struct arena *arena,
				    const struct derived_metric **ret)
{
	unsigned int count = 0;
	struct derived_metric *metrics = arena_alloc(arena, (counts->metrics->uses.len + 1) * sizeof(*metrics));

	for (size_t i = 0; i < counts->metrics->uses.len; i++)
		if (counts->metrics->uses.data[i].shown_at == event)
			metrics[count++] = by_metric(counts, &counts->metrics->uses.data[i], place, arena);
	*ret = metrics;
	return count;
}

const struct derived_metric *derived_metrics_of(const struct counts *counts, size_t index, size_t place, bool counted, struct arena *arena,
						unsigned int *ret_count)
{
	const struct event *event = counts->events->events.data[index];
	const struct derived_metric *by_metrics;
	struct derived_metric metrics[2];

	if (counts->metrics && metric_plan_has_event(counts->metrics, event)) {
		*ret_count = compute_metrics(counts, event, place, arena, &by_metrics);
		return by_metrics;
	}
	*ret_count = compute(counts, event, counts_total(counts, index, place)->value.mean, place, counted, metrics);
	return *ret_count ? arena_copy(arena, metrics, *ret_count * sizeof(*metrics)) : NULL;
}

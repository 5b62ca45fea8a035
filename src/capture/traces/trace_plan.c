/* What is traced, and what goes with it. The rules are those of the kernel's drivers: they trace with a period of 1 (SPE: with one of their
 * own), one event at a time, and know neither stacks nor the clocks of -k. */
#include "capture/traces/trace_plan.h"

#include "base/number.h"
#include "base/text.h"
#include "capture/traces/trace_filter.h"
#include "kernel/limits.h"

#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

enum { AREA_LARGE = 4 << 20, AREA_SMALL = 128 << 10, SPE_PERIOD = 4096 };

bool trace_plan_traces(const struct event *event)
{
	return trace_pmu_kind(event->pmu_name) != TRACE_NONE;
}

/* ── What can be had ── */

/* The value that a term has, lowest bit first. */
static uint64_t format_value(const struct pmu_format *format, uint64_t config)
{
	return (config & format->mask) >> __builtin_ctzll(format->mask);
}

/* Periods and thresholds of Intel PT are powers of two, of which the processor has some: caps/… lists them as bits. */
static struct error *check_period(const struct pmu *pmu, const struct event *event, const char *term, const char *capability)
{
	const struct pmu_format *format = pmu_format(pmu, term);
	const char *text = pmu_capability(pmu, capability);
	struct strbuf valid = {0};
	uint64_t bits;

	if (!format || format->word || !text || !number_parse_hex(text, &bits))
		return NULL;
	uint64_t value = format_value(format, event->attr.config);
	if (!value || (value < 64 && bits >> value & 1))
		return NULL;
	for (unsigned int bit = 0; bit < 64; bit++)
		if (bits >> bit & 1)
			strbuf_printf(&valid, "%s%u", valid.len ? ", " : "", bit);
	struct error *error = error_new_kind(ERROR_UNSUPPORTED, "%s: this processor has no %s=%llu, but %s", event->name, term,
					     (unsigned long long)value, valid.len ? strbuf_str(&valid) : "none");
	strbuf_deinit(&valid);
	return error;
}

static struct error *check_periods(const struct pmu *pmu, const struct event *event)
{
	static const char *const TERMS[][2] = {
		{"mtc_period", "mtc_periods"}, {"psb_period", "psb_periods"}, {"cyc_thresh", "cycle_thresholds"}};
	struct error *error = NULL;

	for (size_t i = 0; !error && i < sizeof(TERMS) / sizeof(TERMS[0]); i++)
		error = check_period(pmu, event, TERMS[i][0], TERMS[i][1]);
	return error;
}

static struct error *check_event(const struct trace_plan *plan, const struct event *event, const struct sampling *sampling)
{
	if (plan->kind == TRACE_HISI_PTT)
		return error_new_kind(ERROR_UNSUPPORTED, "%s: traces of PCIe are not recorded here; the kernel's tool does it",
				      event->name);
	if (plan->event && (plan->kind != TRACE_ARM_SPE || plan->event->attr.type == event->attr.type))
		return error_new_kind(ERROR_USAGE, "%s and %s: there can be one event that traces", plan->event->name, event->name);
	if (event->leader != event->index)
		return error_new_kind(ERROR_USAGE, "%s: an event that traces leads its group: name it first, {%s,…}", event->name,
				      event->name);
	if (event_trace_term(event) && event->aux_action != EVENT_AUX_START_PAUSED)
		return error_new_kind(ERROR_USAGE, "%s: %s= is for the other events of its group%s", event->name, event_trace_term(event),
				      event->aux_action ? ", which pause and resume its trace; its own is aux-action=start-paused" : "");
	if (sampling->clockid_given)
		return error_new_kind(ERROR_USAGE, "%s: the times of hardware traces are those of perf's own clock: omit -k", event->name);
	if (sampling->overwrite || event->overwrite == EVENT_YES)
		return error_new_kind(ERROR_USAGE, "%s: --overwrite is for samples: use -S to keep the newest trace", event->name);
	if (plan->kind == TRACE_INTEL_BTS && !sampling->per_thread)
		return error_new_kind(ERROR_USAGE, "%s: BTS follows threads, not CPUs: add --per-thread", event->name);
	return plan->kind == TRACE_INTEL_PT ? check_periods(plan->pmu, event) : NULL;
}

static struct error *check_options(const struct trace_plan *plan)
{
	if (plan->kind == TRACE_NONE && (plan->snapshots || plan->sample_bytes || plan->pages))
		return error_new_kind(ERROR_USAGE, "%s is for hardware traces: add an event that traces, such as -e intel_pt//",
				      plan->snapshots	   ? "-S"
				      : plan->sample_bytes ? "--aux-sample"
							   : "the second part of -m");
	if (plan->snapshots && plan->in_samples)
		return error_new_kind(ERROR_USAGE, "-S and --aux-sample cannot be combined: the trace is in snapshots or in samples");
	if (plan->in_samples && plan->kind != TRACE_INTEL_PT)
		return error_new_kind(ERROR_UNSUPPORTED, "%s: only Intel PT puts its trace into samples (--aux-sample)", plan->event->name);
	return NULL;
}

/* Without an event that traces. */
static struct error *check_others(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		if (event_trace_term(event))
			return error_new_kind(ERROR_USAGE, "%s: %s= is for hardware traces (AUX areas): name one in front, {intel_pt//,%s}",
					      event->name, event_trace_term(event), event->name);
	}
	return NULL;
}

/* ── Traces in samples, events whose records go into the trace ── */

/* An event that stands alone, though it is for the trace; NULL = there is none. */
static struct event *find_lonely(const struct event_list *events, const struct event *leader)
{
	for (size_t i = 0; i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		if (event_trace_term(event) && !trace_plan_traces(event) && event != leader && event->leader == i && event->members == 1)
			return event;
	}
	return NULL;
}

/* Of the events that say it themselves, which join the group, and with --aux-sample of all others in the group. */
static struct error *take_sample_sizes(struct trace_plan *plan, struct event_list *events)
{
	struct event *leader = events->events.data[plan->event->index], *lonely;

	while ((lonely = find_lonely(events, leader)))
		event_list_join_group(events, leader, lonely);
	for (size_t i = 0; i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		bool member = event != leader && event->leader == leader->index;
		if (member && plan->sample_bytes && !event->aux_sample_size)
			event->aux_sample_size = plan->sample_bytes;
		if (event->aux_action == EVENT_AUX_START_PAUSED && !trace_plan_traces(event))
			return error_new_kind(ERROR_USAGE,
					      "%s: aux-action=start-paused is for the event that traces, %s: events of its "
					      "group pause and resume",
					      event->name, leader->name);
		if (!member && event_trace_term(event) && !trace_plan_traces(event))
			return error_new_kind(ERROR_USAGE, "%s: %s= is for events in the group of %s: {%s,%s}", event->name,
					      event_trace_term(event), leader->name, leader->name, event->name);
		if (event->aux_sample_size > TRACE_SAMPLE_MAX)
			return error_new_kind(ERROR_USAGE, "%s: a sample has room for at most %d bytes of trace", event->name,
					      TRACE_SAMPLE_MAX);
		if (!event->aux_sample_size)
			continue;
		event->attr.sample_type |= PERF_SAMPLE_AUX;
		plan->in_samples = true;
	}
	if (plan->sample_bytes && !plan->in_samples)
		return error_new_kind(ERROR_USAGE, "--aux-sample is for events in a group with %s: {%s,cycles}", leader->name,
				      leader->name);
	return NULL;
}

/* ── The areas ── */

static struct error *settle_size(struct trace_plan *plan)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), most = (uint64_t)1 << 40; /* as of -m */

	if (plan->snapshot_bytes > most)
		return error_new_kind(ERROR_USAGE, "-S: a snapshot of %llu bytes is larger than any buffer: at most 1T",
				      (unsigned long long)plan->snapshot_bytes);
	if (!plan->pages) {
		plan->pages = (limits_has_perfmon() ? AREA_LARGE : AREA_SMALL) / page;
		while (plan->snapshot_bytes > plan->pages * page)
			plan->pages *= 2;
	}
	if (plan->snapshot_bytes > plan->pages * page)
		return error_new_kind(ERROR_USAGE,
				      "-S: a snapshot of %llu bytes is larger than the buffer of %llu: raise the second part of -m",
				      (unsigned long long)plan->snapshot_bytes, (unsigned long long)plan->pages * page);
	if (!plan->snapshot_bytes)
		plan->snapshot_bytes = plan->pages * page;
	return NULL;
}

/* We are woken up when a quarter of the area is full. */
static uint32_t watermark(const struct trace_plan *plan)
{
	uint64_t quarter = (uint64_t)plan->pages * (uint64_t)sysconf(_SC_PAGESIZE) / 4;

	return trace_plan_overwrites(plan) ? 0 : quarter > UINT32_MAX ? UINT32_MAX : (uint32_t)quarter;
}

/* ── Events ── */

/* SPE takes a sample of so many operations; the driver tells its least. */
static uint64_t spe_period(const struct pmu *pmu)
{
	const char *text = pmu_capability(pmu, "min_interval");
	uint64_t least;

	return text && number_parse_u64(text, &least) && least ? least : SPE_PERIOD;
}

/* A term of an event, if nobody has set it. */
static void set_format(const struct pmu *pmu, struct event *event, const char *name)
{
	const struct pmu_format *format = pmu_format(pmu, name);

	if (format && !format->word)
		event->attr.config |= format->mask & -format->mask;
}

/* Each sample brings its trace: it begins with a point of synchronization where that is asked for often. */
static void sample_often(const struct trace_plan *plan, struct event *event)
{
	const struct pmu_format *format = pmu_format(plan->pmu, "psb_period");

	if (format && !format->word && !strstr(event->name, "psb_period"))
		event->attr.config &= ~format->mask;
}

static void complete_event(const struct trace_plan *plan, struct pmu *pmu, struct event *event)
{
	if (!event->period_given)
		event->attr.sample_period = plan->kind == TRACE_ARM_SPE ? spe_period(pmu) : 1;
	event->attr.freq = event->period_given ? event->attr.freq : 0;
	event->period_given = true; /* -F and -c are for the others */
	event->attr.aux_watermark = watermark(plan);
	event->callgraph_given = true;
	event->callgraph = "no";
	event->branch_type = "no";
	if (plan->kind == TRACE_CORESIGHT && plan->by_cpu) { /* who runs stands in the trace */
		set_format(pmu, event, "contextid");
		set_format(pmu, event, "timestamp");
	}
	if (plan->in_samples)
		sample_often(plan, event);
}

/* Who runs on a CPU is told by records of switches, where the trace has times to go with them. */
static void choose_switches(struct trace_plan *plan, const struct sampling *sampling)
{
	const struct pmu_format *tsc = pmu_format(plan->pmu, "tsc");
	bool timed =
		plan->kind == TRACE_ARM_SPE || (plan->kind == TRACE_INTEL_PT && tsc && !tsc->word && plan->event->attr.config & tsc->mask);

	plan->switches = !plan->by_cpu || !timed ? 0 : sampling->by_cpu ? 3 : 2;
}

struct error *trace_plan_make(struct trace_plan *plan, struct event_list *events, struct event_catalog *catalog, struct sampling *sampling)
{
	struct error *error = NULL;

	plan->by_cpu = !sampling->per_thread;
	plan->pmus = event_catalog_pmus(catalog);
	for (size_t i = 0; i < events->events.len && !error; i++) {
		const struct event *event = events->events.data[i];
		enum trace_kind kind = trace_pmu_kind(event->pmu_name);
		if (kind == TRACE_NONE)
			continue;
		plan->kind = plan->event ? plan->kind : kind;
		plan->pmu = plan->event ? plan->pmu : pmu_by_name(plan->pmus, event->pmu_name);
		error = kind != plan->kind ? error_new_kind(ERROR_USAGE, "%s and %s: there can be one event that traces", plan->event->name,
							    event->name)
					   : check_event(plan, event, sampling);
		plan->event = plan->event ? plan->event : event;
	}
	if (!error)
		error = plan->kind == TRACE_NONE ? check_others(events) : take_sample_sizes(plan, events);
	if (!error)
		error = check_options(plan);
	if (error || plan->kind == TRACE_NONE)
		return error;
	error = settle_size(plan);
	for (size_t i = 0; i < events->events.len && !error; i++) {
		struct event *event = events->events.data[i];
		if (!trace_plan_traces(event))
			continue;
		struct pmu *pmu = pmu_by_name(plan->pmus, event->pmu_name);
		complete_event(plan, pmu, event);
		if (event->address_filter)
			error = trace_filter_resolve(events, event, pmu, sampling->by_cpu, "/proc/kallsyms");
	}
	choose_switches(plan, sampling);
	sampling->listener = true;
	sampling->identifier = true; /* events that are made of the trace have it, and ids stand at one place */
	sampling->cpu |= plan->by_cpu;
	sampling->switch_events |= plan->switches != 0;
	sampling->text_poke = plan->kind == TRACE_INTEL_PT && !plan->event->attr.exclude_kernel;
	return error;
}

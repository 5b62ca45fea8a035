/* -s: where tasks slept and for how long.
 *
 * A task that goes to sleep makes a sched_switch event, whose call chain says where; how long is known when it wakes up, to its sched_stat
 * event:
 *
 *	sched_switch  (thread 7, chain: main read …)  ──────────────► taken out, kept
 *	sched_stat_iowait (of pid 7, period 5 ms)     ──────────────► taken out; the kept one is put in, with this one's time and period
 *
 * So `perf report` of the result adds up the time slept by call chain. The events of sched_switch come out with the periods of sched_stat
 * events.
 *
 * Many kernels have no sched_stat events (CONFIG_SCHEDSTATS). Then the sleep is measured here: it begins with the sched_switch event in
 * which the task leaves the CPU in another state than runnable, and ends when it is woken up (sched_waking, sched_wakeup), or, where that
 * isn't recorded, when it is switched in. */
#include "cmd/inject/inject.h"

#include "analysis/tracker.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <linux/perf_event.h>
#include <string.h>

static bool is_event(const struct event *event, const char *name)
{
	return event->tp_system && event->tp_name && !strcmp(event->tp_system, "sched") && !strcmp(event->tp_name, name);
}

static bool is_stat(const struct event *event)
{
	return event->tp_system && event->tp_name && !strcmp(event->tp_system, "sched") && str_starts_with(event->tp_name, "sched_stat_");
}

static bool is_wakeup(const struct event *event)
{
	return is_event(event, "sched_waking") || is_event(event, "sched_wakeup");
}

static bool is_needed(const struct event *event)
{
	return is_event(event, "sched_switch") || is_stat(event) || is_wakeup(event);
}

/* Sleeps can be measured: samples of sched_switch say when, for which tasks, and have room for how long. */
static struct error *check_fields(const struct event *event, bool measure)
{
	const uint64_t needed = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW | (is_event(event, "sched_switch") ? PERF_SAMPLE_PERIOD : 0);

	if (!(event->attr.sample_type & PERF_SAMPLE_TID))
		return error_new("-s: samples of %s have no thread id", event->name);
	if (measure && (event->attr.sample_type & needed) != needed)
		return error_new("-s: samples of %s have no time, period or raw data: record without -n, --no-timestamp and --no-period",
				 event->name);
	return NULL;
}

struct error *inject_sleep_init(struct inject *inject)
{
	const struct event_list *events = &inject->session->reader->events;
	bool switches = false, stats = false;
	for (size_t i = 0; i < events->events.len; i++) {
		switches |= is_event(events->events.data[i], "sched_switch");
		stats |= is_stat(events->events.data[i]);
	}
	inject->measures_sleep = switches && !stats;
	for (size_t i = 0; i < events->events.len; i++) {
		struct error *error =
			is_needed(events->events.data[i]) ? check_fields(events->events.data[i], inject->measures_sleep) : NULL;
		if (error)
			return error;
	}
	if (switches)
		return NULL;
	return error_new("-s requires the events of tasks going to sleep and waking up:  perf record -a -e "
			 "sched:sched_switch,sched:sched_waking,sched:sched_process_exit -g");
}

static void forget(struct inject *inject, uint32_t tid)
{
	const uint64_t *slot = map64_find(&inject->switch_by_tid, tid);
	if (!slot)
		return;
	inject->endless_sleeps += inject->switches.data[*slot - 1].header != NULL;
	free(inject->switches.data[*slot - 1].header);
	inject->switches.data[*slot - 1] = (struct inject_switch){0};
}

static void keep(struct inject *inject, uint32_t tid, const struct record_header *header, uint64_t time)
{
	bool fresh;
	uint64_t *slot = map64_insert(&inject->switch_by_tid, tid, &fresh);
	struct record_header *copy = mem_alloc(header->size);
	memcpy(copy, header, header->size);
	if (fresh) {
		vec_push(&inject->switches, (struct inject_switch){0});
		*slot = inject->switches.len;
	}
	free(inject->switches.data[*slot - 1].header);
	inject->switches.data[*slot - 1] = (struct inject_switch){copy, time};
}

static void put_u64(struct record_header *header, uint16_t offset, uint64_t value)
{
	if (offset && header->size >= offset + sizeof(value))
		memcpy((uint8_t *)header + offset, &value, sizeof(value));
}

/* The sleep of a thread that ends now becomes the record, when its beginning was recorded. */
static void end_sleep(struct inject *inject, uint32_t tid, const struct sample *sample)
{
	const uint64_t *slot = map64_find(&inject->switch_by_tid, tid);
	struct inject_switch *begun = slot ? &inject->switches.data[*slot - 1] : NULL;
	const struct event *event = begun && begun->header ? reader_event(inject->session->reader, begun->header) : NULL;
	if (!event)
		return;
	const struct sample_layout *layout = &inject->session->reader->layouts[event->index];
	put_u64(begun->header, layout->time, sample->time);
	put_u64(begun->header, layout->period, inject->measures_sleep ? sample->time - begun->time : sample->period);
	inject->slept = begun->header;
	inject->slept_event = event;
	inject->sleeps++;
	if (!inject->measures_sleep)
		return;
	free(inject->sleep);
	inject->sleep = begun->header;
	*begun = (struct inject_switch){0};
}

/* The states in sched_switch events (include/linux/sched.h); a runnable task that has lost the CPU has none of these bits. */
static bool goes_to_sleep(uint64_t state)
{
	enum { INTERRUPTIBLE = 1, UNINTERRUPTIBLE = 2 };
	return state & (INTERRUPTIBLE | UNINTERRUPTIBLE);
}

static void on_end(void *context, const struct tracker_event *event)
{
	if (event->fields[0])
		end_sleep(context, (uint32_t)event->values[0], tracker_sample(event));
}

static void on_exit_of(void *context, const struct tracker_event *event)
{
	forget(context, event->tid);
}

/* Where a sched_stat event will say how long. */
static void on_switch(void *context, const struct tracker_event *event)
{
	keep(context, event->tid, event->record->header, event->time);
}

/* One task leaves the CPU, the other's sleep has ended at the latest. */
static void on_measured_switch(void *context, const struct tracker_event *event)
{
	enum { PREV_STATE, PREV_PID, NEXT_PID };
	uint32_t prev = (uint32_t)event->values[PREV_PID];
	if (!event->fields[PREV_STATE] || !event->fields[PREV_PID] || !event->fields[NEXT_PID])
		return;
	forget(context, prev);
	if (prev && goes_to_sleep(event->values[PREV_STATE]))
		keep(context, prev, event->record->header, event->time);
	end_sleep(context, (uint32_t)event->values[NEXT_PID], tracker_sample(event));
}

static const struct tracker_handler stat_handlers[] = {
	{"sched:sched_switch", {0}, on_switch},
	{"sched:sched_process_exit", {0}, on_exit_of},
	{"sched:sched_stat_*", {"pid"}, on_end},
	{0},
};

static const struct tracker_handler measuring_handlers[] = {
	{"sched:sched_switch", {"prev_state", "prev_pid", "next_pid"}, on_measured_switch},
	{"sched:sched_process_exit", {0}, on_exit_of},
	{"sched:sched_waking", {"pid"}, on_end},
	{"sched:sched_wakeup", {"pid"}, on_end},
	{0},
};

bool inject_sleep(struct inject *inject, struct record *record)
{
	if (!inject->sleep_tracker)
		inject->sleep_tracker =
			tracker_create(inject->session, inject->measures_sleep ? measuring_handlers : stat_handlers, inject);
	if (!tracker_wants(inject->sleep_tracker, record))
		return true;
	inject->slept = NULL;
	tracker_give(inject->sleep_tracker, record);
	if (!inject->slept)
		return false;
	record->header = inject->slept;
	record->event = inject->slept_event;
	return true;
}

void inject_sleep_tell(const struct inject *inject)
{
	static const char remedy[] =
		"Record the whole system, with wake-ups:  perf record -a -e sched:sched_switch,sched:sched_waking,sched:sched_process_exit -g";
	if (!inject->options->sleep || !inject->measures_sleep)
		return;
	if (!inject->sleeps)
		log_warning("No sleep both begins and ends in the recording. %s", remedy);
	else if (inject->endless_sleeps)
		log_warning("%llu of %llu sleeps are missing: their ends were not recorded. %s", (unsigned long long)inject->endless_sleeps,
			    (unsigned long long)(inject->endless_sleeps + inject->sleeps), remedy);
}

void inject_sleep_deinit(struct inject *inject)
{
	for (size_t i = 0; i < inject->switches.len; i++)
		free(inject->switches.data[i].header);
	free(inject->sleep);
	tracker_destroy(inject->sleep_tracker);
	vec_deinit(&inject->switches);
	map64_deinit(&inject->switch_by_tid);
}

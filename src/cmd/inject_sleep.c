/* -s: where tasks slept and for how long.
 *
 * A task that goes to sleep makes a sched_switch event, whose call chain says where; how long is known when it wakes up, to its sched_stat event:
 *
 *	sched_switch  (thread 7, chain: main read …)  ──────────────► taken out, kept
 *	sched_stat_iowait (of pid 7, period 5 ms)     ──────────────► taken out; the kept one is put in, with this one's time and period
 *
 * So `perf report` of the result adds up the time slept by call chain. The events of sched_switch come out with the periods of sched_stat events. */
#include "cmd/inject.h"

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

struct error *inject_sleep_init(const struct inject *inject)
{
	const struct event_list *events = &inject->session->reader->events;
	bool switches = false, stats = false;
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		switches |= is_event(event, "sched_switch");
		stats |= is_stat(event);
		if ((is_event(event, "sched_switch") || is_stat(event)) && !(event->attr.sample_type & PERF_SAMPLE_TID))
			return error_new("-s: samples of %s don't say which thread they are of", event->name);
	}
	if (switches && stats)
		return NULL;
	return error_new("-s needs the events of going to sleep and of waking up in one recording:  perf record -e "
			 "sched:sched_stat_sleep,sched:sched_stat_iowait,sched:sched_stat_blocked,sched:sched_switch,sched:sched_process_exit -g");
}

static void forget(struct inject *inject, uint32_t tid)
{
	const uint64_t *slot = map64_find(&inject->switch_by_tid, tid);
	if (!slot)
		return;
	free(inject->switches.data[*slot - 1]);
	inject->switches.data[*slot - 1] = NULL;
}

static void keep(struct inject *inject, uint32_t tid, const struct record_header *header)
{
	bool fresh;
	uint64_t *slot = map64_insert(&inject->switch_by_tid, tid, &fresh);
	struct record_header *copy = mem_alloc(header->size);
	memcpy(copy, header, header->size);
	if (fresh) {
		vec_push(&inject->switches, NULL);
		*slot = inject->switches.len;
	}
	free(inject->switches.data[*slot - 1]);
	inject->switches.data[*slot - 1] = copy;
}

static void put_u64(struct record_header *header, uint16_t offset, uint64_t value)
{
	if (offset && header->size >= offset + sizeof(value))
		memcpy((uint8_t *)header + offset, &value, sizeof(value));
}

/* The sleep that ends now becomes the record; false when its beginning wasn't recorded. */
static bool end_sleep(const struct inject *inject, const struct sample *sample, struct record *record)
{
	const struct tracepoint *format = record->event->tracepoint;
	const struct tracepoint_field *field = format ? tracepoint_field(format, "pid") : NULL;
	const uint64_t *slot = field ? map64_find(&inject->switch_by_tid, (uint32_t)tracepoint_read(field, sample->raw, sample->raw_size)) : NULL;
	struct record_header *begun = slot ? inject->switches.data[*slot - 1] : NULL;
	const struct event *event = begun ? reader_event(inject->session->reader, begun) : NULL;
	if (!event)
		return false;
	const struct sample_layout *layout = &inject->session->reader->layouts[event->index];
	put_u64(begun, layout->time, sample->time);
	put_u64(begun, layout->period, sample->period);
	record->header = begun;
	record->event = event;
	return true;
}

bool inject_sleep(struct inject *inject, struct record *record)
{
	const struct event *event = record->event;
	bool stat = is_stat(event), begin = is_event(event, "sched_switch"), exit = is_event(event, "sched_process_exit");
	struct sample sample;
	if (!stat && !begin && !exit)
		return true;
	if (!session_decode(inject->session, record, &sample))
		return false;
	if (stat)
		return end_sleep(inject, &sample, record);
	if (begin)
		keep(inject, sample.tid, record->header);
	else
		forget(inject, sample.tid);
	return false;
}

void inject_sleep_deinit(struct inject *inject)
{
	for (size_t i = 0; i < inject->switches.len; i++)
		free(inject->switches.data[i]);
	vec_deinit(&inject->switches);
	map64_deinit(&inject->switch_by_tid);
}

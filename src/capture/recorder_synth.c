/* What the recorder itself adds to a recording: the side-band of what already runs, and how much was lost. */
#include "capture/recorder_internal.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "capture/synth/synth_internal.h"
#include "perfdata/layout.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Our own records go to the writer one by one: they aren't compressed. */
static struct error *write_records(struct recorder *recorder, const struct strbuf *records)
{
	const struct recorder_sink *sink = recorder->options->sink;
	const struct iovec piece = {records->data, records->len};

	if (sink) {
		if (records->len)
			sink->append(sink->context, &piece, 1);
		return NULL;
	}
	for (size_t at = 0; at < records->len;) {
		const struct record_header *header = (const void *)(records->data + at);
		struct error *error = writer_add(recorder->writer, header, header->size);
		if (error)
			return error;
		at += header->size;
	}
	return NULL;
}

static bool samples_kernel(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (!events->events.data[i]->attr.exclude_kernel && events->events.data[i]->attr.config != PERF_COUNT_SW_DUMMY)
			return true;
	return false;
}

static void synthesize_ids(struct recorder *recorder, struct synth *synth)
{
	cleanup_free const struct counter **list = mem_alloc_array(recorder->every.len, sizeof(*list));

	for (size_t i = 0; i < recorder->every.len; i++)
		list[i] = recorder->every.data[i].counter;
	synth_id_index(synth, list, recorder->every.len, &recorder->counters->target);
}

static void synthesize_description(struct recorder *recorder, struct synth *synth)
{
	const struct counter_target *target = &recorder->counters->target;
	bool pipe = writer_is_pipe(recorder->writer);

	for (size_t i = 0; i < recorder->events->events.len; i++)
		synth_event_update(synth, recorder->events->events.data[i], pipe);
	synth_thread_map(synth, target->threads, target->thread_count);
	if (target->measured)
		synth_cpu_map(synth, target->measured, target->measured_count);
	else if (target->cpus[0] >= 0)
		synth_cpu_map(synth, target->cpus, target->cpu_count);
}

/* Who reads from a sink has the description already. */
static void synthesize_recording(struct recorder *recorder, struct synth *synth)
{
	bool describes = !recorder->options->sink;

	if (describes)
		recorder_describe_traces(recorder, synth);
	if (describes)
		synthesize_ids(recorder, synth);
	if (!synth_kernel(synth))
		recorder->totals.addresses_hidden = samples_kernel(recorder->events);
	if (describes)
		synthesize_description(recorder, synth);
	synth_bpf(synth);
}

static void take_tasks(struct recorder *recorder, bool wanted, struct strbuf *records)
{
	const struct recorder_options *options = recorder->options;
	const struct counter_target *target = &recorder->counters->target;
	struct synth synth = {.out = records,
			      .trailer = recorder->trailer,
			      .data_maps = options->data_maps,
			      .namespaces = options->namespaces,
			      .map_timeout_ns = options->map_timeout_ns,
			      .build_id = options->build_id};

	if (options->synthesize_cgroups)
		synth_cgroups(&synth);
	if (wanted && options->all_tasks)
		synth_all_tasks(&synth, options->synth_jobs);
	else if (wanted && recorder->started)
		synth_families(&synth, target->threads, target->thread_count);
	else if (wanted)
		synth_threads(&synth, target->threads, target->thread_count, options->is_workload_target);
	if (recorder->workload && !options->is_workload_target && wanted && !options->all_tasks)
		synth_threads(&synth, &recorder->workload->pid, 1, true);
	recorder->totals.map_timeouts += synth.map_timeouts;
}

/* What runs now; needs no output. */
void recorder_take_tasks(struct recorder *recorder, struct strbuf *records)
{
	take_tasks(recorder, recorder->options->synthesize_tasks, records);
}

void recorder_learn_tasks(struct recorder *recorder)
{
	struct strbuf tasks = {0};

	take_tasks(recorder, true, &tasks);
	stack_chains_know(recorder->chains, &tasks);
	strbuf_deinit(&tasks);
}

struct error *recorder_write_init(struct recorder *recorder, const struct strbuf *tasks)
{
	struct strbuf records = {0};
	struct synth synth = {.out = &records, .trailer = recorder->trailer, .build_id = recorder->options->build_id};

	struct error *error = recorder_async_settle(recorder);
	synthesize_recording(recorder, &synth);
	if (!error)
		error = write_records(recorder, &records);
	strbuf_deinit(&records);
	if (!error)
		error = write_records(recorder, tasks);
	if (recorder->options->sink)
		return error;
	if (!error)
		error = writer_finish_init(recorder->writer);
	/* On the disk: without it what a killed recorder leaves has no names. */
	return error ? error : writer_flush(recorder->writer);
}

struct error *recorder_synthesize(struct recorder *recorder)
{
	struct strbuf tasks = {0};

	recorder_take_tasks(recorder, &tasks);
	if (recorder->chains)
		stack_chains_know(recorder->chains, &tasks);
	struct error *error = recorder_write_init(recorder, &tasks);
	strbuf_deinit(&tasks);
	return error;
}

/* One LOST_SAMPLES record for each counter that dropped samples, with the counter's ids in its trailer. */
static void put_lost(struct strbuf *out, const struct event_attr *attr, uint64_t lost, uint64_t id, int cpu, pid_t thread)
{
	const struct record_lost_samples record = {.header.type = RECORD_LOST_SAMPLES, .count = lost};
	uint32_t owner = thread > 0 ? (uint32_t)thread : UINT32_MAX;
	const struct sample_id trailer = {.pid = owner, .tid = owner, .id = id, .stream_id = id, .cpu = (uint32_t)cpu};
	struct sample_layout layout;

	sample_layout_init(&layout, attr);
	struct synth synth = {.out = out, .trailer = layout.trailer};
	synth_end(&synth, synth_begin(&synth, &record, sizeof(record)));
	sample_id_encode(&layout, &trailer, out->data + out->len);
}

struct error *recorder_write_lost(struct recorder *recorder)
{
	const struct counter_target *target = &recorder->counters->target;
	struct strbuf records = {0};

	size_t slots = target->cpu_count * target->thread_count;

	if (!recorder->totals.lost_by_event) {
		recorder->totals.lost_by_event = mem_zalloc_array(recorder->counters->count, sizeof(uint64_t));
		recorder->lost_written = mem_zalloc_array(recorder->every.len * slots, sizeof(uint64_t));
	}
	for (size_t i = 0; i < recorder->every.len; i++) {
		const struct recorder_counter *each = &recorder->every.data[i];
		const struct event *event = recorder->events->events.data[each->event];
		const struct counter *counter = each->counter;
		for (size_t slot = 0; slot < slots; slot++) {
			uint64_t *before = &recorder->lost_written[i * slots + slot];
			uint64_t now = counters_lost(counter, &event->attr, slot), lost = now - *before;
			if (now <= *before)
				continue;
			*before = now;
			recorder->totals.lost += lost;
			recorder->totals.lost_by_event[each->event] += lost;
			put_lost(&records, &event->attr, lost, counter->ids[slot], target->cpus[slot / target->thread_count],
				 target->threads[slot % target->thread_count]);
		}
	}
	struct error *error = write_records(recorder, &records);
	strbuf_deinit(&records);
	return error;
}

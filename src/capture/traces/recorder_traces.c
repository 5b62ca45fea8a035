/* The recorder's part in hardware traces: when areas are read. */
#include "capture/recorder_internal.h"

#include "capture/traces/trace_info.h"

#include <string.h>

struct error *recorder_open_traces(struct recorder *recorder)
{
	const struct trace_plan *plan = recorder->options->traces;
	struct error *error = plan ? trace_areas_open(plan, &recorder->rings, &recorder->counters->target, &recorder->traces) : NULL;

	if (recorder->traces)
		trace_areas_switched(recorder->traces, !recorder->options->start_disabled);
	return error;
}

struct error *recorder_take_trace(struct recorder *recorder, size_t ring, uint64_t *bytes)
{
	uint64_t taken = 0;
	struct error *error = recorder->traces ? recorder_async_settle(recorder) : NULL;

	if (!error && recorder->traces)
		error = trace_areas_take(recorder->traces, ring, recorder->writer, &taken);
	recorder->totals.trace_bytes += taken;
	*bytes += taken;
	return error;
}

void recorder_switched_traces(struct recorder *recorder, const char *name, bool on)
{
	if (recorder->traces && (!*name || !strcmp(name, recorder->options->traces->event->name)))
		trace_areas_switched(recorder->traces, on);
}

bool recorder_has_snapshots(const struct recorder *recorder)
{
	return recorder->traces && recorder->options->traces->snapshots;
}

/* What tells of the trace (AUX, SWITCH, MMAP) stands in front of it. */
struct error *recorder_take_snapshot(struct recorder *recorder)
{
	uint64_t bytes = 0;

	trace_areas_stop(recorder->traces);
	struct error *error = recorder_drain(recorder, true, &bytes);
	bytes = 0;
	if (!error)
		error = recorder_async_settle(recorder);
	if (!error)
		error = trace_areas_take_snapshot(recorder->traces, recorder->writer, &bytes);
	trace_areas_go_on(recorder->traces);
	recorder->totals.trace_bytes += bytes;
	recorder->totals.snapshots++;
	return error ? error : writer_flush(recorder->writer);
}

void recorder_describe_traces(const struct recorder *recorder, struct synth *synth)
{
	const struct perf_event_mmap_page *page = recorder->traces ? trace_areas_page(recorder->traces) : NULL;

	if (page)
		trace_info_add(recorder->options->traces, page, synth);
}

/* Hardware traces: their options, and what the recording has of them. */
#include "cmd/record/record.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "cmd/sampling_options.h"

#include <inttypes.h>
#include <string.h>

/* "16", "16,64K", ",64K": buffers of records, and of traces. */
struct error *record_option_buffers(const struct option *option, const char *argument, bool negated, void *field)
{
	struct record_options *options = field;
	const char *comma = strchr(argument, ',');
	cleanup_free char *first = mem_printf("%.*s", comma ? (int)(comma - argument) : (int)strlen(argument), argument);
	struct error *error = NULL;

	if (*first || !comma)
		error = sampling_parse_pages(first, &options->recorder.ring_pages);
	if (!error && comma && comma[1])
		error = sampling_parse_pages(comma + 1, &options->traces.pages);
	return error;
}

/* "e", "e1M", "0x100000": at the end, and how much. */
struct error *record_option_snapshot(const struct option *option, const char *argument, bool negated, void *field)
{
	struct trace_plan *traces = field;
	const char *text = argument ? argument : "";

	traces->snapshots = !negated;
	traces->snapshot_at_end = !negated && *text == 'e';
	traces->snapshot_bytes = 0;
	text += *text == 'e';
	if (negated || !*text || (number_parse_u64(text, &traces->snapshot_bytes) && traces->snapshot_bytes) ||
	    (number_parse_size(text, &traces->snapshot_bytes) && traces->snapshot_bytes))
		return NULL;
	return error_new_kind(ERROR_USAGE,
			      "invalid value '%s': expected e for a snapshot at the end, a size such as 1M for how much, or both: e1M",
			      argument);
}

struct error *record_option_trace_sample(const struct option *option, const char *argument, bool negated, void *field)
{
	struct trace_plan *traces = field;
	uint64_t bytes = TRACE_SAMPLE_DEFAULT;

	if (negated) {
		traces->sample_bytes = 0;
		return NULL;
	}
	if (argument && !number_parse_u64(argument, &bytes) && !number_parse_size(argument, &bytes))
		bytes = 0;
	if (!bytes || bytes > TRACE_SAMPLE_MAX)
		return error_new_kind(ERROR_USAGE, "invalid value '%s': expected the bytes of trace in each sample, at most %d", argument,
				      TRACE_SAMPLE_MAX);
	traces->sample_bytes = (uint32_t)bytes;
	return NULL;
}

static const char *excluded_option(const struct record_options *options)
{
	if (options->recorder.places.len)
		return "--threads";
	if (options->off_cpu)
		return "--off-cpu";
	if (options->sampling.no_samples)
		return "-n";
	return NULL;
}

struct error *record_plan_traces(struct record_options *options, struct event_list *events, struct event_catalog *catalog)
{
	struct trace_plan *traces = &options->traces;
	struct error *error = trace_plan_make(traces, events, catalog, &options->sampling);

	if (error || traces->kind == TRACE_NONE)
		return error;
	const char *excluded = excluded_option(options);
	if (excluded)
		return error_new_kind(ERROR_USAGE, "%s: hardware traces cannot be combined with %s", traces->event->name, excluded);
	options->recorder.traces = traces;
	/* What the trace went through is known only when it is decoded. */
	options->buildid_all = true;
	if (options->self_contained)
		log_warning("--self-contained brings what samples hit, but not what only the hardware trace went through");
	return NULL;
}

void record_tell_traces(const struct record_options *options, const struct recorder_totals *totals, const struct record_summary *summary)
{
	char bytes[16];

	if (!options->recorder.traces)
		return;
	log_info("hardware trace: %s", number_format_bytes(totals->trace_bytes, bytes));
	if (summary->full_traces)
		log_warning("%s: %" PRIu64
			    " time%s the buffer was full: what was traced then is missing. Use larger buffers, such as -m ,16M, "
			    "or trace less",
			    options->traces.event->name, summary->full_traces, summary->full_traces == 1 ? "" : "s");
	if (options->traces.snapshots && !totals->snapshots)
		log_warning("%s: no snapshot was taken: 'kill -USR2' of perf's process takes one, -Se one at the end",
			    options->traces.event->name);
}

/* Events that cannot be sampled, though they can be counted or are known by name. */
#include "capture/sampling.h"
#include "event/trace_pmus.h"

/* Hardware traces need an AUX area beside the ring. */
static struct error *refuse_hardware_trace(const struct event *event)
{
	if (trace_pmu_kind(event->pmu_name) != TRACE_NONE)
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"%s: a hardware trace (AUX area) is recorded by 'perf record' and read by 'perf script --itrace'; sample "
			"cycles instead",
			event->name);
	if (event_trace_term(event))
		return error_new_kind(ERROR_UNSUPPORTED,
				      "%s: %s= is for hardware traces (AUX areas), which 'perf record' records; omit it to sample",
				      event->name, event_trace_term(event));
	return NULL;
}

/* What says how to count would have no effect on samples. */
struct error *sampling_refuse(const struct event *event, bool traces)
{
	struct error *error = traces ? NULL : refuse_hardware_trace(event);

	if (error)
		return error;
	if (event->tool)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "%s is a time that 'perf stat' measures at the end; sample cpu-clock or task-clock instead",
				      event->name);
	if (event->percore)
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"%s: percore adds up the counts of a core's threads and works with 'perf stat' only; omit it to sample",
			event->name);
	if (event->bpf_counter)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "%s: the modifier b counts with BPF and works with 'perf stat' only; omit it to sample", event->name);
	return NULL;
}

/* Events that cannot be sampled, though they can be counted or are known by name. */
#include "capture/sampling.h"
#include "event/trace_pmus.h"

/* Hardware trace needs an AUX buffer beside the ring; this recorder has none. */
static struct error *refuse_hardware_trace(const struct event *event)
{
	if (event->pmu_name && trace_pmu_needs(event->pmu_name))
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"%s: hardware traces (AUX areas) are only read here (perf script --itrace); record them with the kernel's "
			"tool, or sample cycles",
			event->name);
	return NULL;
}

/* What says how to count would have no effect on samples. */
struct error *sampling_refuse(const struct event *event)
{
	struct error *error = refuse_hardware_trace(event);

	if (error)
		return error;
	if (event->tool)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "%s is a time that 'perf stat' measures at the end; sample cpu-clock or task-clock instead",
				      event->name);
	if (event->aux_output || event->aux_sample_size)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "%s: %s= is for hardware traces (AUX areas), which only the kernel's tool records; omit it to sample",
				      event->name, event->aux_output ? "aux-output" : "aux-sample-size");
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

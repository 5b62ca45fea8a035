/* Events that cannot be sampled, though they can be counted or are known by name. */
#include "base/text.h"
#include "capture/sampling.h"

/* Hardware trace needs an AUX buffer beside the ring; this recorder has none. */
static struct error *refuse_hardware_trace(const struct event *event)
{
	static const char *const tracers[] = {"intel_pt", "intel_bts", "arm_spe", "cs_etm", "hisi_ptt", "s390_cpum_sf"};

	for (size_t i = 0; event->pmu_name && i < sizeof(tracers) / sizeof(tracers[0]); i++)
		if (str_starts_with(event->pmu_name, tracers[i]))
			return error_new_kind(ERROR_UNSUPPORTED,
					      "%s: recording of hardware traces (AUX areas) is not supported; sample cycles instead",
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
				      "%s: %s= is for hardware traces (AUX areas), which are not supported; omit it to sample", event->name,
				      event->aux_output ? "aux-output" : "aux-sample-size");
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

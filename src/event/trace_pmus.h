/* PMUs that trace what a processor does, into buffers of their own (AUX areas; kernel/aux_area.h). */
#pragma once

#include "base/arena.h"
#include "kernel/pmu_sysfs.h"

/* The numbers are those of recordings (AUXTRACE_INFO; tools/perf's enum auxtrace_type). */
enum trace_kind { TRACE_NONE = 0, TRACE_INTEL_PT = 1, TRACE_INTEL_BTS = 2, TRACE_CORESIGHT = 3, TRACE_ARM_SPE = 4, TRACE_HISI_PTT = 6 };

/* What a PMU of that name traces; `name` may be NULL. */
enum trace_kind trace_pmu_kind(const char *name);
/* Which processors and settings have a PMU of that name, as a sentence. NULL: it is none of these, and counts or samples. */
const char *trace_pmu_needs(const char *name);
/* The terms that an event of the PMU has if nothing else is said, as the kernel's tool has them: "tsc,mtc,mtc_period=3,…". NULL = none.
 * `pmu` is loaded. */
const char *trace_pmu_defaults(const struct pmu *pmu, struct arena *arena);

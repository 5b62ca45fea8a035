/* PMUs that trace what a processor does, into buffers of their own (AUX areas). Recorders here have none: such traces are only read. */
#pragma once

/* Which processors and settings have a PMU of that name, as a sentence. NULL: it is none of these, and counts or samples. */
const char *trace_pmu_needs(const char *name);

/* A count, as the kernel gives it (perf_event_open(2), PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What one descriptor has counted since it was opened. */
struct counter_value {
	uint64_t value;
	uint64_t enabled_ns; /* how long it was wanted … */
	uint64_t running_ns; /* … and how long it really counted: less when there are more events than counters */
	bool open;
};

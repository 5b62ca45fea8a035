/* What task_counters.bpf.c and its loader share. */
#pragma once

#include "bpf/counters/event_counters_shared.h"

#include <stdint.h>

struct counters_config {
	uint32_t events;		       /* <= EVENT_COUNTERS_MOST */
	uint32_t cells;			       /* what counts are kept apart by: 1, or one for each thread */
	uint32_t cpus;			       /* possible ones */
	uint32_t inherit;		       /* children and new threads count for the cell of who made them */
	uint8_t switches[EVENT_COUNTERS_MOST]; /* by event: it counts context switches of the kernel's own */
};

/* A task that is to be followed, by its number. */
struct counters_target {
	uint32_t cell;
	uint32_t awaits_exec; /* counted from its next exec on */
};

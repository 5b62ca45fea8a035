/* What slow_calls.bpf.c and its loader share. */
#pragma once

#include <stdint.h>

struct slow_calls_config {
	uint64_t threshold_ns;
};

/* Times are CLOCK_MONOTONIC; ids are those of our pid namespace, 0 for who has none there. */
struct slow_call {
	uint64_t begin, end;
	uint32_t pid, tid;
};

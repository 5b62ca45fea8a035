/* What function_latency.bpf.c and its loader share. */
#pragma once

#include <stdint.h>

enum { FUNCTION_LATENCY_BUCKETS = 22 };

struct function_latency_config {
	uint8_t in_ns;	 /* buckets of nanoseconds, else of microseconds */
	uint8_t by_task; /* only those in the map `targets` */
	uint8_t on_cpus; /* only those in the map `cpus` */
};

/* Of one CPU. The first bucket is below 1 unit, each other one twice as wide as the one before, the last without an end. */
struct function_latency_sums {
	uint64_t counts[FUNCTION_LATENCY_BUCKETS];
	uint64_t calls, total_ns, longest_ns, shortest_ns;
};

/* What a clock of clock_gettime(2) shows, as one number. */
#pragma once

#include <stdint.h>
#include <time.h>

/* In nanoseconds. `clock` is one that every kernel has (CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME …). Thread-safe. */
static inline uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

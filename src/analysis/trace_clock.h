/* How the CPU's own counter of time becomes the kernel's clock, in which recordings have their times (linux/perf_event.h: struct
 * perf_event_mmap_page), and the other way round. */
#pragma once

#include "perfdata/records.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_clock {
	uint64_t shift, multiplier, zero; /* multiplier 0 = unknown */
	bool is_short;			  /* the counter has only the bits of `mask`; `cycles` is a near value */
	uint64_t cycles, mask;
};

/* What a TIME_CONV record says. */
void trace_clock_init(struct trace_clock *clock, const struct record_time_conv *record);
/* False when nothing can be converted. */
bool trace_clock_is_known(const struct trace_clock *clock);
/* Of a known clock: the time, in nanoseconds, when the counter had that value. */
uint64_t trace_clock_time(const struct trace_clock *clock, uint64_t ticks);
/* Of a known clock: the counter at that time. */
uint64_t trace_clock_ticks(const struct trace_clock *clock, uint64_t time_ns);

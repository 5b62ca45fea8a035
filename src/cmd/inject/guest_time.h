/* When something in a guest happened, by the host's clock. */
#pragma once

#include "analysis/trace_clock.h"

struct guest_time {
	struct trace_clock guest, host; /* by their TIME_CONV records; unknown: times are taken for the counter's values */
	uint64_t offset;		/* what the guest's counter is ahead of the host's … */
	double scale;			/* … and how many times faster it runs; finite and above 0 */
};

/* Takes a TIME_CONV record; those that don't tell how times begin (cap_user_time_zero) say nothing. */
void guest_time_take(struct trace_clock *clock, const struct record_time_conv *record);
/* 0, no time, stays so. */
uint64_t guest_time_on_host(const struct guest_time *time, uint64_t guest_ns);

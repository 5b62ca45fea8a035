/* The hypervisor gives a guest a counter of time of its own (on x86: the TSC, moved and scaled), of which the guest's kernel makes its
 * clock:
 *
 *	guest's time ─ its TIME_CONV, backwards ─► guest's counter ─ offset, scale ─► host's counter ─ its TIME_CONV ─► host's time */
#include "cmd/inject/guest_time.h"

void guest_time_take(struct trace_clock *clock, const struct record_time_conv *record)
{
	if (record->header.size >= sizeof(*record) && record->cap_zero)
		trace_clock_init(clock, record);
}

uint64_t guest_time_on_host(const struct guest_time *time, uint64_t guest_ns)
{
	if (!guest_ns)
		return 0;
	uint64_t ticks = trace_clock_is_known(&time->guest) ? trace_clock_ticks(&time->guest, guest_ns) : guest_ns;
	ticks -= time->offset;
	if (time->scale != 1) {
		const long double scaled = (long double)ticks / time->scale;
		ticks = scaled < (long double)UINT64_MAX ? (uint64_t)scaled : UINT64_MAX;
	}
	return trace_clock_is_known(&time->host) ? trace_clock_time(&time->host, ticks) : ticks;
}

/* Numbers of 64 bits wrap as the kernel's do: only differences of them count. */
#include "analysis/trace_clock.h"

enum { BITS = 64 };

void trace_clock_init(struct trace_clock *clock, const struct record_time_conv *record)
{
	*clock = (struct trace_clock){.shift = record->shift, .multiplier = record->multiplier, .zero = record->zero};
	if (record->header.size < sizeof(*record) || !record->cap_short)
		return;
	clock->is_short = true;
	clock->cycles = record->cycles;
	clock->mask = record->mask;
}

bool trace_clock_is_known(const struct trace_clock *clock)
{
	return clock->multiplier && clock->shift < BITS;
}

uint64_t trace_clock_time(const struct trace_clock *clock, uint64_t ticks)
{
	if (clock->is_short)
		ticks = clock->cycles + ((ticks - clock->cycles) & clock->mask);
	uint64_t low = ticks & ((1ull << clock->shift) - 1);
	return clock->zero + (ticks >> clock->shift) * clock->multiplier + (low * clock->multiplier >> clock->shift);
}

uint64_t trace_clock_ticks(const struct trace_clock *clock, uint64_t time_ns)
{
	uint64_t since = time_ns - clock->zero, left = since % clock->multiplier;
	return (since / clock->multiplier << clock->shift) + (uint64_t)(((unsigned __int128)left << clock->shift) / clock->multiplier);
}

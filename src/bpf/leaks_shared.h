/* What leaks.bpf.c and its loader share. */
#pragma once

#include <stdint.h>

enum { LEAKS_FRAMES = 127, LEAKS_ALLOCATIONS = 1 << 20, LEAKS_STACKS = 1 << 14, LEAKS_MORE_STACKS = 1 << 12, LEAKS_COUNT_UNIT = 1024 };

struct leaks_config {
	uint64_t sample; /* an allocation of fewer bytes is noted with the chance of its bytes to so many; 0 = each one */
};

/* Of the allocations of one stack that weren't freed. Those that were noted stand for others: they count for as many as it needs. */
struct leaks_sums {
	uint64_t bytes;
	uint64_t count; /* in 1/LEAKS_COUNT_UNIT */
};

struct leaks_allocation {
	uint64_t bytes, count; /* what it stands for, as above */
	uint64_t time;	       /* ns of CLOCK_MONOTONIC */
	int64_t stack;	       /* number, or -errno */
};

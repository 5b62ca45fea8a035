/* /proc/schedstat: what the scheduler has counted since the kernel's start, by CPU and by scheduling domain (Documentation/scheduler/
 * sched-stats.rst). Only kernels with CONFIG_SCHEDSTATS have it, and they count some of it only while kernel.sched_schedstats is 1. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCHEDSTAT_VALUES = 64 };

struct schedstat_line {
	uint32_t cpu;
	int domain; /* of that CPU, from 0 on; -1 = the CPU itself */
	uint64_t values[SCHEDSTAT_VALUES];
	size_t count; /* of values */
};

struct schedstat_head {
	uint32_t version;   /* of the format: 15 to 17 */
	uint64_t timestamp; /* jiffies */
};

/* Reads it, and gives each line to `take`. An error says that this kernel has none, or one of a version that isn't known. */
struct error *schedstat_read(struct schedstat_head *ret_head, void (*take)(void *context, const struct schedstat_line *line),
			     void *context);
/* The same of a text, which is cut into words; for tests. */
struct error *schedstat_parse(char *text, struct schedstat_head *ret_head, void (*take)(void *context, const struct schedstat_line *line),
			      void *context);
/* kernel.sched_schedstats: false when it can't be read or set. */
bool schedstat_is_counting(bool *ret);
bool schedstat_set_counting(bool on);

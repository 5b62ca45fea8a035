/* What ran on each CPU last, so that whoever waited for one can be told who had it. */
#pragma once

#include "base/vec.h"

#include <stdint.h>

struct where_thread;

enum { WHERE_RUNS = 32 }; /* that are remembered of each CPU */

struct where_cpu_runs {
	struct {
		struct where_thread *thread;
		uint64_t begin, end; /* nanoseconds */
	} last[WHERE_RUNS];
	uint64_t count; /* all that there were: the newest is at (count - 1) % WHERE_RUNS */
	uint64_t since; /* the CPU's last event: when what runs now began */
};

struct where_runs {
	VEC(struct where_cpu_runs) cpus;
};

/* `from`, NULL = nobody, leaves the CPU at `time` (ns). CPU numbers that no machine has are passed over. */
void where_runs_switch(struct where_runs *runs, uint32_t cpu, struct where_thread *from, uint64_t time);
/* Who has had the CPU longest between two times, as far as is remembered; NULL = nobody. */
struct where_thread *where_runs_longest(const struct where_runs *runs, uint32_t cpu, uint64_t begin, uint64_t end);
void where_runs_deinit(struct where_runs *runs);

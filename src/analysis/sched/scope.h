/* What is shown and added up of a recording of scheduler events. Events outside are followed all the same: what a task did elsewhere
 * or before decides how long it has waited. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is everything. */
struct sched_scope {
	const uint64_t *cpus; /* bitmap of `cpu_words`, or NULL = all */
	size_t cpu_words;
	uint64_t begin, end; /* times in ns; 0 = open */
};

static inline bool sched_scope_has_time(const struct sched_scope *scope, uint64_t time)
{
	return time >= scope->begin && (!scope->end || time <= scope->end);
}

static inline bool sched_scope_has_cpu(const struct sched_scope *scope, uint32_t cpu)
{
	return !scope->cpus || (cpu / 64 < scope->cpu_words && scope->cpus[cpu / 64] >> cpu % 64 & 1);
}

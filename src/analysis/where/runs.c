/* The last runs of each CPU, in a ring. Few of them lie in one wait: sums are made by going over them again for each. */
#include "analysis/where/runs.h"

enum { MOST_CPUS = 65536 };

void where_runs_switch(struct where_runs *runs, uint32_t cpu, struct where_thread *from, uint64_t time)
{
	if (cpu >= MOST_CPUS)
		return;
	while (runs->cpus.len <= cpu)
		vec_push(&runs->cpus, (struct where_cpu_runs){0});
	struct where_cpu_runs *of = &runs->cpus.data[cpu];
	if (from) {
		size_t at = of->count++ % WHERE_RUNS;
		of->last[at].thread = from;
		of->last[at].begin = of->since;
		of->last[at].end = time;
	}
	of->since = time;
}

/* How long the thread ran between two times, of which the `count` newest runs tell. */
static uint64_t time_of(const struct where_cpu_runs *of, const struct where_thread *thread, uint64_t count, uint64_t begin, uint64_t end)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < count; i++) {
		size_t at = (of->count - 1 - i) % WHERE_RUNS;
		uint64_t from = of->last[at].begin > begin ? of->last[at].begin : begin;
		uint64_t to = of->last[at].end < end ? of->last[at].end : end;
		if (of->last[at].thread == thread && to > from)
			sum += to - from;
	}
	return sum;
}

struct where_thread *where_runs_longest(const struct where_runs *runs, uint32_t cpu, uint64_t begin, uint64_t end)
{
	struct where_thread *longest = NULL;
	uint64_t most = 0, count = 0;
	if (cpu >= runs->cpus.len)
		return NULL;
	const struct where_cpu_runs *of = &runs->cpus.data[cpu];
	while (count < of->count && count < WHERE_RUNS && of->last[(of->count - 1 - count) % WHERE_RUNS].end > begin)
		count++;
	for (uint64_t i = 0; i < count; i++) {
		struct where_thread *thread = of->last[(of->count - 1 - i) % WHERE_RUNS].thread;
		uint64_t sum = thread == longest ? 0 : time_of(of, thread, count, begin, end);
		if (sum > most) {
			most = sum;
			longest = thread;
		}
	}
	return longest;
}

void where_runs_deinit(struct where_runs *runs)
{
	vec_deinit(&runs->cpus);
}

/* A counter: one event opened on every CPU × thread of a target. */
#pragma once

#include "kernel/perf_open.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where counters are opened. Either CPUs × threads (`threads` is the single -1 for everything that runs there), or threads only (`cpus` is
 * the single -1). Both arrays belong to the caller. */
struct counter_target {
	const int *cpus;
	size_t cpu_count;
	const pid_t *threads;
	size_t thread_count;
	/* The CPUs of `cpus` that are measured, sorted: on the others nothing is opened. NULL = all. */
	const int *measured;
	size_t measured_count;
	int cgroup; /* descriptor of a cgroup's directory: only what runs in it, instead of `threads`; -1 = none */
};

/* Whether counters are opened on the CPU (`measured`). */
bool counter_target_measures(const struct counter_target *target, int cpu);

struct counter {
	int *fds; /* by cpu × thread_count + thread; -1 = not there (the thread had ended, the PMU isn't on that CPU, the CPU isn't measured) */
	uint64_t *ids;			/* the same; 0 where fds is -1, and without PERF_FORMAT_ID */
	size_t cpu_count, thread_count; /* 0 = not opened */
};

static inline size_t counter_slots(const struct counter *counter)
{
	return counter->cpu_count * counter->thread_count;
}

/* What could not be opened. */
struct counter_failure {
	int error; /* errno */
	int cpu;
	pid_t thread;
};

/* Opens the event everywhere. `leader` is the counter that leads its group, or NULL; `only_cpus` a sorted list of the CPUs that the PMU
 * serves, or NULL. Threads that ended meanwhile are left out unless none is left. Returns 0, or -errno with `ret_failure` set; nothing
 * stays open then. */
int counter_open(struct counter *counter, struct perf_open *state, struct perf_event_attr *attr, bool precise_max,
		 const struct counter_target *target, const struct counter *leader, const int *only_cpus, size_t only_count,
		 struct counter_failure *ret_failure);
/* Closes all descriptors; a counter that wasn't opened is fine. */
void counter_close(struct counter *counter);
/* Reads up to `count` words of what the attribute's read_format asks for. Returns how many, 0 when there are none. */
size_t counter_read(const struct counter *counter, size_t slot, uint64_t *words, size_t count);

/* Applies an ioctl to all descriptors. Returns 0, or the first -errno. */
int counter_ioctl(const struct counter *counter, unsigned long request, unsigned long argument);
/* All its descriptors. Returns 0, or -errno of the first that failed; here and below. */
int counter_enable(const struct counter *counter);
int counter_disable(const struct counter *counter);
/* A tracepoint's filter in the kernel's words, which it parses. */
int counter_set_filter(const struct counter *counter, const char *filter);

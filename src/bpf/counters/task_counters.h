/* Counts of tasks kept in the kernel: a BPF program adds up what the counters of each CPU show while the tasks run there, so that it takes
 * one descriptor for each event and CPU however many tasks there are.
 *
 *	bpf_task_counters_open(&options, &counters);
 *	bpf_task_counters_add_event(counters, event, cpu, fd);  // for each
 *	bpf_task_counters_add_target(counters, tid, &target);   // for each
 *	bpf_task_counters_start(counters);
 *	bpf_task_counters_set_running(counters, true);
 *	…
 *	bpf_task_counters_update(counters);
 *	bpf_task_counters_read(counters, event, cell, &value);
 *	bpf_task_counters_close(counters);
 */
#pragma once

#include "base/error.h"
#include "bpf/counters/task_counters_shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bpf_task_counters;

struct bpf_task_counters_options {
	struct counters_config config; /* cpus is filled in */
	size_t targets;		       /* at most so many are added */
};

struct bpf_task_counters_value {
	uint64_t value, enabled_ns, running_ns; /* as a counter of the tasks' own would have them */
};

/* Loads the program; an error says why that isn't possible here. */
struct error *bpf_task_counters_open(const struct bpf_task_counters_options *options, struct bpf_task_counters **ret);
/* NULL is fine. */
void bpf_task_counters_close(struct bpf_task_counters *counters);
/* `fd` is the event's counter for everything on `cpu`, without inheritance; it may be closed after bpf_task_counters_close(). */
struct error *bpf_task_counters_add_event(struct bpf_task_counters *counters, uint32_t event, int cpu, int fd);
/* A thread, in our pid namespace. Before bpf_task_counters_start(). */
struct error *bpf_task_counters_add_target(struct bpf_task_counters *counters, pid_t tid, const struct counters_target *target);
struct error *bpf_task_counters_start(struct bpf_task_counters *counters);
/* To be told after the counters were enabled, and before they are disabled. */
void bpf_task_counters_set_running(struct bpf_task_counters *counters, bool running);
/* Adds what the tasks that run just now have used up to now. */
void bpf_task_counters_update(struct bpf_task_counters *counters);
/* The sum since the start; zero when it isn't there. */
void bpf_task_counters_read(struct bpf_task_counters *counters, uint32_t event, uint32_t cell, struct bpf_task_counters_value *ret);
/* New tasks that could not be followed, for lack of memory. */
uint32_t bpf_task_counters_unfollowed(const struct bpf_task_counters *counters);
/* Switches to or from tasks that the kernel didn't tell: what the tasks did around them isn't counted. */
uint32_t bpf_task_counters_missed(const struct bpf_task_counters *counters);

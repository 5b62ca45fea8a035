/* What is measured, by options -a -C -p -t -u: for record and stat. */
#pragma once

#include "app/options.h"
#include "capture/sampling.h"
#include "kernel/counter.h"
#include "kernel/proc.h"

#include <stdbool.h>

struct targets {
	const char *pids, *tids, *user, *cpus; /* as written; NULL = not given */
	bool system_wide;
};

/* The field is a struct targets. */
extern const struct option targets_group[];

static inline bool targets_are_tasks(const struct targets *targets)
{
	return targets->pids || targets->tids || targets->user;
}
static inline bool targets_are_cpus(const struct targets *targets)
{
	return targets->system_wide || targets->cpus;
}
/* Of ways to choose that exclude each other the more particular one stays, with a word; without any, and without a workload, it is
 * everything. */
void targets_settle(struct targets *targets, bool workload);
/* Adds the threads that the tasks have now. */
struct error *targets_find_threads(const struct targets *targets, struct pid_list *threads);

/* Where the counters of a command that samples are opened. All zero is nothing. */
struct targets_place {
	struct counter_target target; /* its arrays are those below */
	int *cpus, *measured;	      /* all; those of -C, or NULL */
	size_t cpu_count, measured_count;
	struct pid_list threads;
};
/* `sampling` says what is followed (by_cpu, per_thread, workload); `command` is the workload's process, or 0. To be released also after an
 * error. */
struct error *targets_place(const struct targets *targets, const struct sampling *sampling, pid_t command, struct targets_place *ret);
/* Frees the lists of CPUs and threads. */
void targets_place_deinit(struct targets_place *place);

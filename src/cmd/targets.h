/* What is measured, by options -a -C -p -t -u: for record and stat. */
#pragma once

#include "app/options.h"
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
/* Of ways to choose that exclude each other the more particular one stays, with a word; without any, and without a workload, it is everything. */
void targets_settle(struct targets *targets, bool workload);
/* Adds the threads that the tasks have now. */
struct error *targets_find_threads(const struct targets *targets, struct pid_list *threads);

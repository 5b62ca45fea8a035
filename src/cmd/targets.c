#include "cmd/targets.h"

#include "base/log.h"
#include "base/vec.h"
#include "kernel/hardware/cpus.h"

#include <stdlib.h>

#define O struct targets

const struct option targets_group[] = {
	OPTION_FLAG('a', "all-cpus", O, system_wide, "the whole system, on all CPUs (default without a command or target)"),
	OPTION_STRING('C', "cpu", O, cpus, "LIST", "all tasks on these CPUs, such as 0-3,7"),
	OPTION_STRING('p', "pid", O, pids, "PIDS", "existing processes with all their threads (comma-separated)"),
	OPTION_STRING('t', "tid", O, tids, "TIDS", "existing threads (comma-separated)"),
	OPTION_STRING('u', "uid", O, user, "USER", "all processes of this user, by name or number"),
	OPTION_END,
};

void targets_settle(struct targets *targets, bool workload)
{
	bool tasks = targets_are_tasks(targets);

	if (tasks && targets->cpus) {
		log_warning("-C is ignored with -p, -t and -u");
		targets->cpus = NULL;
	}
	if (tasks && targets->system_wide) {
		log_warning("-a is ignored with -p, -t and -u");
		targets->system_wide = false;
	}
	if ((targets->pids || targets->tids) && targets->user) {
		log_warning("-u is ignored with -p and -t");
		targets->user = NULL;
	}
	if (!workload && !tasks && !targets->cpus)
		targets->system_wide = true;
}

struct error *targets_find_threads(const struct targets *targets, struct pid_list *threads)
{
	struct error *error = targets->pids ? proc_parse_pids(targets->pids, false, threads) : NULL;
	uid_t uid;

	if (!error && targets->tids)
		error = proc_parse_pids(targets->tids, true, threads);
	if (error || !targets->user)
		return error;
	error = proc_parse_user(targets->user, &uid);
	return error ? error : proc_threads_of_user(uid, threads);
}

struct error *targets_place(const struct targets *targets, const struct sampling *sampling, pid_t command, struct targets_place *ret)
{
	static const int any_cpu = -1;
	static const pid_t any_thread = -1;
	struct counter_target *target = &ret->target;
	struct error *error = NULL;

	*ret = (struct targets_place){0};
	/* Programs that come to these CPUs later may be started on any. */
	if (targets->cpus)
		error = cpus_parse(targets->cpus, &ret->measured, &ret->measured_count);
	if (!sampling->per_thread)
		cpus_online(&ret->cpus, &ret->cpu_count);
	if (!error)
		error = targets_find_threads(targets, &ret->threads);
	if (error)
		return error;
	if (sampling->workload)
		vec_push(&ret->threads, command);
	*target = (struct counter_target){.cpus = &any_cpu, .cpu_count = 1, .threads = &any_thread, .thread_count = 1, .cgroup = -1};
	if (ret->cpus) {
		target->cpus = ret->cpus;
		target->cpu_count = ret->cpu_count;
		target->measured = ret->measured;
		target->measured_count = ret->measured_count;
	}
	if (!sampling->by_cpu) {
		target->threads = ret->threads.data;
		target->thread_count = ret->threads.len;
	}
	return NULL;
}

void targets_place_deinit(struct targets_place *place)
{
	vec_deinit(&place->threads);
	free(place->cpus);
	free(place->measured);
	*place = (struct targets_place){0};
}

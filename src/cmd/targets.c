#include "cmd/targets.h"

#include "base/log.h"

#define O struct targets

const struct option targets_group[] = {
	OPTION_FLAG('a', "all-cpus", O, system_wide, "everything, on all CPUs (also without a command or target)"),
	OPTION_STRING('C', "cpu", O, cpus, "LIST", "everything on these CPUs, such as 0-3,7"),
	OPTION_STRING('p', "pid", O, pids, "PIDS", "these processes, with all their threads (comma-separated)"),
	OPTION_STRING('t', "tid", O, tids, "TIDS", "these threads"),
	OPTION_STRING('u', "uid", O, user, "USER", "the processes of a user, by name or number"),
	OPTION_END,
};

void targets_settle(struct targets *targets, bool workload)
{
	bool tasks = targets_are_tasks(targets);

	if (tasks && targets->cpus) {
		log_warning("-p, -t and -u choose processes: -C is left aside");
		targets->cpus = NULL;
	}
	if (tasks && targets->system_wide) {
		log_warning("-p, -t and -u choose processes: -a is left aside");
		targets->system_wide = false;
	}
	if ((targets->pids || targets->tids) && targets->user) {
		log_warning("-p and -t choose processes: -u is left aside");
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

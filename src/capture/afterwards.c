/* A child that outlives us. It holds nothing of ours but the counters: nobody shall wait for the end of a pipe because of it. */
#include "capture/afterwards.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

bool afterwards_is_needed(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->attr.type == PERF_TYPE_TRACEPOINT)
			return true;
	return false;
}

/* Sleeps until the process that made us has ended and closed its descriptors: only then are ours the last ones, and closing them is what
 * takes long. */
static void outlive(pid_t parent)
{
	const struct timespec longest = {.tv_sec = 10};
	sigset_t ended;

	sigemptyset(&ended);
	sigaddset(&ended, SIGUSR1);
	sigprocmask(SIG_BLOCK, &ended, NULL);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	if (getppid() == parent)
		sigtimedwait(&ended, NULL, &longest);
}

void afterwards_leave(const struct counter_set *counters)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return;
	setsid();
	counters_keep_only(counters);
	if (chdir("/") < 0)
		_exit(1);
	outlive(parent);
	_exit(0);
}

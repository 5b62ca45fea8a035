/* Exit statuses of commands that run a program (ending.h). */
#include "app/ending.h"

#include "app/command.h"

#include <signal.h>
#include <sys/wait.h>

/* Which of the two signals ends us; 0 = none. */
static int ending_signal(enum ending ending, int of_program, bool exited, int signal)
{
	switch (ending) {
	case ENDING_RECORD:
		return of_program && signal != SIGHUP ? of_program : signal;
	case ENDING_STAT:
		return signal == SIGINT && exited ? 0 : signal;
	case ENDING_TRACE:
		return signal == SIGINT ? 0 : signal;
	}
	return 0;
}

int ending_status(enum ending ending, const struct workload *workload, int signal)
{
	bool ended = workload->pid && workload->waited;
	bool exited = ended && WIFEXITED(workload->status);
	int by = ending_signal(ending, ended && WIFSIGNALED(workload->status) ? WTERMSIG(workload->status) : 0, exited, signal);

	if (by)
		return COMMAND_ENDS_BY_SIGNAL + by;
	return exited && ending != ENDING_TRACE ? WEXITSTATUS(workload->status) : 0;
}

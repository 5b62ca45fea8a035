/* A program that is to be measured: started, held before its exec until everything is set up, released, and waited for. */
#pragma once

#include "base/error.h"
#include "kernel/proc.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct workload {
	pid_t pid;	     /* 0 = none */
	const char *program; /* as the command line has it */
	int release;	     /* pipe: a byte lets it go */
	int failure;	     /* pipe: errno of a failed exec */
	bool waited;
	int status;			 /* as of waitpid() */
	struct proc_scheduled scheduled; /* of its first thread, when it ended; all 0 = not known */
	struct rusage usage;		 /* of it and the children it waited for; valid when waited */
};

/* Forks the child and holds it. It has the signals as they are now: start it before blocking or ignoring any. Until released its name is
 * "perf-exec". `piped`: standard output carries our data, so the child's goes to standard error. */
struct error *workload_start(struct workload *workload, char *const *argv, bool piped);
/* Lets it exec. When that fails the error says why (of kind ERROR_SYSTEM). */
struct error *workload_release(struct workload *workload);
/* Ended? Never waits. */
bool workload_ended(struct workload *workload);
/* Asks it to end (SIGTERM) when it still runs, and waits. Does nothing without a workload. */
void workload_stop(struct workload *workload);
/* Stops it if it still runs, and closes what is left of the pipes. Results stay readable. */
void workload_deinit(struct workload *workload);

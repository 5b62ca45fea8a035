/* The exit status of a command that runs a program. It is the kernel's tool's for each command (6.1, measured):
 *
 *	                 the program's status n   a signal ends the program   Ctrl-C                   another signal ends us
 *	record           n                        by that signal              by the program's signal  by it (SIGHUP), or by the program's
 *	stat             n                        0                           n, or by SIGINT          by it
 *	trace, ftrace    0                        0                           0                        by it
 */
#pragma once

#include "kernel/workload.h"

enum ending {
	ENDING_RECORD,
	ENDING_STAT,
	ENDING_TRACE,
};

/* For *ret_status of a command's run(). `workload` may be one that was never started; when it was, it has ended. `signal` is the one that
 * ended us, or 0. */
int ending_status(enum ending ending, const struct workload *workload, int signal);

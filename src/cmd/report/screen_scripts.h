/* Scripts that a screen runs on its recording. The screen is in the sandbox and may start no programs, so a process that was forked before
 * does: it is asked for one of the scripts that it knows, and for a filter of samples, and gives back what was printed. */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

struct script_runner {
	VEC(char *) names; /* what can be run: perf script itself is number 0, the others are ready-made scripts */
	int process, requests, answers;
};

/* Only samples of this; NULL = any. */
struct script_choice {
	const char *comm, *dso, *tid;
	const char *time, *cpu; /* as --time and --cpu take them: digits, points, commas */
};

/* `recording`: its path. NULL when no process can be started. */
struct script_runner *script_runner_prepare(const char *recording);
/* NULL is fine. */
void script_runner_end(struct script_runner *runner);
/* What the script prints, and what it complains of; cut off after some megabytes. False: the process has gone, or a name in the filter
 * is none that a script could be given (with a comma or "://", or very long). */
bool script_runner_run(struct script_runner *runner, size_t number, const struct script_choice *filter, struct strbuf *output);

/* Scripts that a screen runs on its recording. The screen is in the sandbox and may start no programs, so a process that was forked before
 * does: it is asked for one of the scripts that it knows, and for a filter of samples, and gives back what was printed. */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

struct report_options;
/* What can be chosen of a recording, each by an option of perf script; times and CPUs as digits, points and commas. */
enum { CHOICE_COMM, CHOICE_DSO, CHOICE_TID, CHOICE_TIME, CHOICE_CPU, CHOICE_FIELDS };

struct script_runner {
	VEC(char *) names;	     /* what can be run: perf script itself is number 0, the others are ready-made scripts */
	VEC(char *) words;	     /* options that all of them get, as the report has them */
	char *fields[CHOICE_FIELDS]; /* of the same, what a struct script_choice replaces; or NULL */
	struct strbuf left_out;	     /* options of the report that scripts don't have */
	int process, requests, answers;
};

/* Only samples of this; NULL = as the report's options say. */
struct script_choice {
	const char *fields[CHOICE_FIELDS];
};

/* For the recording options->input.input. NULL when no process can be started. */
struct script_runner *script_runner_prepare(const struct report_options *options);
/* NULL is fine. */
void script_runner_end(struct script_runner *runner);
/* Starts a script; `answers` can be read when it has ended. False: the process has gone, or a name in the filter is none that a script
 * could be given (with a comma or "://", or very long). */
bool script_runner_begin(struct script_runner *runner, size_t number, const struct script_choice *filter);
/* Asks it and all that it has started to end; the second time it is killed. */
void script_runner_stop(struct script_runner *runner);
/* What it has printed, what it complained of, and how it ended if that wasn't well; cut off after some megabytes. False: the process has
 * gone. */
bool script_runner_finish(struct script_runner *runner, struct strbuf *output);

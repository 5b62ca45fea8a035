/* `perf script -s`: the recording is handed to a script, event by event. */
#pragma once

#include "cmd/script/script.h"

/* -g: writes a skeleton for the recording's tracepoints to perf-script.SUFFIX in the current folder. */
struct error *script_generate(const struct script_options *options, const struct opening *opening);
/* Runs the script that the options name. *ret_status is what it wants to end with. */
struct error *script_run_language(const struct script_options *options, struct opening *opening, int *ret_status);

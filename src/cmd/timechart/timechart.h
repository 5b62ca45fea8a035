/* Parts of perf timechart. */
#pragma once

#include "app/options.h"
#include "base/error.h"

#include <stdbool.h>

/* Letters of `perf timechart record` that stand anywhere before the command to run. */
struct timechart_recorded {
	bool power_only, tasks_only, io_only, stacks;
};

extern const struct option timechart_record_table[];
/* Takes such letters from argv[1…] on, up to the first word that is none; returns where that is. */
int timechart_take_letters(int argc, char **argv, struct timechart_recorded *wanted);
/* Runs `perf record` for what is asked for; argv[0] is the word before the options, which may be more of those above, or record's. */
struct error *timechart_record(struct timechart_recorded *wanted, int argc, char **argv, int *ret_status);

/* Waits added up by stack: a fold of sched_switch events whose periods are the nanoseconds that their threads were off the CPU;
 * with `wakers` of the sched_waking events that ended these waits. */
#pragma once

#include "analysis/report/fold.h"
#include "analysis/sched/off_cpu.h"

struct off_cpu_sums {
	uint64_t waits, total_ns;     /* all that the options choose, also those that the fold does not accept */
	uint64_t unwoken, unwoken_ns; /* with `wakers`: waits that no thread ended; they are in no row */
	struct off_cpu_losses losses;
};

/* Reads what is left of the fold's session, adds the waits, and finishes the fold, also after an error: that the recording has no
 * sched_switch events is one. The fold must copy or drop records (FOLD_RECORDS_…). */
struct error *off_cpu_fold(const struct off_cpu_options *options, struct fold *fold, struct off_cpu_sums *ret_sums);

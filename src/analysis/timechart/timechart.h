/* Makes a timechart (result/timechart.h) of a recording of scheduler and power events, or of system calls that move data.
 *
 *	sched_switch ──── runs ────► sched_switch ─── blocked ───► sched_wakeup ─── waits ───► sched_switch
 *
 * Rules are those of the kernel's tool, so that its figures come out: a thread under a new name counts from when it next comes to a CPU; an
 * interruptible sleep is no span. */
#pragma once

#include "base/error.h"
#include "result/timechart.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timechart_options {
	const char *const *only; /* names and tids: rows of these alone; NULL = the busiest */
	size_t only_count;
	uint64_t least_rows; /* so many are shown when there are so many; 0 = none */
	bool topology;	     /* CPUs that share a core side by side */
	uint64_t least_ns;   /* shorter system calls are drawn as long as that */
	uint64_t merge_ns;   /* those of one file that follow one another so closely are one span */
};

/* Reads the session, which is streaming, to its end. An error when the recording has no events of a timechart. */
struct error *timechart_create(struct session *session, struct resolver *resolver, const struct timechart_options *options,
			       struct timechart **ret);
void timechart_destroy(struct timechart *chart);

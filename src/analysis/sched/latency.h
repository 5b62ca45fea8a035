/* How long tasks waited for a CPU when they could have run: from the wake-up, or from being preempted, until they were switched in.
 *
 *	sched_switch(prev: S) ─── sleeps ───► sched_waking ─── delay ───► sched_switch(next) ─── runs ───►
 *	sched_switch(prev: R) ──────────────── delay ──────────────────► sched_switch(next)
 *
 * The rules are those of the kernel's tool, so that its figures come out. */
#pragma once

#include "analysis/sched/scope.h"
#include "base/error.h"
#include "session/session.h"

#include <stdbool.h>
#include <stdint.h>

struct sched_latency_row {
	const struct thread *thread;
	const struct untrusted *comm; /* its last name */
	uint32_t tasks;		      /* of this name, with `merge`; else 1 */
	uint64_t runtime;	      /* ns, from sched_stat_runtime */
	uint64_t count;		      /* of delays */
	uint64_t delay, max_delay;    /* ns, in total and the longest */
	uint64_t max_begin, max_end;  /* times of the longest */
};

struct sched_latency {
	struct sched_latency_row *rows; /* sorted; without the idle tasks and those that never waited */
	size_t row_count;
	uint64_t runtime, count; /* of all rows */
	uint64_t checked, wrong; /* switches between tasks, and those that didn't come from the task that ran */
	uint64_t unordered;	 /* wake-ups before the task had left the CPU */
};

struct sched_latency_options {
	const char *sort;	  /* "avg,max,switch,runtime", "pid"; NULL = that order */
	bool merge;		  /* tasks of one name are one row */
	struct sched_scope scope; /* of the switches that end delays, and of runtimes */
};

/* Reads the session to its end. An error of kind ERROR_USAGE for an unknown key of `sort`. */
struct error *sched_latency_create(struct session *session, const struct sched_latency_options *options, struct sched_latency **ret);
void sched_latency_destroy(struct sched_latency *latency);

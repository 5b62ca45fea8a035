/* The history of the scheduler, line by line: who left a CPU when, how long it had waited before and run then; wake-ups and migrations;
 * sums by task.
 *
 *	last switch-out ──── wait ────►│ switch-in ──── run ────► switch-out: the line
 *	            wake-up ── delay ─►│
 *
 * Rules and figures are those of the kernel's tool. */
#pragma once

#include "analysis/counting/statistics.h"
#include "analysis/sched/scope.h"
#include "analysis/sched/tasks.h"
#include "base/error.h"
#include "base/untrusted.h"
#include "session/session.h"

#include <stdbool.h>
#include <stdint.h>

struct tracker_event;

enum sched_line_kind { SCHED_LINE_SWITCH, SCHED_LINE_WAKEUP, SCHED_LINE_MIGRATION };

struct sched_line {
	enum sched_line_kind kind;
	uint64_t time; /* ns */
	uint32_t cpu;
	const struct thread *thread; /* who left the CPU; who woke or moved another */
	const struct untrusted *comm;
	bool idle; /* the CPU's idle task */
	/* SCHED_LINE_SWITCH */
	uint64_t wait, delay, run;	  /* ns */
	uint64_t before_migration;	  /* ns; the part of `delay` on CPUs from which it was moved away again */
	char state;			  /* sched_state_letter() */
	int64_t first_priority, priority; /* when it came to the CPU (when unknown the same), and when it left */
	uint32_t next_tid;
	/* the others: who was woken or moved */
	const struct thread *other;
	const struct untrusted *other_comm;
	uint32_t from_cpu, to_cpu;
	const struct tracker_event *event;
};

/* SCHED_LINE_SWITCH: the name of who came next, without a NUL: as long as *ret_len. */
const struct untrusted *sched_line_next_comm(const struct sched_line *line, size_t *ret_len);

/* Sums of one task; of an idle task, of one CPU. */
struct sched_times {
	struct sched_task task;
	const struct untrusted *comm;		/* its last name */
	struct statistics runs;			/* ns */
	uint64_t run, shortest, longest;	/* ns */
	uint64_t sleep, iowait, preempt, delay; /* ns; waits by the state in which the task had left the CPU */
	uint64_t migrations;
	/* Of the tracker: */
	uint64_t left, ready; /* when it left a CPU and when it became runnable; 0 = unknown */
	uint64_t moved;	      /* when it was moved to another CPU last */
	char left_as;
	bool has_priority;
	int64_t priority; /* when it was switched in last */
};

struct sched_timehist_options {
	const uint32_t *pids, *tids; /* only these; count 0 = all */
	size_t pid_count, tid_count;
	struct sched_scope scope;
	const uint64_t *priorities; /* bitmap of the 140 that there are, or NULL */
	bool wakeups, migrations;   /* lines of these, too */
	bool sums;		    /* … of each task are asked for: else none of `runs`, `run`, … is known */
	/* Lines only of idle CPUs of which it is known who left them; a task's runs are then the idle times that followed when it left a
	 * CPU. */
	bool idle_only;
	/* Told of each line; NULL = only sums. */
	void (*line)(void *context, const struct sched_line *line);
	void *context;
};

struct sched_timehist {
	struct sched_tasks tasks;     /* of struct sched_times */
	VEC(struct sched_times) idle; /* by CPU */
	uint64_t begin, end;	      /* what was seen of the recording */
	uint64_t switches;	      /* that were wanted */
};

struct error *sched_timehist_create(struct session *session, const struct sched_timehist_options *options, struct sched_timehist **ret);
/* Whether the options choose the thread, by its numbers. */
bool sched_timehist_wants(const struct sched_timehist_options *options, const struct thread *thread);
void sched_timehist_destroy(struct sched_timehist *timehist);

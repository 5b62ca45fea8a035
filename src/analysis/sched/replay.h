/* What the tasks of a recording did, as a pattern that threads can repeat: each task ran, woke others, and slept until it was woken.
 *
 *	alpha   run 2 ms ── wake beta ── run 1 ms ── sleep ──────────── run …
 *	beta            sleep ──────────┘ run 3 ms ── wake alpha ──┘
 *
 * The idle task of each CPU is a task as well, which waits instead of running: interrupts wake others in its time. */
#pragma once

#include "analysis/sched/tasks.h"
#include "base/error.h"
#include "base/untrusted.h"
#include "session/session.h"

#include <stdbool.h>
#include <stdint.h>

enum sched_step_kind {
	SCHED_STEP_RUN,	  /* `ns`; an idle task waits so long */
	SCHED_STEP_SLEEP, /* until the wake-up with the number `wakeup` */
	SCHED_STEP_WAKE,  /* the one that waits for the number `wakeup` */
};

struct sched_step {
	enum sched_step_kind kind;
	union {
		uint64_t ns;
		uint32_t wakeup;
	};
};

struct sched_actor {
	struct sched_task head;	      /* thread NULL of an idle task; tid is its CPU then */
	const struct untrusted *comm; /* its last name; "swapper" of an idle task */
	VEC(struct sched_step) steps;
	uint64_t since; /* running: what is before is in `steps`; 0 = it does not run */
	bool asleep;	/* and nobody has woken it up yet */
	bool idle;
};

struct sched_replay {
	struct sched_tasks tasks;	 /* of struct sched_actor */
	VEC(struct sched_actor *) idle;	 /* by CPU; entries may be NULL */
	VEC(struct sched_actor *) all;	 /* those with steps */
	uint32_t wakeups;		 /* numbers that steps have */
	uint64_t runs, sleeps, switches; /* steps; sched_switch events */
};

/* Reads the session to its end. An error when it has no sched_switch events. */
struct error *sched_replay_create(struct session *session, struct sched_replay **ret);
void sched_replay_destroy(struct sched_replay *replay);

/* Off-CPU time: how long threads were away from a CPU, each time from the sched_switch event in which they left it until they came back.
 *
 *	thread 7    ──runs──┤ sched_switch (7 → 0), with its stack      ├──runs──
 *	                    └────────────── duration ───────────────────┘
 *	                                        sched_switch (… → 7), or a SWITCH record of thread 7
 *
 * Counters of whole CPUs see the thread that comes back in the event of the one that leaves. Counters of single threads see only the events
 * of those: there SWITCH records (record --switch-events) tell of the return.
 *
 * The state in which a thread leaves says why: R (runnable, it has lost the CPU to another one), S or D (it sleeps until something wakes it
 * up), see include/linux/sched.h. The time after a wake-up until the thread gets a CPU belongs to its wait. */
#pragma once

#include "analysis/sched/scope.h"
#include "session/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bits of prev_state of threads that sleep, have stopped or end; those above say that it was preempted. */
enum { OFF_CPU_ASLEEP = 0xff };

struct off_cpu_options {
	uint64_t min_ns, max_ns; /* only waits that last so long; both inclusive */
	bool by_state;		 /* only those that begin in one of `states` */
	uint64_t states;	 /* bits of prev_state, of OFF_CPU_ASLEEP; 0 = runnable */
	bool user_only;		 /* only waits whose stack has a user part, which those of kernel threads don't have … */
	bool kernel_only;	 /* … or only those without one */
	bool wakers;		 /* the thread that ended a wait is looked for, by sched_waking events of all CPUs … */
	const uint32_t *pids;	 /* … and with CPUs watched for that, only waits of these processes or threads … */
	size_t pid_count;
	uint32_t root;		  /* … or of this process and what it has started; 0 = no such choice */
	struct sched_scope scope; /* only waits for which a thread left one of these CPUs, and their part within the times */
};

/* A wait that has ended; valid during the call. */
struct off_cpu_wait {
	const struct thread *thread;
	const struct record *left; /* the sched_switch event as delivered, with a copy of its record */
	const struct record
		*woken; /* with `wakers`: the sched_waking event that ended it, likewise; NULL = an interrupt, or none was seen */
	const struct thread *waker; /* … whose it is */
	uint64_t duration_ns;	    /* of its part in the scope */
};

struct off_cpu;

/* `handle` is called for each wait when it ends, from off_cpu_take(). The session must be read in the order of time. */
struct off_cpu *off_cpu_create(struct session *session, const struct off_cpu_options *options,
			       void (*handle)(void *context, const struct off_cpu_wait *wait), void *context);
void off_cpu_destroy(struct off_cpu *off_cpu);
/* A record that session_next() gave; of any type. */
void off_cpu_take(struct off_cpu *off_cpu, const struct record *record);
/* After the last record: an error when there were no sched_switch events, which names the command that records them. */
struct error *off_cpu_require(const struct off_cpu *off_cpu);
/* Waits that are in no sum. */
struct off_cpu_losses {
	size_t waiting;	  /* threads that have left the CPU and not come back */
	uint64_t endless; /* waits of threads that left the CPU again without having come back: an event was lost */
};
struct off_cpu_losses off_cpu_losses(const struct off_cpu *off_cpu);

/* Who used the CPUs, and how much of that time went to interrupts.
 *
 *	thread 7   ──runs──┤ irq ├──runs──┤ softirq ├──runs──► sched_switch
 *
 * A thread's time is what it had the CPU for, without the interrupts that came meanwhile; that of an idle task is what was left over. A
 * thread that leaves a CPU in the first switch there has had it since the recording began; the last one has it until the end. */
#pragma once

#include "analysis/sched/scope.h"
#include "analysis/sched/tasks.h"
#include "base/error.h"
#include "session/session.h"

#include <stdbool.h>
#include <stdint.h>

struct kwork_task {
	struct sched_task task; /* of idle tasks the thread is NULL */
	uint32_t cpu;		/* of idle tasks */
	const struct untrusted *comm;
	uint64_t runtime; /* ns */
};

struct kwork_cpu {
	uint64_t idle, hard, soft; /* ns; hard interrupts in soft ones are hard */
	/* Of the tracker: */
	struct kwork_task *running;
	uint64_t since, hard_since, soft_since; /* 0 = not now */
	uint64_t taken, taken_soft;		/* by interrupts since `since`; by hard ones since `soft_since` */
	struct kwork_task idle_task;
	bool seen;
};

struct kwork_top {
	struct sched_tasks tasks;     /* of struct kwork_task */
	VEC(struct kwork_cpu *) cpus; /* by number; NULL = nothing happened there */
	uint64_t begin, end;
};

struct kwork_top_options {
	struct sched_scope scope;
	bool hard, soft; /* interrupts whose time is told apart; else it is the thread's that they came to */
};

/* Reads the session, not a streaming one, to its end. */
struct error *kwork_top_create(struct session *session, const struct kwork_top_options *options, struct kwork_top **ret);
void kwork_top_destroy(struct kwork_top *top);

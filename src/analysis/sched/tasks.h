/* The tasks of a recording of scheduler events: a state for each thread that an event names, found by the thread's id and the time. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/machine.h"

#include <stddef.h>
#include <stdint.h>

/* What each state begins with. */
struct sched_task {
	const struct thread *thread;
	uint32_t tid;
};

enum { SCHED_TASKS_RECENT = 1024 }; /* a power of two */

struct sched_tasks {
	struct machine *machine;
	size_t size; /* of a state */
	struct arena arena;
	struct map64 by_thread;	      /* struct thread * → state */
	VEC(struct sched_task *) all; /* in the order in which they were met */
	/* By tid, those that were asked for last: the same few threads come again and again. */
	struct sched_task *recent[SCHED_TASKS_RECENT];
};

/* `size`: of a structure whose first member is a struct sched_task. */
void sched_tasks_init(struct sched_tasks *tasks, struct machine *machine, size_t size);
void sched_tasks_deinit(struct sched_tasks *tasks);
/* The state of the thread that has this id at `time` of the model; valid until sched_tasks_deinit(). It is all zero, but for the head, when
 * the thread is met for the first time (*ret_new, which may be NULL). Whoever has the id later has another state. */
void *sched_tasks_get(struct sched_tasks *tasks, uint32_t tid, uint64_t time, bool *ret_new);

/* The state in a sched_switch event as a letter, R for a task that was preempted, as the kernel's tool prints it (prev_state: bits of
 * include/linux/sched.h, the lowest counts). */
char sched_state_letter(uint64_t prev_state);

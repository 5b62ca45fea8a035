/* What each thread did, over time: when it ran, when it waited and at which place, who woke it up and who had the CPU meanwhile.
 *
 *	         begin            woken      end
 *	──runs────┤ sched_switch    │          ├──runs──
 *	          └──── blocked ────┴─ queue ──┘
 *	                            sched_waking by `waker`
 *
 * Made from sched:sched_switch with stacks, sched:sched_waking, SWITCH, FORK, COMM and EXIT records, and samples of a clock for what
 * runs. */
#pragma once

#include "analysis/sched/tasks.h"
#include "analysis/where/object.h"
#include "base/error.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times are the recording's, in nanoseconds. */
struct where_wait {
	uint64_t begin, woken, end; /* it got a CPU at `end`; begin == woken: it could have run all the time */
	const struct where_place *place;
	const char *object;	    /* what it waits for: where_object_of(); or NULL */
	struct where_thread *waker; /* NULL = an interrupt, or not known */
	bool is_held;		    /* it has not ended: `waker` has what is waited for */
	struct where_thread *taker; /* who had the CPU longest while it could have run; NULL = nobody, or not known */
	uint32_t device, below;	    /* block devices as block events have them: asked, and the lowest that answered last; 0 = none */
};

struct where_sample {
	uint64_t time;
	const struct where_place *place;
};

struct where_thread {
	struct sched_task task;
	struct where_thread *parent; /* who has started it; NULL = it was there before */
	uint64_t born, ended;	     /* 0 = before the first event; UINT64_MAX = not yet */
	bool is_chosen;		     /* one of those that were asked for */
	bool is_kernel;		     /* a thread of the kernel */
	bool was_on;		     /* it ran at some time: there is something to tell of it */
	bool away;
	struct where_wait open;		/* while away … */
	uint64_t argument;		/* … of the system call; 0 = none is known */
	bool was_looked_at;		/* … by options->look */
	const struct where_place *part; /* … with sampled stacks: the place of its first event, … */
	bool has_copy;			/* … and whether one of them had a copy */
	uint64_t endless; /* waits whose end was not recorded: they last until the wake-up, or until the thread left the CPU again */
	VEC(struct where_wait) waits; /* that have ended, in the order of time; at the end also those that have not, until then */
	VEC(struct where_sample) samples;
};

/* Who wakes a thread up. */
struct where_waking {
	uint64_t time;	   /* 0 = nobody that is known of */
	uint32_t pid, tid; /* what ran meanwhile */
	bool in_hardirq, in_softirq;
};

/* A switch that a program reports. */
struct where_switch {
	uint64_t time;
	uint64_t known;		      /* when its stack had been told of: in the order of this one it comes */
	uint32_t cpu, previous, next; /* threads; 0 = the CPU idles */
	bool goes_on;		      /* `previous` could have gone on */
	bool is_waking;		      /* no switch: `next` was woken, and has come back since then without a word */
	struct where_waking waking;   /* of `next` */
	uint64_t stack;		      /* number of the stack of `previous`, or of its part in the kernel; 0 = not known */
	uint64_t argument;	      /* of its system call */
	uint64_t ip;		      /* in its program; 0 = it has none */
};

/* A stack that a sample tells of. */
struct where_told_stack {
	uint64_t number, ip;
	const void *kernel; /* addresses of a part in the kernel, innermost first; none: the sample has the stack */
	size_t kernel_count;
};

struct where_options {
	uint32_t root;	      /* the workload's process; 0 = find a command that perf record started, or else everything */
	const uint32_t *pids; /* chosen processes, or NULL */
	size_t pid_count;
	bool sampled_stacks; /* each switch has an event with the kernel's part of its stack, and some have one with a copy of the rest */
	bool is_whole;	     /* all processes: no command is looked for */
	uint32_t own;	     /* a process that is not of interest: the one that measures; 0 = none */
	/* Threads that were asleep when measuring began, by number. */
	const struct where_asleep *asleep;
	size_t asleep_count;
	/* A thread that sleeps now. The strings are valid until the next call. May be NULL, as the next four. */
	bool (*look)(void *context, uint32_t pid, uint32_t tid, struct where_asleep *ret);
	/* The thread that has the mutex at the address, or that is joined there; 0 = not known. */
	uint32_t (*find_holder)(void *context, uint32_t pid, uint64_t address, bool is_join);
	/* See struct where_objects. */
	void (*name_descriptor)(void *context, uint32_t pid, int descriptor, struct strbuf *out);
	/* With a program that reports switches, instead of scheduler events: the next one before a time; UINT64_MAX: the measurement has
	 * ended. False = there is none. */
	bool (*next_switch)(void *context, uint64_t until, struct where_switch *ret);
	/* … and what its samples (bpf-output) tell; false = nothing. */
	bool (*read_stack)(const struct sample *sample, struct where_told_stack *ret);
	/* Called now and then while a live session is read; may be NULL. */
	void (*tick)(void *context);
	void *tick_context;
};

struct where_timeline {
	struct where_places places;
	struct where_objects objects;
	struct sched_tasks tasks;  /* of struct where_thread */
	struct where_thread *root; /* the workload's main thread; NULL = there is none */
	bool is_of_processes;	   /* certain ones were asked for */
	bool has_stacks;	   /* events that tell where threads left the CPU */
	uint64_t begin, end;	   /* of what is told: the workload's exec and its end, or the first and the last event */
};

/* Reads the session, streaming, to its end. */
struct error *where_timeline_read(struct session *session, struct resolver *resolver, const struct where_options *options,
				  struct where_timeline *ret);
void where_timeline_deinit(struct where_timeline *timeline);

static inline struct where_thread *where_thread(const struct where_timeline *timeline, size_t index)
{
	return (struct where_thread *)timeline->tasks.all.data[index];
}
/* The last wait that nothing has ended but what ended the thread: somebody had what it waited for. Or NULL. */
const struct where_wait *where_held_wait(const struct where_thread *thread);
/* A thread that waits so for a mutex of a thread that waits for one of another …, which leads back to it; NULL = there is none. */
const struct where_thread *where_find_deadlock(const struct where_timeline *timeline);
/* Its number of waits that begin before `time`. */
size_t where_waits_before(const struct where_thread *thread, uint64_t time);

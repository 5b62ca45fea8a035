/* System calls under way: what threads have entered, joined with their exits to whole calls, and which calls last.
 *
 * To be told in the order of time. */
#pragma once

#include "analysis/syscalls/syscall.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* A call that has taken so long lasts. */
enum { OPEN_CALL_LASTS_NS = 100000 };

struct calling_thread {
	uint32_t pid, tid;
	const struct untrusted *comm; /* the caller's */
	bool in_call;
	bool told;	/* the caller's; cleared when a call begins */
	bool end_shown; /* the caller's */
	uint16_t number;
	uint64_t entered;
	uint64_t arguments[SYSCALL_ARGUMENTS];
};

/* A call that has begun; stale when its thread is in another one. */
struct open_call {
	struct calling_thread *thread;
	uint64_t entered;
};

/* All zero is nothing. */
struct open_calls {
	struct map64 threads;	     /* tid → struct calling_thread * */
	VEC(struct open_call) begun; /* in the order of time … */
	size_t first;		     /* … from here on */
};

void open_calls_deinit(struct open_calls *calls);
/* A new one is all zero but for its tid. Threads stay where they are until they are forgotten. */
struct calling_thread *open_calls_thread(struct open_calls *calls, uint32_t tid);
/* NULL when there is none yet. */
struct calling_thread *open_calls_find(const struct open_calls *calls, uint32_t tid);
/* The thread enters a call with the arguments that it has. `listed`: open_calls_next_lasting() is to return it. */
void open_calls_begin(struct open_calls *calls, struct calling_thread *thread, unsigned int number, uint64_t time, bool listed);
/* The thread's call as far as it is known at its entry. */
void open_calls_fill(const struct calling_thread *thread, const struct syscall_description *description, struct syscall *ret);
/* The thread returned at `time` from call `number`. False when its entry wasn't seen: then time and duration are 0. */
bool open_calls_end(struct calling_thread *thread, unsigned int number, const struct syscall_description *description, uint64_t time,
		    int64_t result, struct syscall *ret);
/* A thread that is in a call that lasts at `time`, each call once; then NULL. */
struct calling_thread *open_calls_next_lasting(struct open_calls *calls, uint64_t time);
/* Frees the threads that are in no call and for which gone() is true; the names of the others become NULL. */
void open_calls_forget(struct open_calls *calls, bool (*gone)(void *context, const struct calling_thread *thread), void *context);

/* Waits for kernel locks: how often threads had to wait for one and how long, added up by who waited where.
 *
 *	thread 7   ──runs──┤ contention_begin (lock, kind), with its stack   ├── contention_end (lock) ──
 *	                   └──────────────────── a wait ────────────────────┘
 *
 * A mutex announces its waiting again when it goes to sleep after having spun: the wait is one, from the first of them. A wait belongs to
 * the stack and the filters of its beginning. What has begun and not ended counts as contended, with no time.
 *
 * Which function a wait is shown with follows the kernel's tool: of the stack's first `max_stack` frames, behind the first `stack_skip`,
 * the first that is no lock function, by the kernel's sections .sched.text and .spinlock.text. Stacks that agree from there on, without
 * their lock functions, are one row. */
#pragma once

#include "analysis/lock/types.h"
#include "base/error.h"
#include "base/untrusted.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lock_by { LOCK_BY_CALLER, LOCK_BY_THREAD, LOCK_BY_ADDRESS, LOCK_BY_CGROUP };

/* All strings and arrays live as long as the analysis. */
struct lock_options {
	enum lock_by by;
	unsigned int stack_skip, max_stack; /* frames */
	struct lock_types types;
	/* Locks, by address or by the symbol at it; none = all. */
	const uint64_t *addresses;
	size_t address_count;
	const char *const *names;
	size_t name_count;
	/* A function whose name has one of these in it is on the stack; none = all. */
	const char *const *functions;
	size_t function_count;
	/* Paths of cgroups, in or below one of which the thread is; none = all. */
	const char *const *cgroups;
	size_t cgroup_count;
	const uint64_t *cpus; /* bitmap of `cpu_words`: CPUs on which waits begin; NULL = all */
	size_t cpu_words;
};

struct lock_frame {
	uint64_t ip;
	const char *name; /* "schedule+0x23", "" without a symbol; unsafe bytes still in it */
};

/* Times in nanoseconds. */
struct lock_row {
	const struct thread *thread; /* LOCK_BY_THREAD: who waits; else NULL */
	uint64_t cgroup;	     /* LOCK_BY_CGROUP: id of machine_cgroup() */
	/* Of the row's first wait: */
	uint64_t address;
	uint64_t flags;
	const char *caller; /* "vm_mmap_pgoff+0xe0"; "Unknown" without a symbol; unsafe bytes still in it */
	const char *symbol; /* the lock's, or "" */
	const struct lock_frame *stack;
	size_t stack_len;

	uint64_t contended; /* waits that began */
	uint64_t acquired;  /* … and ended */
	uint64_t total, max;
	uint64_t min; /* 0 = none has ended */
};

enum lock_value { LOCK_ACQUIRED, LOCK_CONTENDED, LOCK_AVERAGE, LOCK_TOTAL, LOCK_MAX, LOCK_MIN };
uint64_t lock_row_value(const struct lock_row *row, enum lock_value which);

struct lock_contention;

/* The session must be read in the order of time. */
struct lock_contention *lock_contention_create(struct session *session, struct resolver *resolver, const struct lock_options *options);
void lock_contention_destroy(struct lock_contention *contention);
/* A record that session_next() gave; of any type. */
void lock_contention_take(struct lock_contention *contention, const struct record *record);
/* After the last record: an error when there were no events of waiting, or none with the cgroups that the options ask for, which names the
 * command that records them. */
struct error *lock_contention_require(const struct lock_contention *contention);
/* Rows of one caller's name become one. */
void lock_contention_combine(struct lock_contention *contention);
/* The greatest come first; among equals those whose first wait began earlier. */
void lock_contention_sort(struct lock_contention *contention, enum lock_value by);

/* Valid until lock_contention_destroy(). */
const struct lock_row *const *lock_contention_rows(const struct lock_contention *contention, size_t *ret_count);

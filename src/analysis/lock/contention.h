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

#include "analysis/lock/rows.h"
#include "analysis/lock/types.h"
#include "base/arena.h"
#include "base/error.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracker_event;

enum lock_by { LOCK_BY_CALLER, LOCK_BY_THREAD, LOCK_BY_ADDRESS, LOCK_BY_CGROUP, LOCK_BY_OWNER };

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

/* Parts of what the options choose. A wait that begins with this event, by CPU, type and cgroup; */
bool lock_is_chosen_wait(const struct lock_options *options, const struct machine *machine, const struct tracker_event *event,
			 uint64_t flags);
/* a lock; `name` of the symbol at it, or NULL; */
bool lock_is_chosen_lock(const struct lock_options *options, uint64_t address, const char *name);
/* a function by its name: false when none is asked for. */
bool lock_is_chosen_function(const struct lock_options *options, const char *name);
/* "name+0x12", in the arena; "" without a symbol. */
const char *lock_name_frame(struct arena *arena, const struct frame *frame);

struct lock_contention;

/* The session must be read in the order of time. */
struct lock_contention *lock_contention_create(struct session *session, struct resolver *resolver, const struct lock_options *options);
void lock_contention_destroy(struct lock_contention *contention);
/* All that is left of the session, to its end. */
struct error *lock_contention_run(struct lock_contention *contention);
/* Or, where others look at it as well, record by record. A record that session_next() gave; of any type. */
void lock_contention_take(struct lock_contention *contention, const struct record *record);
/* After the last record: an error when there were no events of waiting, or none with the cgroups that the options ask for, which names the
 * command that records them. */
struct error *lock_contention_require(const struct lock_contention *contention);
/* Valid until lock_contention_destroy(). */
struct lock_rows *lock_contention_rows(struct lock_contention *contention);

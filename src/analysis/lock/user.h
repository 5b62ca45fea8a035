/* Waits for locks of programs: for mutexes, conditions and whatever else waits in the system call futex, by who called, by thread, by lock
 * or by who had it.
 *
 *	thread 7  ──runs──┤ futex(lock, FUTEX_WAIT), with its stack            ├── sys_exit_futex ──
 *	                  └────────────────────── a wait ───────────────────────┘
 *	thread 8  ═══════════════ has the lock ═══════════╡ futex(lock, FUTEX_WAKE) ─► sched_waking of 7
 *
 * Who lets a waiter go on is the lock's owner: it wakes it up when it releases the lock. Its stack is that of its own call of futex. A wait
 * that ends by a timeout or a signal has no owner. A call that returns at once, since the lock was free by then (EAGAIN), is no wait.
 *
 * The names of the C library's functions on the stack tell of what kind a lock is. The function that a wait is shown with is the first one
 * outside of the C library. */
#pragma once

#include "analysis/lock/contention.h"

struct lock_user;

/* Of `options` stack_skip has no meaning here. The session must be read in the order of time. */
struct lock_user *lock_user_create(struct session *session, struct resolver *resolver, const struct lock_options *options);
void lock_user_destroy(struct lock_user *user);
/* A record that session_next() gave; of any type. */
void lock_user_take(struct lock_user *user, const struct record *record);
/* After the last record: an error when the recording lacks events, or cgroups that the options ask for. */
struct error *lock_user_require(const struct lock_user *user);
/* After the last record. Valid until lock_user_destroy(). */
struct lock_rows *lock_user_rows(struct lock_user *user);

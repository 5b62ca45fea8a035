/* What kernels with CONFIG_LOCKDEP tell of their locks: each time that one is wanted, got and released, also when nobody waits.
 *
 *	lock_acquire ──► lock_acquired ──► lock_release          it was free
 *	lock_acquire ──► lock_contended ──► lock_acquired ──► …  the wait is from lock_contended on
 *	lock_acquire (trylock or read) ──► lock_release          it is got at once
 *
 * What comes before the first lock_acquire of a thread and a lock is left out, and so is a sequence in another order, up to the next
 * lock_acquire. */
#pragma once

#include "analysis/lock/rows.h"
#include "session/session.h"

#include <stdbool.h>

struct lockdep;

/* Rows are about locks, or about threads. The session must be read in the order of time. */
struct lockdep *lockdep_create(struct session *session, bool by_thread);
void lockdep_destroy(struct lockdep *lockdep);
/* All that is left of the session, to its end. */
struct error *lockdep_run(struct lockdep *lockdep);
/* Or, where others look at it as well, record by record. A record that session_next() gave; of any type. */
void lockdep_take(struct lockdep *lockdep, const struct record *record);
/* Whether the recording has such events; of a stream after the last record. */
bool lockdep_has_events(const struct lockdep *lockdep);
/* Valid until lockdep_destroy(). */
struct lock_rows *lockdep_rows(struct lockdep *lockdep);

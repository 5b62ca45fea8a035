/* The tracker of lock_acquire and its kin (lockdep.h). */
#include "analysis/lock/lockdep.h"

#include "analysis/tracker.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"

#include <stdlib.h>
#include <string.h>

enum hold_state { HOLD_NONE, HOLD_WANTED, HOLD_CONTENDED, HOLD_OWNED, HOLD_SHARED };

/* A thread's dealings with a lock. */
struct hold {
	struct lock_row *row;
	enum hold_state state;
	uint64_t since;	  /* HOLD_CONTENDED */
	uint64_t readers; /* HOLD_SHARED: how often */
};

struct lockdep {
	struct session *session;
	struct tracker *tracker;
	bool by_thread;
	struct arena arena;
	struct lock_rows rows;
	struct map64 rows_by_key; /* by thread or lock */
	struct map64 holds;	  /* by hash of thread and lock → struct hold * */
};

enum { ADDRESS, NAME, FLAGS };
enum { TRYLOCK = 1 << 0, READ = 1 << 1 }; /* include/trace/events/lock.h */

static struct lock_row *find_row(struct lockdep *lockdep, const struct tracker_event *event)
{
	const struct thread *thread = NULL;
	bool is_new;
	if (lockdep->by_thread)
		thread = machine_thread_or_new(lockdep->session->machine, event->pid, event->tid, event->record->model_time);
	uint64_t *slot = map64_insert(&lockdep->rows_by_key, lockdep->by_thread ? (uintptr_t)thread : event->values[ADDRESS], &is_new);
	if (!is_new)
		return (void *)(uintptr_t)*slot;
	size_t len;
	const struct untrusted *name = tracker_text(event, NAME, &len);
	struct lock_row *row = arena_zalloc(&lockdep->arena, sizeof(*row));
	*slot = (uintptr_t)row;
	row->thread = thread;
	row->address = event->values[ADDRESS];
	row->name = arena_strndup(&lockdep->arena, untrusted_raw(name), len);
	row->symbol = "";
	vec_push(&lockdep->rows.all, row);
	return row;
}

/* Each CPU's idle task has the id 0. */
static struct hold *find_hold(struct lockdep *lockdep, const struct tracker_event *event)
{
	bool is_new;
	uint64_t *slot = map64_insert(&lockdep->holds,
				      hash_combine(event->tid ? event->tid : 1ull << 32 | event->cpu, event->values[ADDRESS]), &is_new);
	if (is_new)
		*slot = (uintptr_t)arena_zalloc(&lockdep->arena, sizeof(struct hold));
	struct hold *hold = (void *)(uintptr_t)*slot;
	hold->row = find_row(lockdep, event);
	return hold;
}

static void on_acquire(void *context, const struct tracker_event *event)
{
	struct hold *hold = find_hold(context, event);
	bool reads = event->values[FLAGS] & READ;
	if (hold->state == HOLD_SHARED && reads) {
		hold->readers++;
		hold->row->acquired++;
	} else if (hold->state != HOLD_NONE) {
		hold->state = HOLD_NONE;
	} else if (event->values[FLAGS] & (TRYLOCK | READ)) {
		hold->state = HOLD_SHARED;
		hold->readers = 1;
		hold->row->acquired++;
	} else {
		hold->state = HOLD_WANTED;
	}
}

static void on_contended(void *context, const struct tracker_event *event)
{
	struct hold *hold = find_hold(context, event);
	if (hold->state == HOLD_WANTED) {
		hold->state = HOLD_CONTENDED;
		hold->since = event->time;
		hold->row->contended++;
	} else {
		hold->state = HOLD_NONE;
	}
}

static void on_acquired(void *context, const struct tracker_event *event)
{
	struct hold *hold = find_hold(context, event);
	uint64_t time = event->time;
	if (hold->state != HOLD_WANTED && hold->state != HOLD_CONTENDED) {
		hold->state = HOLD_NONE;
		return;
	}
	if (hold->state == HOLD_CONTENDED)
		lock_row_add_wait(hold->row, time > hold->since ? time - hold->since : 0);
	hold->state = HOLD_OWNED;
	hold->row->acquired++;
}

static void on_release(void *context, const struct tracker_event *event)
{
	struct hold *hold = find_hold(context, event);
	if (hold->state != HOLD_SHARED || !--hold->readers)
		hold->state = HOLD_NONE;
}

static const struct tracker_handler handlers[] = {
	{"lock:lock_acquire", {[ADDRESS] = "lockdep_addr", [NAME] = "name", [FLAGS] = "flags"}, on_acquire},
	{"lock:lock_contended", {[ADDRESS] = "lockdep_addr", [NAME] = "name"}, on_contended},
	{"lock:lock_acquired", {[ADDRESS] = "lockdep_addr", [NAME] = "name"}, on_acquired},
	{"lock:lock_release", {[ADDRESS] = "lockdep_addr", [NAME] = "name"}, on_release},
	{0},
};

struct lockdep *lockdep_create(struct session *session, bool by_thread)
{
	struct lockdep *lockdep = mem_zalloc(sizeof(*lockdep));
	lockdep->session = session;
	lockdep->by_thread = by_thread;
	lockdep->tracker = tracker_create(session, handlers, lockdep);
	return lockdep;
}

void lockdep_destroy(struct lockdep *lockdep)
{
	if (!lockdep)
		return;
	tracker_destroy(lockdep->tracker);
	lock_rows_deinit(&lockdep->rows);
	map64_deinit(&lockdep->rows_by_key);
	map64_deinit(&lockdep->holds);
	arena_deinit(&lockdep->arena);
	free(lockdep);
}

struct error *lockdep_run(struct lockdep *lockdep)
{
	return tracker_run(lockdep->tracker);
}

void lockdep_take(struct lockdep *lockdep, const struct record *record)
{
	tracker_give(lockdep->tracker, record);
}

bool lockdep_has_events(const struct lockdep *lockdep)
{
	return tracker_has(lockdep->tracker, handlers[0].event);
}

struct lock_rows *lockdep_rows(struct lockdep *lockdep)
{
	return &lockdep->rows;
}

/* The tracker of calls of futex, and its rows (user.h). */
#include "analysis/lock/user.h"

#include "analysis/script/sample_text.h"
#include "analysis/stack.h"
#include "analysis/tracker.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 127, FUTEX_LOCK_PI_2 = 13 /* Linux 5.14 */ };

/* A stack of a program, resolved once. */
struct user_stack {
	struct lock_frame *frames;
	size_t len;
	const char *caller;
	uint64_t flags; /* the kind of lock that its functions tell */
	uint64_t key;	/* of all from the caller on, by name: the same in all processes of a program */
	bool is_chosen;
};

/* What a thread does in futex now. */
struct user_thread {
	const struct thread *thread;
	const struct user_stack *stack; /* with which it called */
	bool is_inside, waits;		/* `waits`: and is counted */
	uint64_t since;
	struct lock_row *row; /* NULL: who ends the wait tells it */
	struct lock_row begin;
	const struct thread *waker; /* NULL = nobody yet, or an interrupt */
	const struct user_stack *waker_stack;
};

struct lock_user {
	struct session *session;
	struct resolver *resolver;
	struct lock_options options;
	struct tracker *tracker;
	struct stack stack; /* addresses only */
	struct arena arena;
	struct lock_rows rows;
	struct map64 rows_by_key; /* by hash of what the row is about */
	struct map64 stacks;	  /* by hash of process and addresses → struct user_stack * */
	struct map64 threads;	  /* by number → struct user_thread * */
	struct map64 parts;	  /* by hash of list, thread and stack → its index in the list */
	bool lacks_cgroups, has_calls;
};

/* ---- stacks ---- */

static void take_frame(struct lock_user *user, struct user_stack *stack, const struct frame *frame)
{
	const char *name = lock_name_frame(&user->arena, frame);
	bool is_below = frame->map && stack_is_system_library(frame->map->dso);
	stack->frames[stack->len++] = (struct lock_frame){frame->ip, name};
	if (frame->symbol && lock_is_chosen_function(&user->options, frame->symbol->name))
		stack->is_chosen = true;
	if (is_below && frame->symbol && !stack->caller && stack->flags == (LOCK_USER | LOCK_USER_FUTEX))
		stack->flags = lock_user_flags(frame->symbol->name);
	if (!is_below && !stack->caller && frame->symbol)
		stack->caller = name;
	if (stack->caller)
		stack->key = hash_combine(stack->key, *name ? hash_bytes(name, strlen(name)) : frame->ip);
}

static void resolve_stack(struct lock_user *user, const struct tracker_event *event, const struct thread *thread, struct user_stack *stack)
{
	const struct frame *frames = user->stack.frames.data;
	size_t count = user->stack.frames.len;
	*stack = (struct user_stack){.flags = LOCK_USER | LOCK_USER_FUTEX, .is_chosen = !user->options.function_count};
	stack->frames = arena_alloc(&user->arena, count * sizeof(*stack->frames));
	for (size_t i = 0; i < count && stack->len < user->options.max_stack; i++) {
		struct frame frame;
		if (frames[i].cpumode != CPUMODE_USER || frames[i].ip == STACK_CUT_OFF)
			continue;
		sample_resolve(user->resolver, thread, CPUMODE_USER, frames[i].ip, event->record->model_time, &frame);
		take_frame(user, stack, &frame);
	}
	if (!stack->caller)
		stack->caller = "Unknown";
	stack->key = hash_combine(stack->key, stack->flags);
}

static const struct user_stack *read_stack(struct lock_user *user, const struct tracker_event *event, const struct thread *thread)
{
	static const struct stack_options options = {.max_depth = MOST_DEPTH};
	uint64_t hash = thread->pid;
	bool is_new;
	stack_addresses(user->resolver, user->session->machine, thread, event->record->event, tracker_sample(event),
			event->record->model_time, &options, &user->stack);
	for (size_t i = 0; i < user->stack.frames.len; i++)
		hash = hash_combine(hash, user->stack.frames.data[i].ip);
	uint64_t *slot = map64_insert(&user->stacks, hash, &is_new);
	if (!is_new)
		return (void *)(uintptr_t)*slot;
	struct user_stack *stack = arena_alloc(&user->arena, sizeof(*stack));
	*slot = (uintptr_t)stack;
	resolve_stack(user, event, thread, stack);
	return stack;
}

/* ---- rows ---- */

/* "name+0x8 in program", or what is mapped there; the symbol itself in *ret_symbol, or NULL. */
static const char *name_lock(struct lock_user *user, const struct tracker_event *event, const struct thread *thread, uint64_t address,
			     const char **ret_symbol)
{
	struct frame frame;
	sample_resolve(user->resolver, thread, CPUMODE_USER, address, event->record->model_time, &frame);
	*ret_symbol = frame.symbol ? frame.symbol->name : NULL;
	if (!frame.map)
		return "";
	const struct dso *dso = frame.map->dso;
	const char *name = lock_name_frame(&user->arena, &frame), *place = strcmp(dso->name, "//anon") != 0 ? dso->short_name : "[anon]";
	return *name ? arena_printf(&user->arena, "%s in %s", name, place) : place;
}

static uint64_t key_of(const struct lock_user *user, const struct user_thread *thread)
{
	switch (user->options.by) {
	case LOCK_BY_CALLER:
		return thread->stack->key;
	case LOCK_BY_THREAD:
		return (uintptr_t)thread->thread;
	case LOCK_BY_ADDRESS:
		return hash_combine(thread->thread->pid, thread->begin.address);
	case LOCK_BY_CGROUP:
		return thread->begin.cgroup;
	case LOCK_BY_OWNER:
		return (uintptr_t)thread->waker;
	}
	return 0;
}

static struct lock_row *find_row(struct lock_user *user, const struct user_thread *thread)
{
	bool is_new;
	uint64_t *slot = map64_insert(&user->rows_by_key, key_of(user, thread), &is_new);
	if (!is_new)
		return (void *)(uintptr_t)*slot;
	struct lock_row *row = arena_copy(&user->arena, &thread->begin, sizeof(*row));
	*slot = (uintptr_t)row;
	row->thread = user->options.by == LOCK_BY_OWNER ? thread->waker : thread->thread;
	row->owner = user->options.by == LOCK_BY_OWNER && thread->waker ? thread->waker->tid : 0;
	vec_push(&user->rows.all, row);
	return row;
}

static void add_part(struct lock_user *user, struct lock_parts *parts, const struct thread *thread, const struct user_stack *stack,
		     uint64_t ns)
{
	uint64_t key = hash_combine(hash_combine((uintptr_t)parts, (uintptr_t)thread), stack ? stack->key : 0);
	bool is_new;
	uint64_t *index = map64_insert(&user->parts, key, &is_new);
	if (is_new) {
		*index = parts->all.len;
		vec_push(&parts->all, (struct lock_part){thread, stack ? stack->frames : NULL, stack ? stack->len : 0});
	}
	parts->all.data[*index].count++;
	parts->all.data[*index].ns += ns;
}

/* ---- events ---- */

static struct user_thread *thread_at(struct lock_user *user, const struct tracker_event *event)
{
	bool is_new;
	uint64_t *slot = map64_insert(&user->threads, event->tid, &is_new);
	if (is_new)
		*slot = (uintptr_t)arena_zalloc(&user->arena, sizeof(struct user_thread));
	struct user_thread *thread = (void *)(uintptr_t)*slot;
	thread->thread = machine_thread_or_new(user->session->machine, event->pid, event->tid, event->record->model_time);
	return thread;
}

static bool is_wait(uint64_t operation)
{
	return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET || operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI_2 ||
	       operation == FUTEX_WAIT_REQUEUE_PI;
}

enum { ADDRESS, OPERATION };

static void on_enter(void *context, const struct tracker_event *event)
{
	struct lock_user *user = context;
	struct user_thread *thread = thread_at(user, event);
	const struct lock_options *options = &user->options;
	const char *symbol;
	user->has_calls = true;
	thread->stack = read_stack(user, event, thread->thread);
	thread->is_inside = true;
	thread->waits = false;
	if (!is_wait(event->values[OPERATION] & FUTEX_CMD_MASK & 0xff))
		return;
	if ((options->by == LOCK_BY_CGROUP || options->cgroup_count) && !(event->record->event->attr.sample_type & PERF_SAMPLE_CGROUP))
		user->lacks_cgroups = true;
	uint64_t address = event->values[ADDRESS], flags = thread->stack->flags;
	if (!thread->stack->is_chosen || !lock_is_chosen_wait(options, user->session->machine, event, flags))
		return;
	const char *name = name_lock(user, event, thread->thread, address, &symbol);
	if (!lock_is_chosen_lock(options, address, symbol))
		return;
	thread->begin = (struct lock_row){.address = address,
					  .flags = flags,
					  .cgroup = tracker_sample(event)->cgroup,
					  .symbol = name,
					  .name = thread->stack->caller,
					  .stack = thread->stack->frames,
					  .stack_len = thread->stack->len};
	thread->waits = true;
	thread->since = event->time;
	thread->waker = NULL;
	thread->waker_stack = NULL;
	thread->row = options->by == LOCK_BY_OWNER ? NULL : find_row(user, thread);
	if (thread->row)
		thread->row->contended++;
}

enum { RESULT };

static void on_exit_call(void *context, const struct tracker_event *event)
{
	struct lock_user *user = context;
	uint64_t *slot = map64_find(&user->threads, event->tid), time = event->time;
	struct user_thread *thread = slot ? (void *)(uintptr_t)*slot : NULL;
	if (!thread || !thread->is_inside)
		return;
	thread->is_inside = false;
	if (!thread->waits)
		return;
	thread->waits = false;
	if (event->values[RESULT] == (uint64_t)-EAGAIN) {
		if (thread->row)
			thread->row->contended--;
		return;
	}
	uint64_t ns = time > thread->since ? time - thread->since : 0;
	if (!thread->row) {
		thread->row = find_row(user, thread);
		thread->row->contended++;
	}
	thread->row->acquired++;
	lock_row_add_wait(thread->row, ns);
	add_part(user, &thread->row->waiters, thread->thread, thread->stack, ns);
	add_part(user, &thread->row->owners, thread->waker, thread->waker_stack, ns);
}

enum { WOKEN, COMMON_FLAGS };
enum { FLAG_HARDIRQ = 8, FLAG_SOFTIRQ = 16 }; /* of common_flags: include/linux/trace_events.h */

static void on_waking(void *context, const struct tracker_event *event)
{
	struct lock_user *user = context;
	uint64_t *slot = map64_find(&user->threads, event->values[WOKEN]);
	struct user_thread *woken = slot ? (void *)(uintptr_t)*slot : NULL;
	if (!woken || !woken->waits || !event->tid || (event->values[COMMON_FLAGS] & (FLAG_HARDIRQ | FLAG_SOFTIRQ)))
		return;
	struct user_thread *waker = thread_at(user, event);
	woken->waker = waker->thread;
	woken->waker_stack = waker->is_inside ? waker->stack : NULL;
	if (!waker->is_inside && (event->record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		woken->waker_stack = read_stack(user, event, waker->thread);
}

static const struct tracker_handler handlers[] = {
	{"syscalls:sys_enter_futex", {[ADDRESS] = "uaddr", [OPERATION] = "op"}, on_enter},
	{"syscalls:sys_exit_futex", {[RESULT] = "ret"}, on_exit_call},
	{"sched:sched_waking", {[WOKEN] = "pid", [COMMON_FLAGS] = "common_flags"}, on_waking},
	{0},
};

struct lock_user *lock_user_create(struct session *session, struct resolver *resolver, const struct lock_options *options)
{
	struct lock_user *user = mem_zalloc(sizeof(*user));
	user->session = session;
	user->resolver = resolver;
	user->options = *options;
	user->tracker = tracker_create(session, handlers, user);
	return user;
}

void lock_user_destroy(struct lock_user *user)
{
	if (!user)
		return;
	for (size_t i = 0; i < user->rows.all.len; i++) {
		vec_deinit(&user->rows.all.data[i]->waiters.all);
		vec_deinit(&user->rows.all.data[i]->owners.all);
	}
	tracker_destroy(user->tracker);
	stack_deinit(&user->stack);
	lock_rows_deinit(&user->rows);
	map64_deinit(&user->rows_by_key);
	map64_deinit(&user->stacks);
	map64_deinit(&user->threads);
	map64_deinit(&user->parts);
	arena_deinit(&user->arena);
	free(user);
}

void lock_user_take(struct lock_user *user, const struct record *record)
{
	tracker_give(user->tracker, record);
}

struct error *lock_user_require(const struct lock_user *user)
{
	static const char recorder[] = "perf lock record --user";
	struct error *error = NULL;
	for (size_t i = 0; handlers[i].event && !error; i++)
		error = tracker_require(user->tracker, handlers[i].event, recorder);
	if (!error && user->lacks_cgroups)
		error = error_new("the recording contains no cgroups; record with '%s --all-cgroups'", recorder);
	return error;
}

/* What has neither ended nor an owner. */
static void add_open_waits(struct lock_user *user)
{
	map64_each (slot, &user->threads) {
		struct user_thread *thread = map64_pointer(slot);
		if (!thread->waits || thread->row)
			continue;
		thread->waker = NULL;
		thread->row = find_row(user, thread);
		thread->row->contended++;
	}
}

static int compare_parts(const void *a, const void *b)
{
	const struct lock_part *one = a, *other = b;
	uint32_t one_tid = one->thread ? one->thread->tid : 0, other_tid = other->thread ? other->thread->tid : 0;
	if (one->ns != other->ns)
		return one->ns < other->ns ? 1 : -1;
	return (one_tid > other_tid) - (one_tid < other_tid);
}

struct lock_rows *lock_user_rows(struct lock_user *user)
{
	size_t kept = 0;
	if (user->options.by == LOCK_BY_OWNER)
		add_open_waits(user);
	for (size_t i = 0; i < user->rows.all.len; i++) {
		struct lock_row *row = user->rows.all.data[i];
		if (!row->contended)
			continue;
		user->rows.all.data[kept++] = row;
		if (user->options.by == LOCK_BY_OWNER)
			row->name = row->thread ? untrusted_raw(thread_comm(row->thread, UINT64_MAX)) : "Unknown";
		if (row->waiters.all.len)
			qsort(row->waiters.all.data, row->waiters.all.len, sizeof(struct lock_part), compare_parts);
		if (row->owners.all.len)
			qsort(row->owners.all.data, row->owners.all.len, sizeof(struct lock_part), compare_parts);
	}
	user->rows.all.len = kept;
	return &user->rows;
}

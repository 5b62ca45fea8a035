/* Threads and processes: who had which id when, and what it was called.
 *
 * A thread is found by its id alone, as in the kernel's perf: its newest bearer that had started by then. Bearers of the same id hang
 * together by ->older, with shortcuts (->jump) so that even a million of them are searched in logarithmic time.
 *
 *	tid 42:  newest ─older─► 2nd ─older─► first          jump leads over a power of two of them or so
 *	         start 90        start 50     start 0
 *
 * A thread that no fork record announced counts as having been there since ever.
 */
#include "base/search.h"
#include "model/model_internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- making ---- */

static void thread_set_nameless(struct machine *machine, struct thread *thread)
{
	char name[16];
	snprintf(name, sizeof(name), ":%d", (int)thread->tid);
	thread->nameless = intern_string(&machine_host(machine)->names, name);
}

static struct process *process_create(struct machine *machine, uint32_t pid, uint64_t start)
{
	struct process *process = arena_zalloc(&machine->arena, sizeof(*process));
	process->pid = pid;
	process->start = start;
	process->machine = machine;
	process->maps = maps_create(machine);
	return process;
}

/* In no table yet. */
static struct thread *thread_create(struct machine *machine, uint32_t pid, uint32_t tid, uint64_t start)
{
	struct thread *thread = arena_zalloc(&machine->arena, sizeof(*thread));
	thread->pid = pid;
	thread->tid = tid;
	thread->ppid = UINT32_MAX;
	thread->start = start;
	thread->exit = UINT64_MAX;
	thread->index = UINT_MAX;
	return thread;
}

/* Own address space for leaders and for threads of which no process is known; else the leader's. */
static void thread_join_process(struct machine *machine, struct thread *thread)
{
	if (thread->pid == thread->tid || thread->pid == UINT32_MAX) {
		thread->process = process_create(machine, thread->pid, thread->start);
		thread->process->leader = thread->pid == UINT32_MAX ? NULL : thread;
	} else {
		thread->process = machine_current_thread(machine, thread->pid, thread->pid)->process;
	}
}

void thread_enter(struct machine *machine, struct thread *thread)
{
	uint64_t *slot = map64_insert(&machine->threads_by_tid, thread->tid, NULL);
	struct thread *older = (struct thread *)(uintptr_t)*slot;
	thread->jump = thread;
	thread->is_newest = true;
	if (older) {
		older->is_newest = false;
		const struct thread *far = older->jump;
		thread->older = older;
		thread->depth = older->depth + 1;
		thread->jump = older->depth - far->depth == far->depth - far->jump->depth ? far->jump : older;
	}
	*slot = (uintptr_t)thread;
	thread->index = machine->threads.len;
	vec_push(&machine->threads, thread);
}

static struct thread *thread_add(struct machine *machine, uint32_t pid, uint32_t tid, uint64_t start)
{
	struct thread *thread = thread_create(machine, pid, tid, start);
	thread_enter(machine, thread);
	thread_join_process(machine, thread);
	return thread;
}

static struct thread *thread_add_nameless(struct machine *machine, uint32_t pid, uint32_t tid, uint64_t start)
{
	struct thread *thread = thread_add(machine, pid, tid, start);
	thread_set_nameless(machine, thread);
	return thread;
}

static struct thread *newest_thread(const struct machine *machine, uint32_t tid)
{
	const uint64_t *slot = map64_find(&machine->threads_by_tid, tid);
	return slot ? (struct thread *)(uintptr_t)*slot : NULL;
}

/* Strays are threads in no table but their own: the machine was resting when they were asked for. */
static size_t placeholder_slot(uint32_t pid, uint32_t tid)
{
	return (size_t)hash_u64((uint64_t)pid << 32 | tid);
}

static struct thread *placeholder_find(const struct placeholder_table *table, uint32_t pid, uint32_t tid)
{
	if (!table)
		return NULL;
	for (size_t i = placeholder_slot(pid, tid);; i++) {
		struct thread *thread = atomic_load_explicit(&table->slots[i & table->mask], memory_order_acquire);
		if (!thread || (thread->tid == tid && thread->pid == pid))
			return thread;
	}
}

/* One that samples have spoken of while the machine was resting; NULL when there is none. */
static struct thread *take_placeholder(struct machine *machine, uint32_t pid, uint32_t tid)
{
	struct thread *thread =
		placeholder_find(atomic_load_explicit(&machine->private->placeholders.table, memory_order_relaxed), pid, tid);
	if (thread)
		thread_enter(machine, thread);
	return thread;
}

struct thread *machine_current_thread(struct machine *machine, uint32_t pid, uint32_t tid)
{
	struct thread *thread = newest_thread(machine, tid);
	if (!thread)
		thread = take_placeholder(machine, pid, tid);
	if (!thread)
		return thread_add_nameless(machine, pid, tid, 0);
	if (thread->pid == UINT32_MAX && pid != UINT32_MAX) {
		thread->pid = pid;
		if (pid != tid)
			thread_join_process(machine, thread);
		else
			thread->process->pid = pid, thread->process->leader = thread;
	}
	return thread;
}

static void thread_add_comm(struct machine *machine, struct thread *thread, const char *name, bool exec, uint64_t time)
{
	if (thread->comm_count == thread->comm_capacity) {
		uint32_t capacity = thread->comm_capacity ? thread->comm_capacity * 2 : 1;
		struct thread_comm *grown = arena_alloc(&machine->arena, capacity * sizeof(*grown));
		if (thread->comm_count)
			memcpy(grown, thread->comms, thread->comm_count * sizeof(*grown));
		thread->comms = grown;
		thread->comm_capacity = capacity;
	}
	thread->comms[thread->comm_count++] =
		(struct thread_comm){.time = time, .name = intern_string(&machine_host(machine)->names, name), .exec = exec};
	if (time <= thread->start)
		thread->nameless = NULL;
}

/* ---- the mutators ---- */

void machine_add_comm(struct machine *machine, uint32_t pid, uint32_t tid, const char *name, bool exec, uint64_t time)
{
	time = machine_advance(machine, time);
	thread_add_comm(machine, machine_current_thread(machine, pid, tid), name, exec, time);
}

void machine_add_fork(struct machine *machine, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid, bool copies_maps, uint64_t time)
{
	time = machine_advance(machine, time);
	struct thread *parent = machine_current_thread(machine, ppid, ptid);
	/* The bearer of that id is of another process: its end and the parent's start were lost. */
	if (parent->pid != ppid)
		parent = thread_add_nameless(machine, ppid, ptid, time);
	struct thread *thread = thread_add(machine, pid, tid, time);
	thread->ppid = parent->tid;
	if (parent->comm_count)
		thread_add_comm(machine, thread, parent->comms[parent->comm_count - 1].name, false, time);
	else
		thread_set_nameless(machine, thread);
	if (copies_maps && pid != parent->pid && thread->process != parent->process)
		maps_inherit(thread->process->maps, parent->process->maps, time);
}

void machine_add_exit(struct machine *machine, uint32_t tid, uint64_t time)
{
	time = machine_advance(machine, time);
	struct thread *thread = newest_thread(machine, tid);
	if (thread && thread->exit == UINT64_MAX)
		thread->exit = time;
}

void machine_add_namespaces(struct machine *machine, uint32_t pid, uint32_t tid, const struct process_namespaces *namespaces)
{
	struct process *process = machine_current_thread(machine, pid, tid)->process;
	struct process_namespaces *copy = arena_copy(&machine->arena, namespaces, sizeof(*namespaces));
	copy->time = machine_advance(machine, namespaces->time);
	copy->older = process->namespaces;
	process->namespaces = copy;
}

/* ---- asking ---- */

struct thread *machine_thread(const struct machine *machine, uint32_t tid, uint64_t time)
{
	struct thread *thread = newest_thread(machine, tid);
	while (thread && thread->start > time)
		thread = thread->jump != thread && thread->jump->start > time ? thread->jump : thread->older;
	return thread;
}

/* The newest comm not newer than `time`, or NULL. */
static const struct thread_comm *comm_at(const struct thread *thread, uint64_t time)
{
	if (!thread->comm_count)
		return NULL;
	uint32_t last = thread->comm_count - 1;
	if (thread->comms[last].time <= time) /* most often */
		return &thread->comms[last];
	size_t after = partition_point(i, last, thread->comms[i].time <= time);
	return after ? &thread->comms[after - 1] : NULL;
}

const struct untrusted *thread_comm(const struct thread *thread, uint64_t time)
{
	const struct thread_comm *comm = comm_at(thread, time);
	if (comm)
		return untrusted(comm->name);
	return untrusted(thread->nameless ? thread->nameless : thread->comms[0].name);
}

const struct untrusted *thread_comm_settled(const struct thread *thread, uint64_t time)
{
	const struct thread_comm *comm = comm_at(thread, time);
	if (comm)
		return untrusted(comm->name);
	return untrusted(thread->comm_count ? thread->comms[0].name : thread->nameless);
}

/* ---- placeholders ---- */

void placeholders_drop(struct placeholders *placeholders)
{
	for (struct placeholder_table *table = placeholders->table, *older; table; table = older) {
		older = table->older;
		free(table);
	}
	placeholders->table = NULL;
	placeholders->count = 0;
}

static void placeholder_put(struct placeholder_table *table, struct thread *thread)
{
	size_t i = placeholder_slot(thread->pid, thread->tid);
	while (atomic_load_explicit(&table->slots[i & table->mask], memory_order_relaxed))
		i++;
	atomic_store_explicit(&table->slots[i & table->mask], thread, memory_order_release);
}

/* A table with room for one more; the lock is held. */
static struct placeholder_table *placeholders_reserve(struct machine *machine)
{
	struct placeholders *placeholders = &machine->private->placeholders;
	struct placeholder_table *table = atomic_load_explicit(&placeholders->table, memory_order_relaxed);
	size_t size = table ? table->mask + 1 : 0;
	if (placeholders->count * 2 < size)
		return table;
	size_t grown_size = size ? size * 2 : 64;
	struct placeholder_table *grown = mem_zalloc(sizeof(*grown) + grown_size * sizeof(grown->slots[0]));
	grown->mask = grown_size - 1;
	grown->older = table;
	for (size_t i = 0; i < size; i++) {
		struct thread *thread = atomic_load_explicit(&table->slots[i], memory_order_relaxed);
		if (thread)
			placeholder_put(grown, thread);
	}
	atomic_store_explicit(&placeholders->table, grown, memory_order_release);
	return grown;
}

/* The lock is held. */
static struct thread *placeholder_add(struct machine *machine, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct placeholders *placeholders = &machine->private->placeholders;
	struct thread *thread = placeholder_find(atomic_load(&placeholders->table), pid, tid);
	if (thread)
		return thread;
	thread = thread_create(machine, pid, tid, 0);
	thread_set_nameless(machine, thread);
	if (pid == tid || pid == UINT32_MAX) {
		thread->process = process_create(machine, pid, 0);
		thread->process->leader = pid == UINT32_MAX ? NULL : thread;
	} else {
		struct thread *leader = machine_thread(machine, pid, time);
		thread->process = (leader ? leader : placeholder_add(machine, pid, pid, time))->process;
	}
	placeholder_put(placeholders_reserve(machine), thread);
	placeholders->count++;
	return thread;
}

struct thread *machine_thread_or_new(struct machine *machine, uint32_t pid, uint32_t tid, uint64_t time)
{
	if (!machine->private->finished) {
		struct thread *thread = machine_current_thread(machine, pid, tid);
		if (thread->start <= time)
			return thread;
	}
	return machine_thread_or_placeholder(machine, pid, tid, time);
}

struct thread *machine_thread_or_placeholder(struct machine *machine, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct thread *thread = machine_thread(machine, tid, time);
	if (thread)
		return thread;
	struct placeholders *placeholders = &machine->private->placeholders;
	thread = placeholder_find(atomic_load_explicit(&placeholders->table, memory_order_acquire), pid, tid);
	if (thread)
		return thread;
	pthread_mutex_lock(&placeholders->lock);
	thread = placeholder_add(machine, pid, tid, time);
	pthread_mutex_unlock(&placeholders->lock);
	return thread;
}

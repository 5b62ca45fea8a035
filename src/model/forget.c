/* The end of an epoch: what is still asked for is copied, then all the memory of the old epoch goes at once.
 *
 *	arena of the old epoch                      of the new one
 *	threads 1 2 3† 4† 5                         1 2 5
 *	maps    a─b─c   d†                    ──►   a─c        what several processes share is copied once
 *	names   "sh" "cc1"† "make"                  "sh" "make"
 *
 * So forgetting costs as much as is left, and is due when as much has come: nothing is counted or linked for it while the model is added
 * to. Who holds pointers into the old epoch is asked last, and has them led to the copies; what nobody else asks for is copied for him.
 * Not done here: when (session/forget.c); files (forget_files.c).
 */
#include "base/search.h"
#include "model/model_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { GROWN_BYTES = 4 << 20 };

typedef bool (*is_gone)(void *context, const struct thread *thread);

static size_t memory_of(const struct machine *machine)
{
	return machine->arena.used + machine->names.arena.used;
}

bool machine_has_grown(const struct machine *machine)
{
	return memory_of(machine) > 2 * machine->private->kept + GROWN_BYTES;
}

/* ---- what stays ---- */

/* Whether another thread had its id by then. */
static bool is_succeeded(const struct machine *machine, const struct thread *thread, uint64_t since)
{
	const struct thread *then = machine_thread(machine, thread->tid, since);
	return then && then != thread && then->depth > thread->depth;
}

static bool is_asked_for(const struct machine *machine, const struct thread *thread, uint64_t since, is_gone gone, void *context)
{
	if (thread->exit < since || (!thread->is_newest && is_succeeded(machine, thread, since)))
		return false;
	return !gone || thread->exit != UINT64_MAX || thread->start >= since || !gone(context, thread);
}

/* ---- copies ---- */

static void carry_namespaces(struct carrying *carrying, struct process *process)
{
	struct process_namespaces **link = &process->namespaces;
	while (*link) {
		*link = arena_copy(&carrying->machine->arena, *link, sizeof(**link));
		if ((*link)->time <= carrying->since)
			(*link)->older = NULL;
		link = &(*link)->older;
	}
}

/* `with_maps` false: nobody will look for an address in it. */
static struct process *carry_process(struct carrying *carrying, const struct process *from, bool with_maps)
{
	bool is_new;
	uint64_t *slot = map64_insert(&carrying->moved, (uintptr_t)from, &is_new);
	if (!is_new)
		return (struct process *)(uintptr_t)*slot;
	struct process *process = arena_copy(&carrying->machine->arena, from, sizeof(*from));
	*slot = (uintptr_t)process;
	process->leader = NULL; /* until that is carried */
	process->maps = with_maps ? maps_carry(carrying, from->maps) : maps_create(carrying->machine);
	carry_namespaces(carrying, process);
	return process;
}

/* Its names from the one on that it had at the time. */
static void carry_names(struct carrying *carrying, struct thread *thread)
{
	struct machine *machine = carrying->machine;
	const struct thread_comm *comms = thread->comms;
	size_t later = partition_point(i, thread->comm_count, comms[i].time <= carrying->since), first = later ? later - 1 : 0;
	thread->comm_count = thread->comm_capacity = thread->comm_count - (uint32_t)first;
	thread->comms = thread->comm_count ? arena_copy(&machine->arena, comms + first, thread->comm_count * sizeof(*comms)) : NULL;
	for (uint32_t i = 0; i < thread->comm_count; i++)
		thread->comms[i].name = intern_string(&machine->names, thread->comms[i].name);
	if (thread->nameless)
		thread->nameless = intern_string(&machine->names, thread->nameless);
}

static struct thread *copy_thread(struct carrying *carrying, const struct thread *from, bool with_maps)
{
	struct thread *thread = arena_copy(&carrying->machine->arena, from, sizeof(*from));
	*map64_insert(&carrying->moved, (uintptr_t)from, NULL) = (uintptr_t)thread;
	thread->older = NULL;
	thread->depth = 0;
	thread->process = carry_process(carrying, from->process, with_maps);
	if (from->process->leader == from)
		thread->process->leader = thread;
	carry_names(carrying, thread);
	return thread;
}

static void carry_thread(struct carrying *carrying, const struct thread *from)
{
	thread_enter(carrying->machine, copy_thread(carrying, from, true));
}

/* ---- guests, which stay as they are ---- */

static void keep_guest(struct machine *machine, struct machine *guest)
{
	placeholders_drop(&guest->private->placeholders);
	for (size_t i = 0; i < guest->threads.len; i++) {
		struct thread *thread = guest->threads.data[i];
		for (uint32_t j = 0; j < thread->comm_count; j++)
			thread->comms[j].name = intern_string(&machine->names, thread->comms[j].name);
		if (thread->nameless)
			thread->nameless = intern_string(&machine->names, thread->nameless);
	}
}

static void keep_guests(struct machine *machine)
{
	map64_each (slot, &machine->guests)
		keep_guest(machine, map64_pointer(slot));
	if (!machine->guests.count)
		return;
	machine_each_dso (dso, machine)
		if (dso->guest_pid)
			dso->generation = machine->generation + 1;
}

/* ---- for holders, when all others have been copied ---- */

const struct thread *machine_carry_thread(struct carrying *carrying, const struct thread *thread)
{
	const uint64_t *slot = map64_find(&carrying->moved, (uintptr_t)thread);
	if (thread->process->machine->host)
		return thread;
	if (slot)
		return (const struct thread *)(uintptr_t)*slot;
	struct thread *copy = copy_thread(carrying, thread, false);
	copy->jump = copy;
	copy->index = UINT_MAX;
	return copy;
}

const struct untrusted *machine_carry_name(struct carrying *carrying, const struct untrusted *name)
{
	return untrusted(intern_string(&carrying->machine->names, untrusted_raw(name)));
}

/* ---- all of it ---- */

/* The threads that stay, in the order in which they came. Most have gone, and lie far from one another: what is read of them is
 * prefetched. */
static void choose(const struct machine *machine, uint64_t since, is_gone gone, void *context, bool *stays)
{
	enum { AHEAD = 16 };
	struct thread *const *threads = machine->threads.data;
	for (size_t i = 0; i < machine->threads.len; i++) {
		if (i + AHEAD < machine->threads.len)
			__builtin_prefetch(&threads[i + AHEAD]->exit);
		if (!is_asked_for(machine, threads[i], since, gone, context))
			continue;
		const struct thread *leader = threads[i]->process->leader;
		stays[i] = true;
		if (leader && leader->index < machine->threads.len)
			stays[leader->index] = true;
	}
}

/* Whose maps still wait, and who lives on. */
static bool is_to_settle(const struct thread *thread)
{
	const struct maps *maps = thread->process->maps;
	return maps->waits && (thread->exit == UINT64_MAX || !maps_notes_move(maps));
}

/* Notes of maps go with the arena, those that processes that have gone left to others as well. */
static void settle(const struct machine *machine, const bool *stays)
{
	for (size_t i = 0; i < machine->threads.len; i++)
		if (stays[i] && is_to_settle(machine->threads.data[i]))
			maps_settle(machine->threads.data[i]->process->maps);
}

void machine_forget(struct machine *machine, uint64_t since, is_gone gone, void *context)
{
	machine_forget_but(machine, since, gone, context, NULL);
}

void machine_forget_but(struct machine *machine, uint64_t since, is_gone gone, void *context, const struct machine_holder *holder)
{
	struct carrying carrying = {.machine = machine, .since = since};
	bool *stays = mem_zalloc_array(machine->threads.len + 1, sizeof(*stays));
	choose(machine, since, gone, context, stays);
	settle(machine, stays);
	struct machine old = *machine; /* not before: what settles lies in the arena, too */
	machine->arena = (struct arena){0};
	machine->names = (struct intern){0};
	machine->threads_by_tid = (struct map64){0};
	map64_reserve(&machine->threads_by_tid, old.threads_by_tid.count / 2); /* there will be as many again, or nearly */
	memset(&machine->threads, 0, sizeof(machine->threads));
	placeholders_drop(&machine->private->placeholders);
	machine->kernel_maps = maps_carry(&carrying, old.kernel_maps);
	machine->guest_maps = maps_carry(&carrying, old.guest_maps);
	keep_guests(machine);
	for (size_t i = 0; i < old.threads.len; i++)
		if (stays[i])
			carry_thread(&carrying, old.threads.data[i]);
	if (holder)
		holder->carry(holder->context, &carrying);
	machine->generation++;
	if (machine->drops_files)
		machine_forget_files(machine);
	machine->private->kept = memory_of(machine);
	map64_deinit(&carrying.moved);
	map64_deinit(&carrying.epochs);
	map64_deinit(&old.threads_by_tid);
	vec_deinit(&old.threads);
	intern_deinit(&old.names);
	arena_deinit(&old.arena);
	free(stays);
}

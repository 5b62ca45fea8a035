/* Builds the timelines: a state machine for each thread, fed in the order of time. Threads are told of by events of others too (who comes
 * back is in the event of who leaves; some kernels lose those of the idle task, so SWITCH records are listened to as well: whichever comes
 * first counts). */
#include "analysis/where/timeline.h"

#include "analysis/lock/types.h"
#include "analysis/tracker.h"
#include "analysis/where/timeline_internal.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/search.h"
#include "perfdata/records.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { KTHREADD = 2 };

/* ---- threads ---- */

void where_note_time(struct where_build *build, uint64_t time)
{
	if (!build->first)
		build->first = time;
	build->last = time;
}

static bool is_asked_for(const struct where_options *options, uint32_t pid)
{
	for (size_t i = 0; i < options->pid_count; i++)
		if (options->pids[i] == pid)
			return true;
	return !options->pids && !options->root && pid != options->own;
}

struct where_thread *where_thread_at(struct where_build *build, uint32_t tid, uint64_t time)
{
	bool is_new;
	struct where_thread *thread = sched_tasks_get(&build->timeline->tasks, tid, time, &is_new);
	if (!is_new)
		return thread;
	const struct thread *known = thread->task.thread;
	thread->ended = UINT64_MAX;
	thread->is_kernel = known->ppid == KTHREADD || tid == KTHREADD;
	thread->is_chosen = is_asked_for(build->options, known->pid);
	if (build->options->root && tid == build->options->root) {
		thread->is_chosen = true;
		build->timeline->root = thread;
	}
	return thread;
}

static void on_fork(struct where_build *build, const struct record *record)
{
	const struct record_task *fork = (const struct record_task *)record->header;
	if (!build->first || !record->time || (record->header->misc & RECORD_MISC_FORK_EXEC))
		return; /* it ran before */
	struct where_thread *child = where_thread_at(build, fork->tid, record->model_time);
	struct where_thread *parent = where_thread_at(build, fork->ptid, record->model_time);
	if (child == parent || child->born)
		return;
	child->parent = parent;
	child->born = record->time;
	child->is_chosen |= parent->is_chosen;
	/* Until it first runs it waits for a CPU. */
	child->away = true;
	child->open = (struct where_wait){.begin = record->time, .woken = record->time};
}

/* Whether a program is named among the words of the command line that made the recording. */
static bool is_in_command_line(const struct where_build *build, const char *comm)
{
	enum { COMM_LENGTH = 15 };
	const struct features *features = &build->session->reader->features;
	for (uint32_t i = 0; i < features->command_line_count; i++) {
		const char *word = features->command_line[i], *slash = strrchr(word, '/');
		if (*comm && !strncmp(slash ? slash + 1 : word, comm, COMM_LENGTH))
			return true;
	}
	return false;
}

/* The command that perf record starts is called perf-exec until its exec. Other recorders may start theirs at the same time. */
static void look_for_root(struct where_build *build, const struct thread *thread, const struct record *record)
{
	const struct where_options *options = build->options;
	struct where_timeline *timeline = build->timeline;
	if (build->is_root_sure || options->pids || options->root || options->is_whole ||
	    strcmp(untrusted_raw(thread_comm(thread, record->model_time - 1)), "perf-exec") != 0)
		return;
	build->is_root_sure = options->own ? thread->ppid == options->own
					   : is_in_command_line(build, untrusted_raw(thread_comm(thread, record->model_time)));
	if (timeline->root && !build->is_root_sure)
		return;
	timeline->root = where_thread_at(build, thread->tid, record->model_time);
	timeline->begin = 0;
}

static void on_comm(struct where_build *build, const struct record *record)
{
	const struct record_comm *comm = (const struct record_comm *)record->header;
	struct where_timeline *timeline = build->timeline;
	if (!(record->header->misc & RECORD_MISC_COMM_EXEC) || !record->time)
		return;
	if (comm->tid == build->options->root)
		where_thread_at(build, comm->tid, record->model_time);
	const struct thread *thread = machine_thread(build->session->machine, comm->tid, record->model_time);
	if (thread)
		look_for_root(build, thread, record);
	if (timeline->root && timeline->root->task.tid == comm->tid && !timeline->begin)
		timeline->begin = record->time;
}

static void on_end(struct where_build *build, const struct record *record)
{
	const struct record_task *exit = (const struct record_task *)record->header;
	if (!record->time)
		return;
	where_note_time(build, record->time);
	where_thread_at(build, exit->tid, record->model_time)->ended = record->time;
}

/* ---- on and off the CPU ---- */

static const struct where_place **whole_of(struct where_build *build, const void *who, const struct where_place *part)
{
	uint64_t key = hash_combine((uintptr_t)who, (uintptr_t)part);
	bool is_new;
	uint64_t *index = map64_insert(&build->by_part, key, &is_new);
	if (is_new) {
		*index = build->wholes.len;
		vec_push(&build->wholes, NULL);
	}
	return &build->wholes.data[*index];
}

void where_learn_whole(struct where_build *build, const struct where_thread *thread, const struct where_place *part,
		       const struct where_place *whole)
{
	*whole_of(build, thread, part) = whole;
	*whole_of(build, thread->task.thread->process, part) = whole;
}

const struct where_place *where_likely_whole(struct where_build *build, const struct where_thread *thread, const struct where_place *part)
{
	const struct where_place *own = *whole_of(build, thread, part);
	const struct where_place *of_others = own ? own : *whole_of(build, thread->task.thread->process, part);
	return of_others ? of_others : part;
}

/* With sampled stacks a switch may have two events, whichever comes first: whether this is the second. */
static bool is_second(struct where_build *build, struct where_thread *thread, const struct where_place *place, bool has_copy, uint64_t time)
{
	enum { TOGETHER_NS = 200000 };
	if (!build->options->sampled_stacks || !thread->away || !thread->open.place || thread->has_copy == has_copy ||
	    time - thread->open.begin > TOGETHER_NS)
		return false;
	const struct where_place *part = has_copy ? thread->part : place;
	if (has_copy)
		thread->open.place = place;
	where_learn_whole(build, thread, part, thread->open.place);
	thread->has_copy = true;
	return true;
}

/* The thread leaves the CPU, and nobody has seen it come back. */
static void end_unseen(struct where_thread *thread, uint64_t time)
{
	struct where_wait *wait = &thread->open;
	wait->end = wait->woken < time ? wait->woken : time;
	wait->woken = wait->end;
	thread->endless++;
	if (wait->end > wait->begin)
		vec_push(&thread->waits, *wait);
}

void where_leave(struct where_build *build, struct where_thread *thread, const struct where_leaving *leaving)
{
	if (thread->away)
		end_unseen(thread, leaving->time);
	thread->away = thread->was_on = true;
	thread->was_looked_at = false;
	thread->has_copy = leaving->has_copy;
	thread->argument = leaving->argument;
	thread->open = (struct where_wait){
		.begin = leaving->time,
		.woken = leaving->goes_on ? leaving->time : UINT64_MAX,
		.place = leaving->place,
	};
	if (thread->is_chosen && !leaving->goes_on && leaving->has_argument)
		thread->open.object = where_object_of(&build->timeline->objects, leaving->place, leaving->argument, thread->task.thread,
						      leaving->time, leaving->model_time);
	where_devices_wait(&build->devices, thread->task.tid);
}

static void leave(struct where_build *build, const struct tracker_event *event, struct where_thread *thread, bool goes_on)
{
	const struct record *record = event->record;
	const struct where_place *place =
		where_place_of(&build->timeline->places, record, tracker_sample(event), thread->task.thread, false);
	struct where_leaving leaving = {
		.time = record->time, .model_time = record->model_time, .goes_on = goes_on, .has_copy = tracker_sample(event)->stack_size};
	if (is_second(build, thread, place, leaving.has_copy, record->time))
		return;
	thread->part = place;
	leaving.place = build->options->sampled_stacks && !leaving.has_copy ? where_likely_whole(build, thread, place) : place;
	leaving.has_argument = where_argument(build->session->machine, tracker_sample(event), &leaving.argument);
	where_leave(build, thread, &leaving);
}

static const struct where_asleep *find_asleep(const struct where_options *options, uint32_t tid)
{
	size_t i = partition_point(k, options->asleep_count, options->asleep[k].tid < tid);
	return i < options->asleep_count && options->asleep[i].tid == tid ? &options->asleep[i] : NULL;
}

/* It has slept since before measuring began, as far as is known where. */
static void was_asleep(struct where_build *build, struct where_thread *thread, uint64_t model_time)
{
	struct where_timeline *timeline = build->timeline;
	const struct where_asleep *asleep = find_asleep(build->options, thread->task.tid);
	const struct thread *known = thread->task.thread;
	thread->away = true;
	thread->open = (struct where_wait){.woken = UINT64_MAX};
	if (!asleep)
		return;
	thread->open.place = where_place_asleep(&timeline->places, asleep, known, model_time);
	thread->argument = asleep->argument;
	thread->open.object = where_object_of(&timeline->objects, thread->open.place, asleep->argument, known, build->first, model_time);
}

static bool is_unheard_of(const struct where_thread *thread)
{
	return !thread->was_on && !thread->away && !thread->born;
}

/* Whether it is told of whoever is woken up. */
static bool has_wakings(const struct where_build *build)
{
	return build->options->next_switch || tracker_has(build->tracker, "sched:sched_waking") ||
	       tracker_has(build->tracker, "sched:sched_wakeup");
}

/* One that ran before is first heard of when it comes back. If nobody has woken it up since measuring began, it didn't sleep any more then,
 * wherever it was when it was looked at: it has waited for a CPU. */
static void was_away(struct where_build *build, struct where_thread *thread, uint64_t model_time)
{
	if (!has_wakings(build)) {
		was_asleep(build, thread, model_time);
		return;
	}
	thread->away = true;
	thread->open = (struct where_wait){0};
}

/* Those that nobody has heard of sleep on. */
static void add_sleepers(struct where_build *build)
{
	const struct where_options *options = build->options;
	for (size_t i = 0; i < options->asleep_count; i++) {
		const struct where_asleep *asleep = &options->asleep[i];
		if (!is_asked_for(options, asleep->pid))
			continue;
		struct where_thread *thread = where_thread_at(build, asleep->tid, UINT64_MAX - 1);
		if (thread->task.thread->pid == asleep->pid && is_unheard_of(thread))
			was_asleep(build, thread, UINT64_MAX - 1);
	}
}

void where_come_back(struct where_build *build, struct where_thread *thread, uint64_t time, uint64_t model_time, uint32_t cpu)
{
	if (is_unheard_of(thread))
		was_away(build, thread, model_time);
	thread->was_on = true;
	if (!thread->away)
		return;
	struct where_wait *wait = &thread->open;
	thread->away = false;
	wait->end = time;
	if (wait->woken > wait->end)
		wait->woken = wait->end;
	wait->taker = where_runs_longest(&build->runs, cpu, wait->woken, wait->end);
	where_devices_name(&build->devices, thread->task.tid, wait);
	if (wait->end > wait->begin)
		vec_push(&thread->waits, *wait);
}

enum { PREV_STATE, PREV_PID, NEXT_PID };

static void on_switch(void *context, const struct tracker_event *event)
{
	static const uint64_t preempted = 0x100; /* TASK_REPORT_MAX: R+ */
	struct where_build *build = context;
	const struct record *record = event->record;
	uint32_t next = (uint32_t)event->values[NEXT_PID];
	struct where_thread *before = NULL;
	uint32_t cpu = event->cpu;
	where_note_time(build, record->time);
	/* What has ended has no number any more in our pid namespace. */
	uint32_t previous = event->tid == UINT32_MAX ? (uint32_t)event->values[PREV_PID] : event->tid;
	if (previous) {
		uint64_t state = event->values[PREV_STATE];
		build->timeline->has_stacks |= (record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
		before = where_thread_at(build, previous, record->model_time);
		leave(build, event, before, !state || (state & preempted));
	}
	where_runs_switch(&build->runs, cpu, before, record->time);
	if (next)
		where_come_back(build, where_thread_at(build, next, record->model_time), record->time, record->model_time, cpu);
}

enum { WOKEN_PID, COMMON_FLAGS };
enum { FLAG_HARDIRQ = 8, FLAG_SOFTIRQ = 16 }; /* of common_flags: include/linux/trace_events.h */

void where_wake(struct where_build *build, uint32_t woken, const struct where_waking *waking, uint64_t model_time)
{
	struct where_thread *thread = where_thread_at(build, woken, model_time);
	if (is_unheard_of(thread)) /* woken up: it has slept */
		was_asleep(build, thread, model_time);
	if (!thread->away || thread->open.woken != UINT64_MAX)
		return;
	struct where_wait *wait = &thread->open;
	/* What the machine sends itself is delivered by a soft interrupt that the sender's thread serves at once. */
	bool by_sender = !waking->in_hardirq && (!waking->in_softirq || (wait->place && wait->place->kind == WHERE_NETWORK));
	wait->woken = waking->time;
	/* Whoever kills a process gives it no lock. */
	if (wait->is_held && (!by_sender || waking->pid != thread->task.thread->pid))
		return;
	wait->is_held = false;
	wait->waker = by_sender && waking->tid ? where_thread_at(build, waking->tid, model_time) : NULL;
}

/* Whether a function serves soft interrupts when a hard one has ended, or in a thread of their own. */
static bool serves_others(struct where_build *build, uint64_t address)
{
	static const char *const names[] = {"irq_exit", "irq_exit_rcu", "__irq_exit_rcu", "run_ksoftirqd"};
	uint64_t start;
	bool is_new, found = false;
	uint64_t *known = map64_insert(&build->raised, address, &is_new);
	if (!is_new)
		return *known == 2;
	const struct symbol *symbol = resolver_kernel_symbol(build->timeline->places.resolver, address, &start);
	for (size_t i = 0; symbol && i < sizeof(names) / sizeof(*names); i++)
		found |= !strcmp(symbol->name, names[i]);
	*known = found ? 2 : 1;
	return found;
}

/* In a soft interrupt: whoever is there has nothing to do with it, as when a packet comes from another machine, or a timer ends. */
static bool is_of_others(struct where_build *build, const struct tracker_event *event)
{
	const struct sample *sample = tracker_sample(event);
	for (uint64_t i = 0; i < sample->chain_count; i++)
		if (sample->chain[i] < (uint64_t)PERF_CONTEXT_MAX && serves_others(build, sample->chain[i]))
			return true;
	return false;
}

static void on_waking(void *context, const struct tracker_event *event)
{
	struct where_build *build = context;
	const struct record *record = event->record;
	uint32_t woken = (uint32_t)event->values[WOKEN_PID];
	uint64_t flags = event->values[COMMON_FLAGS];
	const struct where_waking waking = {.time = record->time,
					    .pid = event->pid,
					    .tid = event->tid,
					    .in_hardirq = flags & FLAG_HARDIRQ || (flags & FLAG_SOFTIRQ && is_of_others(build, event)),
					    .in_softirq = flags & FLAG_SOFTIRQ};
	where_note_time(build, record->time);
	if (woken)
		where_wake(build, woken, &waking, record->model_time);
}

static void on_clock(struct where_build *build, const struct record *record)
{
	struct sample sample;
	if (!session_decode(build->session, record, &sample) || !sample.tid)
		return;
	where_note_time(build, record->time);
	struct where_thread *thread = where_thread_at(build, sample.tid, record->model_time);
	thread->was_on = true;
	const struct where_place *place = where_place_of(&build->timeline->places, record, &sample, thread->task.thread, true);
	vec_push(&thread->samples, (struct where_sample){record->time, place});
}

/* Which thread a SWITCH record is of. */
static void on_switch_record(struct where_build *build, const struct record *record)
{
	struct sample_id id = {0};
	if (!record->event || (record->header->misc & RECORD_MISC_SWITCH_OUT))
		return;
	sample_id_decode(&build->session->reader->layouts[record->event->index], record->header, &id);
	if (id.tid && id.tid != UINT32_MAX)
		where_come_back(build, where_thread_at(build, id.tid, record->model_time), record->time, record->model_time, id.cpu);
}

/* ---- long waits, while they last ---- */

static struct where_thread *find_thread(const struct where_timeline *timeline, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < timeline->tasks.all.len; i++) {
		struct where_thread *thread = where_thread(timeline, i);
		if (thread->task.tid == tid && thread->task.thread->pid == pid && thread->ended == UINT64_MAX)
			return thread;
	}
	return NULL;
}

static bool is_join(const struct where_wait *wait)
{
	return wait->place && wait->place->lock == (LOCK_USER | LOCK_USER_JOIN);
}

/* Who still has what a thread waits for. */
static void find_holder(struct where_build *build, struct where_thread *thread)
{
	const struct where_options *options = build->options;
	struct where_wait *wait = &thread->open;
	uint32_t pid = thread->task.thread->pid;
	if (!options->find_holder || !thread->away || !thread->is_chosen || !thread->argument || wait->woken != UINT64_MAX ||
	    !wait->place || (!is_join(wait) && wait->place->lock != (LOCK_USER | LOCK_USER_MUTEX)))
		return;
	uint32_t holder = options->find_holder(options->tick_context, pid, thread->argument, is_join(wait));
	if (!holder && wait->is_held) /* the process has just been killed, which is read later */
		return;
	wait->waker = holder && holder != thread->task.tid ? find_thread(build->timeline, pid, holder) : NULL;
	wait->is_held = wait->waker;
}

/* Of many waits no copy of the stack is taken. What lasts is looked at in /proc instead: it is still the same wait when it is in the same
 * system call with the same argument. Events are read late: whoever is elsewhere by now is looked at again when that has come. */
static bool look(struct where_build *build, struct where_thread *thread)
{
	const struct where_options *options = build->options;
	const struct thread *known = thread->task.thread;
	const char *syscall = thread->open.place ? thread->open.place->syscall : NULL;
	struct where_asleep asleep;
	if (thread->has_copy || !syscall)
		return true;
	if (!options->look(options->tick_context, known->pid, known->tid, &asleep) || asleep.argument != thread->argument)
		return false;
	const struct where_place *place = where_place_asleep(&build->timeline->places, &asleep, known, UINT64_MAX - 1);
	if (place && place->syscall == syscall && place->kind == thread->open.place->kind)
		thread->open.place = place;
	return true;
}

static void tell_holder(const struct where_thread *thread)
{
	const struct where_wait *wait = &thread->open;
	if (wait->is_held)
		log_info(is_join(wait) ? "thread %u waits for the end of thread %u" : "thread %u waits for a mutex that thread %u has",
			 thread->task.tid, wait->waker->task.tid);
}

static void look_at_waits(struct where_build *build, uint64_t time)
{
	enum { LONG_NS = 50000000, MOST_LOOKS = 20 };
	unsigned int looks = 0;
	for (size_t i = 0; i < build->timeline->tasks.all.len && looks < MOST_LOOKS; i++) {
		struct where_thread *thread = where_thread(build->timeline, i);
		const struct where_wait *wait = &thread->open;
		if (!thread->is_chosen || !thread->away || wait->woken != UINT64_MAX || time < wait->begin + LONG_NS ||
		    thread->was_looked_at)
			continue;
		thread->was_looked_at = look(build, thread);
		find_holder(build, thread);
		tell_holder(thread);
		looks++;
	}
}

/* ---- block devices ---- */

static void on_bio(struct where_build *build, const struct tracker_event *event, enum where_bio what)
{
	where_note_time(build, event->record->time);
	where_devices_bio(&build->devices, what, event->values, event->tid, event->record->time);
}

static void on_bio_queue(void *context, const struct tracker_event *event)
{
	on_bio(context, event, WHERE_BIO_QUEUE);
}

static void on_bio_remap(void *context, const struct tracker_event *event)
{
	on_bio(context, event, WHERE_BIO_REMAP);
}

static void on_bio_complete(void *context, const struct tracker_event *event)
{
	on_bio(context, event, WHERE_BIO_COMPLETE);
}

static const struct tracker_handler handlers[] = {
	{"sched:sched_switch", {[PREV_STATE] = "prev_state", [PREV_PID] = "prev_pid", [NEXT_PID] = "next_pid"}, on_switch},
	{"sched:sched_waking", {[WOKEN_PID] = "pid", [COMMON_FLAGS] = "common_flags"}, on_waking},
	{"sched:sched_wakeup", {[WOKEN_PID] = "pid", [COMMON_FLAGS] = "common_flags"}, on_waking, .unless = "sched:sched_waking"},
	{"block:block_bio_queue", {"dev", "sector", "nr_sector"}, on_bio_queue},
	{"block:block_bio_remap", {"dev", "sector", "nr_sector", "old_dev", "old_sector"}, on_bio_remap},
	{"block:block_bio_complete", {"dev", "sector", "nr_sector"}, on_bio_complete},
	{0},
};

/* ---- all of it ---- */

static void take(struct where_build *build, const struct record *record)
{
	if (!record->is_sample && record_is_of_guest(record->header))
		return;
	switch (record->is_sample ? RECORD_SAMPLE : record->header->type) {
	case RECORD_SAMPLE:
		if (tracker_wants(build->tracker, record))
			tracker_give(build->tracker, record);
		else if (where_switches_have(record->event))
			where_switches_learn(build, record);
		else if (!record->event->tracepoint)
			on_clock(build, record);
		break;
	case RECORD_FORK:
		on_fork(build, record);
		break;
	case RECORD_COMM:
		on_comm(build, record);
		break;
	case RECORD_EXIT:
		on_end(build, record);
		break;
	case RECORD_FINISHED_ROUND:
		if (build->options->look)
			look_at_waits(build, build->last);
		if (build->options->tick)
			build->options->tick(build->options->tick_context);
		break;
	case RECORD_SWITCH:
	case RECORD_SWITCH_CPU_WIDE:
		on_switch_record(build, record);
		break;
	default:
		break;
	}
}

/* Who is chosen with the workload found late: it and all that it started. */
static void choose_family(struct where_timeline *timeline)
{
	if (!timeline->root)
		return;
	for (size_t i = 0; i < timeline->tasks.all.len; i++) {
		struct where_thread *thread = where_thread(timeline, i), *ancestor = thread;
		while (ancestor && ancestor != timeline->root)
			ancestor = ancestor->born ? ancestor->parent : NULL;
		thread->is_chosen = ancestor != NULL;
	}
}

static void find_holders(struct where_build *build)
{
	for (size_t i = 0; i < build->timeline->tasks.all.len; i++)
		find_holder(build, where_thread(build->timeline, i));
}

/* What lasts until the end is a wait like others, but for its end. */
static void close_waits(struct where_timeline *timeline)
{
	for (size_t i = 0; i < timeline->tasks.all.len; i++) {
		struct where_thread *thread = where_thread(timeline, i);
		uint64_t end = thread->ended < timeline->end ? thread->ended : timeline->end;
		if (!thread->away || thread->open.begin >= end)
			continue;
		thread->open.end = end;
		if (thread->open.woken > end)
			thread->open.woken = end;
		vec_push(&thread->waits, thread->open);
	}
}

static void set_range(struct where_build *build)
{
	struct where_timeline *timeline = build->timeline;
	if (!timeline->begin)
		timeline->begin = build->first;
	timeline->end = build->last;
	if (timeline->root && timeline->root->ended < timeline->end)
		timeline->end = timeline->root->ended;
	if (timeline->end < timeline->begin)
		timeline->end = timeline->begin;
}

struct error *where_timeline_read(struct session *session, struct resolver *resolver, const struct where_options *options,
				  struct where_timeline *ret)
{
	struct where_build build = {.session = session, .timeline = ret, .options = options};
	struct record record;
	struct error *error = NULL;
	*ret = (struct where_timeline){0};
	where_places_init(&ret->places, session, resolver);
	ret->places.is_partial = options->sampled_stacks;
	ret->objects = (struct where_objects){
		.places = &ret->places, .name_descriptor = options->name_descriptor, .context = options->tick_context};
	ret->is_of_processes = options->pids;
	sched_tasks_init(&ret->tasks, session->machine, sizeof(struct where_thread));
	build.tracker = tracker_create(session, handlers, &build);
	while (session_next(session, &record, &error) > 0) {
		if (record.time)
			where_switches_take(&build, record.time);
		take(&build, &record);
	}
	where_switches_take(&build, UINT64_MAX);
	if (!error && !options->next_switch)
		error = tracker_require(build.tracker, "sched:sched_switch", "perf where -o FILE COMMAND");
	add_sleepers(&build);
	set_range(&build);
	choose_family(ret);
	find_holders(&build);
	close_waits(ret);
	where_devices_deinit(&build.devices);
	where_runs_deinit(&build.runs);
	map64_deinit(&build.by_part);
	vec_deinit(&build.wholes);
	where_switches_deinit(&build.switches);
	map64_deinit(&build.raised);
	tracker_destroy(build.tracker);
	return error;
}

void where_timeline_deinit(struct where_timeline *timeline)
{
	for (size_t i = 0; i < timeline->tasks.all.len; i++) {
		struct where_thread *thread = where_thread(timeline, i);
		vec_deinit(&thread->waits);
		vec_deinit(&thread->samples);
	}
	sched_tasks_deinit(&timeline->tasks);
	where_objects_deinit(&timeline->objects);
	where_places_deinit(&timeline->places);
}

size_t where_waits_before(const struct where_thread *thread, uint64_t time)
{
	return partition_point(i, thread->waits.len, thread->waits.data[i].begin < time);
}

#include "analysis/sched/off_cpu.h"

#include "analysis/sched/tasks.h"
#include "analysis/tracker.h"
#include "base/mem.h"
#include "perfdata/records.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* An event that is remembered until a wait ends. */
struct kept {
	struct record record;
	struct record_header *copy; /* its record; the room is kept for the next one */
	size_t room;		    /* bytes there */
};

/* A thread, and its wait while it is away. */
struct task {
	struct sched_task head;
	struct kept left, woken;
	const struct thread *waker; /* of `woken`; NULL = there is none */
	bool away;
	bool is_ours; /* of the threads that were asked for */
	bool counts;  /* the wait is one that the options choose, but for its length */
};

struct off_cpu {
	struct session *session;
	struct off_cpu_options options;
	void (*handle)(void *context, const struct off_cpu_wait *wait);
	void *context;
	struct tracker *tracker;
	struct sched_tasks tasks;
	struct off_cpu_losses losses;
};

static bool has_user_part(const struct sample *sample)
{
	for (uint64_t i = 0; i < sample->chain_count; i++)
		if (sample->chain[i] == (uint64_t)PERF_CONTEXT_USER)
			return true;
	return sample->deferred_count || sample->regs_user.abi;
}

static bool is_chosen(const struct off_cpu_options *options, const struct sample *sample, uint64_t state)
{
	if (options->by_state && !(options->states ? state & options->states & OFF_CPU_ASLEEP : !(state & OFF_CPU_ASLEEP)))
		return false;
	if (!sched_scope_has_cpu(&options->scope, sample->cpu))
		return false;
	if (!options->user_only && !options->kernel_only)
		return true;
	return has_user_part(sample) == options->user_only;
}

static void keep(struct kept *kept, const struct record *record)
{
	if (kept->room < record->header->size) {
		free(kept->copy);
		kept->room = record->header->size;
		kept->copy = mem_alloc(kept->room);
	}
	memcpy(kept->copy, record->header, record->header->size);
	kept->record = *record;
	kept->record.header = kept->copy;
}

/* Whether the process is the chosen one, or one that it has started. */
static bool is_of_family(const struct machine *machine, const struct thread *thread, uint32_t root)
{
	enum { MOST_GENERATIONS = 64 };
	for (unsigned int i = 0; thread && i < MOST_GENERATIONS; i++) {
		if (thread->pid == root)
			return true;
		thread = thread->start ? machine_thread(machine, thread->ppid, thread->start) : NULL;
	}
	return false;
}

static bool is_chosen_thread(const struct off_cpu *off_cpu, const struct thread *thread)
{
	const struct off_cpu_options *options = &off_cpu->options;
	for (size_t i = 0; i < options->pid_count; i++)
		if (thread->pid == options->pids[i] || thread->tid == options->pids[i])
			return true;
	return options->root ? is_of_family(off_cpu->session->machine, thread, options->root) : !options->pid_count;
}

static void leave(struct off_cpu *off_cpu, const struct tracker_event *event, uint64_t state)
{
	const struct record *record = event->record;
	struct task *task = sched_tasks_get(&off_cpu->tasks, event->tid, record->model_time, NULL);
	if (task->away && task->is_ours) {
		off_cpu->losses.endless++;
		off_cpu->losses.waiting--;
	}
	task->away = true;
	task->is_ours = is_chosen_thread(off_cpu, task->head.thread);
	off_cpu->losses.waiting += task->is_ours;
	task->waker = NULL;
	task->counts = task->is_ours && is_chosen(&off_cpu->options, tracker_sample(event), state);
	task->left.record.time = record->time;
	if (task->counts)
		keep(&task->left, record);
}

/* The part of a wait that lies within the times. */
static uint64_t duration_of(const struct sched_scope *scope, uint64_t from, uint64_t to)
{
	if (from < scope->begin)
		from = scope->begin;
	if (scope->end && to > scope->end)
		to = scope->end;
	return to > from ? to - from : 0;
}

static void come_back(struct off_cpu *off_cpu, uint32_t tid, const struct record *record)
{
	struct task *task = tid ? sched_tasks_get(&off_cpu->tasks, tid, record->model_time, NULL) : NULL;
	if (!task || !task->away)
		return;
	task->away = false;
	off_cpu->losses.waiting -= task->is_ours;
	uint64_t duration = duration_of(&off_cpu->options.scope, task->left.record.time, record->time);
	if (task->counts && duration >= off_cpu->options.min_ns && duration <= off_cpu->options.max_ns)
		off_cpu->handle(off_cpu->context, &(struct off_cpu_wait){task->head.thread, &task->left.record,
									 task->waker ? &task->woken.record : NULL, task->waker, duration});
}

enum { PREV_STATE, NEXT_PID };

/* The idle task of a CPU, 0, waits for nothing. */
static void on_switch(void *context, const struct tracker_event *event)
{
	struct off_cpu *off_cpu = context;
	if (event->fields[NEXT_PID])
		come_back(off_cpu, (uint32_t)event->values[NEXT_PID], event->record);
	if (event->tid)
		leave(off_cpu, event, event->values[PREV_STATE]);
}

enum { WOKEN_PID, COMMON_FLAGS };
enum { FLAG_HARDIRQ = 8, FLAG_SOFTIRQ = 16 }; /* of common_flags: include/linux/trace_events.h */

/* What an interrupt wakes up, none of the thread's doing has. */
static void on_waking(void *context, const struct tracker_event *event)
{
	struct off_cpu *off_cpu = context;
	const struct record *record = event->record;
	uint32_t woken = (uint32_t)event->values[WOKEN_PID];
	struct task *task = off_cpu->options.wakers && woken ? sched_tasks_get(&off_cpu->tasks, woken, record->model_time, NULL) : NULL;
	if (!task || !task->away || !task->counts || task->waker || !event->tid ||
	    (event->values[COMMON_FLAGS] & (FLAG_HARDIRQ | FLAG_SOFTIRQ)))
		return;
	task->waker = machine_thread_or_new(off_cpu->session->machine, event->pid, event->tid, record->model_time);
	keep(&task->woken, record);
}

static const struct tracker_handler handlers[] = {
	{"sched:sched_switch", {[PREV_STATE] = "prev_state", [NEXT_PID] = "next_pid"}, on_switch},
	{"sched:sched_waking", {[WOKEN_PID] = "pid", [COMMON_FLAGS] = "common_flags"}, on_waking},
	{0},
};

struct off_cpu *off_cpu_create(struct session *session, const struct off_cpu_options *options,
			       void (*handle)(void *context, const struct off_cpu_wait *wait), void *context)
{
	struct off_cpu *off_cpu = mem_zalloc(sizeof(*off_cpu));
	off_cpu->session = session;
	off_cpu->options = *options;
	off_cpu->handle = handle;
	off_cpu->context = context;
	off_cpu->tracker = tracker_create(session, handlers, off_cpu);
	sched_tasks_init(&off_cpu->tasks, session->machine, sizeof(struct task));
	return off_cpu;
}

static void task_deinit(void *state)
{
	struct task *task = state;
	free(task->left.copy);
	free(task->woken.copy);
}

void off_cpu_destroy(struct off_cpu *off_cpu)
{
	if (!off_cpu)
		return;
	for (size_t i = 0; i < off_cpu->tasks.all.len; i++)
		task_deinit(off_cpu->tasks.all.data[i]);
	sched_tasks_deinit(&off_cpu->tasks);
	tracker_destroy(off_cpu->tracker);
	free(off_cpu);
}

/* Which thread a SWITCH record is of. */
static uint32_t switched_thread(const struct off_cpu *off_cpu, const struct record *record)
{
	struct sample_id id = {0};
	if (record->event)
		sample_id_decode(&off_cpu->session->reader->layouts[record->event->index], record->header, &id);
	return id.tid;
}

void off_cpu_take(struct off_cpu *off_cpu, const struct record *record)
{
	uint32_t type = record->header->type;
	if (record->is_sample)
		tracker_give(off_cpu->tracker, record);
	else if ((type == RECORD_SWITCH || type == RECORD_SWITCH_CPU_WIDE) && !(record->header->misc & RECORD_MISC_SWITCH_OUT) &&
		 !record_is_of_guest(record->header))
		come_back(off_cpu, switched_thread(off_cpu, record), record);
}

struct error *off_cpu_require(const struct off_cpu *off_cpu)
{
	struct error *error = tracker_require(off_cpu->tracker, "sched:sched_switch", "perf record -e sched:sched_switch -a -g");
	if (!error && off_cpu->options.wakers)
		error = tracker_require(off_cpu->tracker, "sched:sched_waking",
					"perf record -e sched:sched_switch,sched:sched_waking -a -g");
	return error;
}

struct off_cpu_losses off_cpu_losses(const struct off_cpu *off_cpu)
{
	return off_cpu->losses;
}

/* The tracker of the scheduler's history (timehist.h). */
#include "analysis/sched/timehist.h"

#include "analysis/tracker.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CPUS = 1 << 16, PRIORITIES = 140 };

struct cpu_state {
	uint64_t last;		  /* time of the last switch; 0 = none yet */
	struct sched_times *left; /* who left it idle, or NULL */
};

struct timehist_tracker {
	const struct sched_timehist_options *options;
	struct sched_timehist *result;
	VEC(struct cpu_state) cpus;
};

static const struct untrusted *comm_at(const struct thread *thread, const struct tracker_event *event)
{
	return thread_comm(thread, event->record->model_time);
}

static struct sched_times *get_times(struct timehist_tracker *tracker, uint32_t tid, const struct tracker_event *event)
{
	struct sched_times *times = sched_tasks_get(&tracker->result->tasks, tid, event->record->model_time, NULL);
	times->comm = comm_at(times->task.thread, event);
	return times;
}

static struct sched_times *get_idle(struct timehist_tracker *tracker, uint32_t cpu, const struct thread *thread)
{
	while (tracker->result->idle.len <= cpu)
		vec_push(&tracker->result->idle, (struct sched_times){0});
	struct sched_times *times = &tracker->result->idle.data[cpu];
	times->task.thread = thread;
	times->comm = untrusted("<idle>");
	return times;
}

/* ---- what is wanted ---- */

static bool has(const uint32_t *ids, size_t count, uint32_t id)
{
	size_t i = 0;
	while (i < count && ids[i] != id)
		i++;
	return i < count;
}

bool sched_timehist_wants(const struct sched_timehist_options *options, const struct thread *thread)
{
	return (!options->pid_count || has(options->pids, options->pid_count, thread->pid)) &&
	       (!options->tid_count || has(options->tids, options->tid_count, thread->tid));
}

static bool has_priority(const struct sched_timehist_options *options, int64_t priority)
{
	return !options->priorities || (priority >= 0 && priority < PRIORITIES && options->priorities[priority / 64] >> priority % 64 & 1);
}

/* ---- switches ---- */

static void add_run(struct sched_times *times, uint64_t run)
{
	statistics_add(&times->runs, (double)run);
	times->run += run;
	if (times->runs.count == 1 || run < times->shortest)
		times->shortest = run;
	if (run > times->longest)
		times->longest = run;
}

/* The task ran from `since`, 0 = unknown, until `time`. */
static void tell_times(const struct sched_times *times, uint64_t since, uint64_t time, struct sched_line *line)
{
	if (!since)
		return;
	line->run = time - since;
	line->delay = times->ready && times->ready <= since ? since - times->ready : 0;
	line->wait = times->left && times->left <= since ? since - times->left : 0;
	if (line->delay && times->moved > times->ready && times->moved <= since)
		line->before_migration = times->moved - times->ready;
}

static void add_times(struct sched_times *times, const struct sched_line *line)
{
	add_run(times, line->run);
	times->delay += line->delay;
	*(times->left_as == 'R' ? &times->preempt : times->left_as == 'D' ? &times->iowait : &times->sleep) += line->wait;
}

/* The part of the run [since, *time) that lies in the wanted range; false when none does, and when the range has an end and it isn't known
 * where the run began. */
static bool clip(const struct sched_timehist_options *options, uint64_t *since, uint64_t *time)
{
	if (options->scope.begin > *time || (options->scope.end && (!*since || *since > options->scope.end)))
		return false;
	if (*since && options->scope.begin > *since)
		*since = options->scope.begin;
	if (options->scope.end && *time > options->scope.end)
		*time = options->scope.end;
	return true;
}

static void end_run(struct timehist_tracker *tracker, const struct tracker_event *event, struct sched_times *times,
		    struct sched_times *left, uint64_t since, uint64_t *time)
{
	const struct sched_timehist_options *options = tracker->options;
	struct sched_line line = {
		.kind = SCHED_LINE_SWITCH,
		.cpu = event->cpu,
		.thread = times->task.thread,
		.comm = times->comm,
		.idle = !event->values[0],
		.state = sched_state_letter(event->values[1]),
		.first_priority = times->has_priority ? times->priority : (int64_t)event->values[3],
		.priority = (int64_t)event->values[3],
		.next_tid = (uint32_t)event->values[2],
		.event = event,
	};
	if (!clip(options, &since, time))
		return;
	tell_times(times, since, *time, &line);
	if (options->sums)
		add_times(times, &line);
	tracker->result->switches++;
	if (options->idle_only && !left)
		return;
	if (options->idle_only && options->sums)
		add_run(left, *time - since);
	line.time = *time;
	if (options->line)
		options->line(options->context, &line);
}

const struct untrusted *sched_line_next_comm(const struct sched_line *line, size_t *ret_len)
{
	return tracker_text(line->event, 4, ret_len);
}

static void begin_run(struct timehist_tracker *tracker, const struct tracker_event *event)
{
	uint32_t next = (uint32_t)event->values[2];
	struct sched_times *times = get_times(tracker, next, event);
	if (!next)
		times = get_idle(tracker, event->cpu, times->task.thread);
	times->priority = (int64_t)event->values[5];
	times->has_priority = event->fields[5];
}

static void note_range(struct timehist_tracker *tracker, uint64_t time)
{
	struct sched_timehist *result = tracker->result;
	if (!sched_scope_has_time(&tracker->options->scope, time))
		return;
	if (!result->begin)
		result->begin = time;
	result->end = time;
}

static void on_switch(void *context, const struct tracker_event *event)
{
	struct timehist_tracker *tracker = context;
	const struct sched_timehist_options *options = tracker->options;
	uint32_t prev = (uint32_t)event->values[0], cpu = event->cpu;
	uint64_t time = event->time, now = time;
	if (cpu >= MOST_CPUS)
		return;
	while (tracker->cpus.len <= cpu)
		vec_push(&tracker->cpus, (struct cpu_state){0});
	struct sched_times *times = get_times(tracker, prev, event);
	const struct cpu_state before = tracker->cpus.data[cpu];
	tracker->cpus.data[cpu] = (struct cpu_state){time, event->values[2] ? NULL : times};
	if (!prev)
		times = get_idle(tracker, cpu, times->task.thread);
	bool shown = sched_scope_has_cpu(&options->scope, cpu) && sched_timehist_wants(options, times->task.thread) &&
		     has_priority(options, (int64_t)event->values[3]) && (!options->idle_only || !prev);
	if (shown)
		end_run(tracker, event, times, before.left, before.last, &now);
	note_range(tracker, now);
	times->left = now;
	times->left_as = sched_state_letter(event->values[1]);
	times->ready = times->left_as == 'R' ? now : 0;
	begin_run(tracker, event);
}

/* ---- wake-ups and migrations ---- */

/* A line of what the running task did to another; none when neither is wanted. */
static void tell_other(struct timehist_tracker *tracker, const struct tracker_event *event, const struct sched_times *other,
		       struct sched_line *line)
{
	const struct sched_timehist_options *options = tracker->options;
	const struct sched_times *self = get_times(tracker, event->tid, event);
	if (!options->line || options->idle_only || !sched_scope_has_cpu(&options->scope, event->cpu) ||
	    !sched_scope_has_time(&options->scope, event->time) ||
	    (!sched_timehist_wants(options, self->task.thread) && !sched_timehist_wants(options, other->task.thread)))
		return;
	line->time = event->time;
	line->cpu = event->cpu;
	line->idle = !event->tid;
	line->thread = self->task.thread;
	line->comm = line->idle ? untrusted("swapper") : self->comm;
	line->other = other->task.thread;
	line->other_comm = other->comm;
	options->line(options->context, line);
}

static void on_wakeup(void *context, const struct tracker_event *event)
{
	struct timehist_tracker *tracker = context;
	struct sched_times *other = get_times(tracker, (uint32_t)event->values[0], event);
	if (!other->ready)
		other->ready = event->time;
	if (tracker->options->wakeups)
		tell_other(tracker, event, other, &(struct sched_line){.kind = SCHED_LINE_WAKEUP});
}

static void on_migration(void *context, const struct tracker_event *event)
{
	struct timehist_tracker *tracker = context;
	struct sched_times *other = get_times(tracker, (uint32_t)event->values[0], event);
	other->migrations++;
	other->moved = event->time;
	if (tracker->options->migrations)
		tell_other(tracker, event, other,
			   &(struct sched_line){.kind = SCHED_LINE_MIGRATION,
						.from_cpu = (uint32_t)event->values[1],
						.to_cpu = (uint32_t)event->values[2]});
}

struct error *sched_timehist_create(struct session *session, const struct sched_timehist_options *options, struct sched_timehist **ret)
{
	static const struct tracker_handler handlers[] = {
		{"sched:sched_switch", {"prev_pid", "prev_state", "next_pid", "prev_prio", "next_comm", "next_prio"}, on_switch},
		{"sched:sched_migrate_task", {"pid", "orig_cpu", "dest_cpu"}, on_migration},
		{"sched:sched_wakeup_new", {"pid"}, on_wakeup},
		{"sched:sched_waking", {"pid"}, on_wakeup},
		{"sched:sched_wakeup", {"pid"}, on_wakeup, .unless = "sched:sched_waking"},
		{0},
	};
	struct timehist_tracker tracker = {.options = options, .result = mem_zalloc(sizeof(*tracker.result))};
	struct tracker *events = tracker_create(session, handlers, &tracker);
	sched_tasks_init(&tracker.result->tasks, session->machine, sizeof(struct sched_times));
	struct error *error = tracker_require(events, "sched:sched_switch", "perf sched record");
	if (!error)
		error = tracker_run(events);
	tracker_destroy(events);
	vec_deinit(&tracker.cpus);
	if (error)
		sched_timehist_destroy(tracker.result);
	else
		*ret = tracker.result;
	return error;
}

void sched_timehist_destroy(struct sched_timehist *timehist)
{
	if (!timehist)
		return;
	sched_tasks_deinit(&timehist->tasks);
	vec_deinit(&timehist->idle);
	free(timehist);
}

/* The tracker of delays, and its rows in order (latency.h). */
#include "analysis/sched/latency.h"

#include "analysis/sched/tasks.h"
#include "analysis/tracker.h"
#include "base/cleanup.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum task_state { TASK_UNSEEN, TASK_SLEEPS, TASK_WAITS, TASK_RUNS, TASK_IGNORED };

struct waiting_task {
	struct sched_task task;
	enum task_state state;
	uint64_t since; /* TASK_WAITS: when it became runnable */
	uint64_t left;	/* when it left the CPU, or that it was met */
	struct sched_latency_row row;
};

struct latency_tracker {
	const struct sched_scope *scope;
	struct sched_tasks tasks;
	struct sched_latency *result;
	VEC(uint32_t) running; /* by CPU: tid + 1; 0 = unknown */
};

static struct waiting_task *get_task(struct latency_tracker *tracker, uint64_t tid, const struct tracker_event *event, bool *ret_new)
{
	return sched_tasks_get(&tracker->tasks, (uint32_t)tid, event->record->model_time, ret_new);
}

static bool is_in_scope(const struct latency_tracker *tracker, const struct tracker_event *event)
{
	return sched_scope_has_cpu(tracker->scope, event->cpu) && sched_scope_has_time(tracker->scope, event->time);
}

static void leave(struct waiting_task *task, bool runnable, uint64_t time)
{
	task->left = time;
	task->state = runnable ? TASK_WAITS : TASK_SLEEPS;
	if (runnable)
		task->since = time;
}

static void enter(struct waiting_task *task, bool counts, uint64_t time)
{
	struct sched_latency_row *row = &task->row;
	if (task->state != TASK_WAITS)
		return;
	task->state = TASK_RUNS;
	if (time < task->since) {
		task->state = TASK_IGNORED;
		return;
	}
	if (!counts)
		return;
	uint64_t delay = time - task->since;
	row->count++;
	row->delay += delay;
	if (delay <= row->max_delay)
		return;
	row->max_delay = delay;
	row->max_begin = task->since;
	row->max_end = time;
}

/* Whether the task that leaves is the one that was switched in last. */
static void check_running(struct latency_tracker *tracker, uint32_t cpu, uint32_t prev, uint32_t next)
{
	enum { MOST_CPUS = 1 << 16 };
	if (cpu >= MOST_CPUS)
		return;
	while (tracker->running.len <= cpu)
		vec_push(&tracker->running, 0);
	if (tracker->running.data[cpu] && tracker->running.data[cpu] != prev + 1)
		tracker->result->wrong++;
	tracker->running.data[cpu] = next + 1;
}

static void on_switch(void *context, const struct tracker_event *event)
{
	struct latency_tracker *tracker = context;
	uint64_t prev = event->values[0], state = event->values[1], next = event->values[2], time = event->time;
	bool is_new;
	check_running(tracker, event->cpu, (uint32_t)prev, (uint32_t)next);
	struct waiting_task *out = get_task(tracker, prev, event, NULL);
	leave(out, sched_state_letter(state) == 'R', time);
	struct waiting_task *in = get_task(tracker, next, event, &is_new);
	if (is_new)
		leave(in, true, time);
	enter(in, is_in_scope(tracker, event), time);
}

static void on_wakeup(void *context, const struct tracker_event *event)
{
	struct latency_tracker *tracker = context;
	uint64_t time = event->time;
	bool is_new;
	struct waiting_task *task = get_task(tracker, event->values[0], event, &is_new);
	if (is_new)
		leave(task, false, time);
	if (task->state != TASK_SLEEPS)
		return;
	tracker->result->checked++;
	if (task->left > time) {
		tracker->result->unordered++;
		return;
	}
	task->state = TASK_WAITS;
	task->since = time;
}

static void on_runtime(void *context, const struct tracker_event *event)
{
	struct latency_tracker *tracker = context;
	bool is_new;
	struct waiting_task *task = get_task(tracker, event->values[0], event, &is_new);
	if (is_new)
		leave(task, true, event->time);
	if (is_in_scope(tracker, event))
		task->row.runtime += event->values[1];
}

/* ---- rows ---- */

/* The greater comes first. */
static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int compare_pid(const struct sched_latency_row *a, const struct sched_latency_row *b)
{
	return compare_numbers(a->thread->tid, b->thread->tid);
}

static int compare_average(const struct sched_latency_row *a, const struct sched_latency_row *b)
{
	return compare_numbers(a->count ? a->delay / a->count : 0, b->count ? b->delay / b->count : 0);
}

static int compare_max(const struct sched_latency_row *a, const struct sched_latency_row *b)
{
	return compare_numbers(a->max_delay, b->max_delay);
}

static int compare_count(const struct sched_latency_row *a, const struct sched_latency_row *b)
{
	return compare_numbers(a->count, b->count);
}

static int compare_runtime(const struct sched_latency_row *a, const struct sched_latency_row *b)
{
	return compare_numbers(a->runtime, b->runtime);
}

typedef int compare_rows(const struct sched_latency_row *a, const struct sched_latency_row *b);

static const struct sort_key {
	const char *name;
	compare_rows *compare;
} sort_keys[] = {
	{"avg", compare_average}, {"max", compare_max}, {"switch", compare_count}, {"runtime", compare_runtime}, {"pid", compare_pid},
};
enum { SORT_KEYS = sizeof(sort_keys) / sizeof(*sort_keys) };

struct row_order {
	compare_rows *compare[SORT_KEYS + 1]; /* ends with NULL */
	bool merged;
};

static compare_rows *find_key(const char *name)
{
	for (size_t i = 0; i < SORT_KEYS; i++)
		if (!strcmp(sort_keys[i].name, name))
			return sort_keys[i].compare;
	return NULL;
}

static struct error *parse_sort(const char *text, bool merged, struct row_order *ret)
{
	cleanup_free char *copy = mem_strdup(text ? text : "avg,max,switch,runtime");
	size_t count = 0;
	*ret = (struct row_order){.merged = merged};
	for (char *rest = copy, *word; (word = strsep(&rest, ", "));) {
		compare_rows *compare = find_key(word);
		if (!*word)
			continue;
		if (!compare)
			return error_new_kind(ERROR_USAGE, "unknown sort key '%s'; the keys are avg, max, switch, runtime and pid", word);
		if (count < SORT_KEYS)
			ret->compare[count++] = compare;
	}
	return NULL;
}

static int compare_by_order(const void *a, const void *b, void *context)
{
	const struct row_order *order = context;
	const struct sched_latency_row *one = a, *other = b;
	int result = 0;
	for (size_t i = 0; !result && order->compare[i]; i++)
		result = order->compare[i](one, other);
	if (!result && order->merged)
		result = -strcmp(untrusted_raw(one->comm), untrusted_raw(other->comm));
	return result ? result : compare_pid(one, other);
}

static int compare_names(const void *a, const void *b)
{
	const struct sched_latency_row *one = a, *other = b;
	int result = strcmp(untrusted_raw(one->comm), untrusted_raw(other->comm));
	return result ? result : compare_pid(one, other);
}

/* Rows that stand beside each other and have one name become the first of them. */
static void merge_rows(struct sched_latency *result)
{
	size_t kept = 0;
	qsort(result->rows, result->row_count, sizeof(*result->rows), compare_names);
	for (size_t i = 0; i < result->row_count; i++) {
		const struct sched_latency_row *row = &result->rows[i];
		struct sched_latency_row *into = kept ? &result->rows[kept - 1] : NULL;
		if (!into || into->comm != row->comm) {
			result->rows[kept++] = *row;
			continue;
		}
		into->tasks++;
		into->runtime += row->runtime;
		into->count += row->count;
		into->delay += row->delay;
		if (into->max_delay >= row->max_delay)
			continue;
		into->max_delay = row->max_delay;
		into->max_begin = row->max_begin;
		into->max_end = row->max_end;
	}
	result->row_count = kept;
}

static void make_rows(struct latency_tracker *tracker, const struct sched_latency_options *options, struct row_order *order)
{
	struct sched_latency *result = tracker->result;
	result->rows = mem_alloc_array(tracker->tasks.all.len + 1, sizeof(*result->rows));
	for (size_t i = 0; i < tracker->tasks.all.len; i++) {
		struct waiting_task *task = (struct waiting_task *)tracker->tasks.all.data[i];
		if (!task->task.tid)
			continue;
		task->row.thread = task->task.thread;
		task->row.comm = thread_comm(task->task.thread, UINT64_MAX);
		task->row.tasks = 1;
		result->rows[result->row_count++] = task->row;
	}
	if (options->merge)
		merge_rows(result);
	size_t kept = 0;
	for (size_t i = 0; i < result->row_count; i++) {
		if (!result->rows[i].count)
			continue;
		result->runtime += result->rows[i].runtime;
		result->count += result->rows[i].count;
		result->rows[kept++] = result->rows[i];
	}
	result->row_count = kept;
	qsort_r(result->rows, kept, sizeof(*result->rows), compare_by_order, order);
}

struct error *sched_latency_create(struct session *session, const struct sched_latency_options *options, struct sched_latency **ret)
{
	static const struct tracker_handler handlers[] = {
		{"sched:sched_switch", {"prev_pid", "prev_state", "next_pid"}, on_switch},
		{"sched:sched_waking", {"pid"}, on_wakeup},
		{"sched:sched_wakeup_new", {"pid"}, on_wakeup},
		{"sched:sched_stat_runtime", {"pid", "runtime"}, on_runtime},
		{"sched:sched_wakeup", {"pid"}, on_wakeup, .unless = "sched:sched_waking"},
		{0},
	};
	struct latency_tracker tracker = {.scope = &options->scope};
	struct row_order order;
	struct error *error = parse_sort(options->sort, options->merge, &order);
	if (error)
		return error;
	sched_tasks_init(&tracker.tasks, session->machine, sizeof(struct waiting_task));
	tracker.result = mem_zalloc(sizeof(*tracker.result));
	struct tracker *events = tracker_create(session, handlers, &tracker);
	error = tracker_require(events, "sched:sched_switch", "perf sched record");
	if (!error)
		error = tracker_run(events);
	if (!error)
		make_rows(&tracker, options, &order);
	tracker_destroy(events);
	sched_tasks_deinit(&tracker.tasks);
	vec_deinit(&tracker.running);
	if (error)
		sched_latency_destroy(tracker.result);
	else
		*ret = tracker.result;
	return error;
}

void sched_latency_destroy(struct sched_latency *latency)
{
	if (!latency)
		return;
	free(latency->rows);
	free(latency);
}

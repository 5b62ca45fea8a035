/* The tracker of CPU time and interrupts (top.h). */
#include "analysis/kwork/top.h"

#include "analysis/tracker.h"
#include "base/mem.h"

#include <stdlib.h>

enum { MOST_CPUS = 4096 };

struct top_tracker {
	const struct kwork_top_options *options;
	struct kwork_top *top;
};

static uint64_t clip(const struct sched_scope *scope, uint64_t time)
{
	if (scope->begin && time < scope->begin)
		return scope->begin;
	return scope->end && time > scope->end ? scope->end : time;
}

/* NULL for one that isn't wanted or can't be. */
static struct kwork_cpu *cpu_of(struct top_tracker *tracker, uint32_t number, uint64_t time)
{
	struct kwork_top *top = tracker->top;
	if (number >= MOST_CPUS || !sched_scope_has_cpu(&tracker->options->scope, number))
		return NULL;
	if (!top->begin)
		top->begin = time;
	if (time > top->end)
		top->end = time;
	while (top->cpus.len <= number)
		vec_push(&top->cpus, NULL);
	struct kwork_cpu *cpu = top->cpus.data[number];
	if (!cpu) {
		cpu = top->cpus.data[number] = mem_zalloc(sizeof(*cpu));
		cpu->idle_task.cpu = number;
		cpu->since = top->begin;
	}
	return cpu;
}

static struct kwork_task *task_of(struct top_tracker *tracker, struct kwork_cpu *cpu, uint32_t tid, const struct tracker_event *event)
{
	if (!tid)
		return &cpu->idle_task;
	struct kwork_task *task = sched_tasks_get(&tracker->top->tasks, tid, event->record->model_time, NULL);
	task->comm = thread_comm(task->task.thread, event->record->model_time);
	return task;
}

/* What ran since `since` runs no more. */
static void add_run(const struct kwork_cpu *cpu, struct kwork_task *task, uint64_t end)
{
	uint64_t length = end > cpu->since ? end - cpu->since : 0;
	task->runtime += length > cpu->taken ? length - cpu->taken : 0;
}

static void on_switch(void *context, const struct tracker_event *event)
{
	struct top_tracker *tracker = context;
	uint64_t time = clip(&tracker->options->scope, event->record->time);
	struct kwork_cpu *cpu = cpu_of(tracker, event->cpu, time);
	if (!cpu)
		return;
	add_run(cpu, task_of(tracker, cpu, (uint32_t)event->values[0], event), time);
	cpu->running = task_of(tracker, cpu, (uint32_t)event->values[1], event);
	cpu->since = time;
	cpu->taken = 0;
	cpu->seen = true;
}

/* An interrupt has ended: hard ones that come in soft ones are no time of these. */
static void on_irq(struct top_tracker *tracker, const struct tracker_event *event, bool begins)
{
	if (!tracker->options->hard)
		return;
	uint64_t time = clip(&tracker->options->scope, event->record->time);
	struct kwork_cpu *cpu = cpu_of(tracker, event->cpu, time);
	if (!cpu)
		return;
	if (!begins && cpu->hard_since && time >= cpu->hard_since) {
		uint64_t length = time - cpu->hard_since;
		cpu->hard += length;
		cpu->taken += length;
		cpu->taken_soft += length;
	}
	cpu->hard_since = begins ? time : 0;
}

static void on_irq_entry(void *context, const struct tracker_event *event)
{
	on_irq(context, event, true);
}

static void on_irq_exit(void *context, const struct tracker_event *event)
{
	on_irq(context, event, false);
}

static void on_softirq(struct top_tracker *tracker, const struct tracker_event *event, bool begins)
{
	if (!tracker->options->soft)
		return;
	uint64_t time = clip(&tracker->options->scope, event->record->time);
	struct kwork_cpu *cpu = cpu_of(tracker, event->cpu, time);
	if (!cpu)
		return;
	if (!begins && cpu->soft_since && time >= cpu->soft_since) {
		uint64_t length = time - cpu->soft_since;
		length -= length < cpu->taken_soft ? length : cpu->taken_soft;
		cpu->soft += length;
		cpu->taken += length;
	}
	cpu->soft_since = begins ? time : 0;
	cpu->taken_soft = 0;
}

static void on_softirq_entry(void *context, const struct tracker_event *event)
{
	on_softirq(context, event, true);
}

static void on_softirq_exit(void *context, const struct tracker_event *event)
{
	on_softirq(context, event, false);
}

static const struct tracker_handler handlers[] = {
	{"sched:sched_switch", {"prev_pid", "next_pid"}, on_switch},
	{"irq:irq_handler_entry", {"irq"}, on_irq_entry},
	{"irq:irq_handler_exit", {"irq"}, on_irq_exit},
	{"irq:softirq_entry", {"vec"}, on_softirq_entry},
	{"irq:softirq_exit", {"vec"}, on_softirq_exit},
	{0},
};

/* A CPU on which nothing was switched was idle, as far as anybody can tell. */
static void finish(struct kwork_top *top)
{
	for (size_t i = 0; i < top->cpus.len; i++) {
		struct kwork_cpu *cpu = top->cpus.data[i];
		if (!cpu)
			continue;
		add_run(cpu, cpu->seen ? cpu->running : &cpu->idle_task, top->end);
		cpu->idle = cpu->idle_task.runtime;
	}
}

struct error *kwork_top_create(struct session *session, const struct kwork_top_options *options, struct kwork_top **ret)
{
	struct top_tracker tracker = {.options = options, .top = mem_zalloc(sizeof(*tracker.top))};
	struct tracker *events = tracker_create(session, handlers, &tracker);
	sched_tasks_init(&tracker.top->tasks, session->machine, sizeof(struct kwork_task));
	struct error *error = tracker_require(events, "sched:sched_switch", "perf kwork -k sched,irq,softirq record");
	if (!error)
		error = tracker_run(events);
	if (!error)
		finish(tracker.top);
	tracker_destroy(events);
	if (error)
		kwork_top_destroy(tracker.top);
	else
		*ret = tracker.top;
	return error;
}

void kwork_top_destroy(struct kwork_top *top)
{
	if (!top)
		return;
	for (size_t i = 0; i < top->cpus.len; i++)
		free(top->cpus.data[i]);
	vec_deinit(&top->cpus);
	sched_tasks_deinit(&top->tasks);
	free(top);
}

/* Reads a recording into a timechart: events to their handlers, records of threads, and what is known at the end. */
#include "analysis/timechart/timechart_internal.h"

#include "base/text.h"
#include "event/event.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

static const struct tracker_handler handlers[] = {
	{"sched:sched_switch", {"prev_pid", "next_pid", "prev_state"}, timechart_on_switch},
	{"sched:sched_wakeup", {"pid", "common_pid", "common_flags"}, timechart_on_wakeup},
	{"power:cpu_idle", {"state", "cpu_id"}, timechart_on_idle},
	{"power:cpu_frequency", {"state", "cpu_id"}, timechart_on_frequency},
	{"syscalls:sys_enter_*", {"fd"}, timechart_on_enter},
	{"syscalls:sys_exit_*", {"ret"}, timechart_on_exit},
	{0},
};

/* The number of an interned text. */
static uint32_t number_stack(struct timechart_maker *maker, const char *text)
{
	enum { MOST = 1 << TIMECHART_STACK_BITS };
	bool is_new;
	uint64_t *number = map64_insert(&maker->numbers, (uintptr_t)text, &is_new);
	if (is_new && maker->chart->stacks.len < MOST) {
		*number = maker->chart->stacks.len;
		vec_push(&maker->chart->stacks, text);
	}
	return (uint32_t)*number;
}

static uint32_t resolve_stack(struct timechart_maker *maker, const struct tracker_event *event, const struct thread *thread)
{
	const struct record *record = event->record;
	const struct stack_options options = {0};
	struct strbuf text = {0};
	stack_resolve(maker->resolver, maker->session->machine, thread, record->event, tracker_sample(event), record->model_time, &options,
		      &maker->stack);
	for (size_t i = 0; i < maker->stack.frames.len; i++) {
		const struct symbol *symbol = maker->stack.frames.data[i].symbol;
		if (symbol)
			text_add_safe(&text, symbol->name, strlen(symbol->name));
		else
			strbuf_printf(&text, "0x%llx", (unsigned long long)maker->stack.frames.data[i].ip);
		strbuf_add_char(&text, '\n');
	}
	uint32_t number = text.len ? number_stack(maker, intern_string(maker->stacks, strbuf_str(&text))) : 0;
	strbuf_deinit(&text);
	return number;
}

uint32_t timechart_stack(struct timechart_maker *maker, const struct tracker_event *event)
{
	const struct record *record = event->record;
	bool is_new;
	if (!(record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return 0;
	const struct thread *thread = machine_thread_or_new(maker->session->machine, event->pid, event->tid, record->model_time);
	uint64_t key = stack_chain_key(thread, record->event, tracker_sample(event), record->model_time);
	if (!key)
		return resolve_stack(maker, event, thread);
	uint64_t *known = map64_insert(&maker->by_chain, key, &is_new);
	if (is_new)
		*known = resolve_stack(maker, event, thread);
	return (uint32_t)*known;
}

static void take_other(void *context, const struct record *record)
{
	timechart_take_task_record(context, record);
}

static void take(struct timechart_maker *maker, struct tracker *tracker, const struct record *record)
{
	struct timechart *chart = maker->chart;
	if (!tracker_give(tracker, record))
		return;
	if (!chart->begin || chart->begin > record->time)
		chart->begin = record->time;
	if (chart->end < record->time)
		chart->end = record->time;
}

/* What is still going on at the end isn't drawn: nobody knows how long it took. */
static void finish(struct timechart_maker *maker)
{
	struct timechart *chart = maker->chart;
	const struct features *features = &maker->session->reader->features;
	uint32_t cpus = features->cpus_available;
	timechart_end_power(maker);
	chart->io = maker->call_count;
	chart->cpu_name = features->cpu_desc;
	for (uint32_t cpu = 0; !cpus && cpu < maker->cpus.len; cpu++)
		chart->cpu_count = cpu + 1;
	if (cpus)
		chart->cpu_count = cpus < TIMECHART_CPUS ? cpus : TIMECHART_CPUS;
	if (maker->options->topology)
		timechart_place_cpus(chart, features);
	map64_each (slot, &maker->tasks) {
		const struct timechart_task *task = map64_pointer(slot);
		if (task->row && task->end)
			task->row->end = task->end;
	}
	map64_each (slot, &maker->rows) {
		struct timechart_own_row *row = map64_pointer(slot);
		row->row.parent = timechart_task(maker, row->row.tid)->parent;
		if (row->in_call)
			timechart_drop_call(&row->row);
	}
	timechart_choose(chart, maker->options);
}

static struct error *require_events(const struct tracker *tracker)
{
	static const char *const events[] = {"sched:sched_switch", "power:cpu_idle", "power:cpu_frequency", "syscalls:sys_enter_*"};
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (tracker_has(tracker, events[i]))
			return NULL;
	return error_new("the recording has no events of a timechart; record them with 'perf timechart record'");
}

struct error *timechart_create(struct session *session, struct resolver *resolver, const struct timechart_options *options,
			       struct timechart **ret)
{
	struct timechart_own *own = mem_zalloc(sizeof(*own));
	struct timechart_maker maker = {.session = session,
					.resolver = resolver,
					.options = options,
					.chart = &own->chart,
					.names = &own->names,
					.stacks = &own->stacks};
	struct tracker *tracker = tracker_create(session, handlers, &maker);
	struct error *error = NULL;
	struct record record;
	vec_push(&own->chart.stacks, NULL);
	tracker_choose_events(tracker);
	session_tell_others(session, take_other, &maker);
	while (session_next_sample(session, &record, &error) == 1)
		take(&maker, tracker, &record);
	if (!error)
		error = require_events(tracker);
	if (!error)
		finish(&maker);
	tracker_destroy(tracker);
	stack_deinit(&maker.stack);
	map64_deinit(&maker.tasks);
	map64_deinit(&maker.rows);
	map64_deinit(&maker.by_chain);
	map64_deinit(&maker.numbers);
	vec_deinit(&maker.cpus);
	vec_deinit(&maker.calls);
	if (error)
		timechart_destroy(&own->chart);
	else
		*ret = &own->chart;
	return error;
}

void timechart_destroy(struct timechart *chart)
{
	struct timechart_own *own = (struct timechart_own *)chart;
	if (!own)
		return;
	for (size_t i = 0; i < chart->rows.len; i++) {
		vec_deinit(&chart->rows.data[i]->spans);
		vec_deinit(&chart->rows.data[i]->calls);
	}
	vec_deinit(&chart->stacks);
	vec_deinit(&chart->rows);
	vec_deinit(&chart->power);
	vec_deinit(&chart->wakeups);
	intern_deinit(&own->names);
	intern_deinit(&own->stacks);
	arena_deinit(&chart->arena);
	free(own);
}

/* perf sched timehist for programs: the same lines and sums as rows, times in nanoseconds. Columns are those that the lines have. */
#include "cmd/sched/timehist.h"

#include <linux/perf_event.h>
#include <string.h>

static bool shows_others(const struct timehist_command *command)
{
	return command->wakeups || command->migrations;
}

void timehist_rows_begin(struct timehist_command *command)
{
	struct sched_rows *rows = &command->rows;
	*rows = (struct sched_rows){.format = command->common.format, .id = "lines", .names_table = command->with_summary};
	sched_rows_column(rows, "time", COLUMN_NANOSECONDS);
	sched_rows_column(rows, "cpu", COLUMN_COUNT);
	sched_rows_column(rows, "comm", COLUMN_TEXT);
	sched_rows_column(rows, "tid", COLUMN_COUNT);
	sched_rows_column(rows, "pid", COLUMN_COUNT);
	if (command->show_priority)
		sched_rows_column(rows, "prio", COLUMN_COUNT);
	sched_rows_column(rows, "wait", COLUMN_NANOSECONDS);
	sched_rows_column(rows, "delay", COLUMN_NANOSECONDS);
	if (command->before_migrations)
		sched_rows_column(rows, "pre_migration", COLUMN_NANOSECONDS);
	sched_rows_column(rows, "run", COLUMN_NANOSECONDS);
	if (command->state)
		sched_rows_column(rows, "state", COLUMN_TEXT);
	if (command->next) {
		sched_rows_column(rows, "next_comm", COLUMN_TEXT);
		sched_rows_column(rows, "next_tid", COLUMN_COUNT);
	}
	if (shows_others(command)) {
		sched_rows_column(rows, "event", COLUMN_TEXT);
		sched_rows_column(rows, "other_comm", COLUMN_TEXT);
		sched_rows_column(rows, "other_tid", COLUMN_COUNT);
	}
	if (command->migrations) {
		sched_rows_column(rows, "from_cpu", COLUMN_COUNT);
		sched_rows_column(rows, "to_cpu", COLUMN_COUNT);
	}
	if (command->stacks && timehist_has_stacks(command))
		sched_rows_column(rows, "stack", COLUMN_TEXT);
	sched_rows_begin(rows);
}

static void add_other(const struct timehist_command *command, struct sched_rows *rows, const struct sched_line *line)
{
	static const char *const events[] = {
		[SCHED_LINE_SWITCH] = "switch", [SCHED_LINE_WAKEUP] = "wakeup", [SCHED_LINE_MIGRATION] = "migration"};
	bool is_switch = line->kind == SCHED_LINE_SWITCH;
	sched_rows_text(rows, events[line->kind]);
	sched_rows_text(rows, is_switch ? NULL : untrusted_raw(line->other_comm));
	sched_rows_number(rows, is_switch ? 0 : line->other->tid);
}

void timehist_rows_line(void *context, const struct sched_line *line)
{
	struct timehist_command *command = context;
	struct sched_rows *rows = &command->rows;
	const char state[] = {line->idle ? 'I' : line->state, '\0'};
	bool is_switch = line->kind == SCHED_LINE_SWITCH, moved = line->kind == SCHED_LINE_MIGRATION;
	sched_rows_number(rows, line->time);
	sched_rows_number(rows, line->cpu);
	sched_rows_text(rows, untrusted_raw(line->comm));
	sched_rows_number(rows, line->idle ? 0 : line->thread->tid);
	sched_rows_number(rows, line->idle ? 0 : line->thread->pid);
	if (command->show_priority)
		sched_rows_number(rows, is_switch ? (uint64_t)line->priority : 0);
	sched_rows_number(rows, is_switch ? line->wait : 0);
	sched_rows_number(rows, is_switch ? line->delay : 0);
	if (command->before_migrations)
		sched_rows_number(rows, is_switch ? line->before_migration : 0);
	sched_rows_number(rows, is_switch ? line->run : 0);
	if (command->state)
		sched_rows_text(rows, is_switch ? state : NULL);
	if (command->next) {
		size_t length = 0;
		const char *name = is_switch ? untrusted_raw(sched_line_next_comm(line, &length)) : "";
		sched_rows_bytes(rows, name, length);
		sched_rows_number(rows, is_switch ? line->next_tid : 0);
	}
	if (shows_others(command))
		add_other(command, rows, line);
	if (command->migrations) {
		sched_rows_number(rows, moved ? line->from_cpu : 0);
		sched_rows_number(rows, moved ? line->to_cpu : 0);
	}
	if (command->stacks && timehist_has_stacks(command)) {
		command->text.len = 0;
		if (is_switch && !line->idle)
			timehist_add_stack(command, line);
		sched_rows_bytes(rows, strbuf_str(&command->text), command->text.len);
	}
	sched_rows_end_row(rows);
}

/* ---- sums ---- */

static void add_task(struct sched_rows *rows, const struct sched_times *times)
{
	sched_rows_text(rows, untrusted_raw(times->comm));
	sched_rows_number(rows, times->task.thread->tid);
	sched_rows_number(rows, times->task.thread->pid);
	sched_rows_number(rows, times->task.thread->ppid == UINT32_MAX ? 0 : times->task.thread->ppid); /* not known */
	sched_rows_number(rows, times->runs.count);
	sched_rows_number(rows, times->run);
	sched_rows_number(rows, times->shortest);
	sched_rows_number(rows, times->run / times->runs.count);
	sched_rows_number(rows, times->longest);
	sched_rows_real(rows, statistics_relative(&times->runs));
	sched_rows_number(rows, times->sleep);
	sched_rows_number(rows, times->iowait);
	sched_rows_number(rows, times->preempt);
	sched_rows_number(rows, times->delay);
	sched_rows_number(rows, times->migrations);
	sched_rows_end_row(rows);
}

static struct error *write_tasks(const struct timehist_command *command, const struct sched_timehist *timehist)
{
	static const char *const times[] = {"run", "shortest", "average", "longest"}, *const waits[] = {"sleep", "iowait", "preempt",
													"delay"};
	struct sched_rows rows = {.format = command->common.format, .id = "tasks", .names_table = true};
	sched_rows_column(&rows, "comm", COLUMN_TEXT);
	sched_rows_column(&rows, "tid", COLUMN_COUNT);
	sched_rows_column(&rows, "pid", COLUMN_COUNT);
	sched_rows_column(&rows, "ppid", COLUMN_COUNT);
	sched_rows_column(&rows, "count", COLUMN_COUNT);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		sched_rows_column(&rows, times[i], COLUMN_NANOSECONDS);
	sched_rows_column(&rows, "deviation", COLUMN_PERCENT);
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		sched_rows_column(&rows, waits[i], COLUMN_NANOSECONDS);
	sched_rows_column(&rows, "migrations", COLUMN_COUNT);
	sched_rows_begin(&rows);
	for (size_t i = 0; i < timehist->tasks.all.len; i++) {
		const struct sched_times *task = (const struct sched_times *)timehist->tasks.all.data[i];
		if (task->runs.count && task->task.tid)
			add_task(&rows, task);
	}
	return sched_rows_finish(&rows);
}

static struct error *write_cpus(const struct timehist_command *command, const struct sched_timehist *timehist)
{
	struct sched_rows rows = {.format = command->common.format, .id = "cpus", .names_table = true};
	uint64_t range = timehist->end - timehist->begin;
	sched_rows_column(&rows, "cpu", COLUMN_COUNT);
	sched_rows_column(&rows, "count", COLUMN_COUNT);
	sched_rows_column(&rows, "idle", COLUMN_NANOSECONDS);
	sched_rows_column(&rows, "range", COLUMN_NANOSECONDS);
	sched_rows_begin(&rows);
	for (unsigned int cpu = 0; cpu < command->cpu_count; cpu++) {
		const struct sched_times *times = cpu < timehist->idle.len ? &timehist->idle.data[cpu] : NULL;
		bool was_busy = times && times->runs.count;
		sched_rows_number(&rows, cpu);
		sched_rows_number(&rows, was_busy ? times->runs.count : 0);
		sched_rows_number(&rows, was_busy ? times->run : range);
		sched_rows_number(&rows, range);
		sched_rows_end_row(&rows);
	}
	return sched_rows_finish(&rows);
}

struct error *timehist_rows_write_summary(const struct timehist_command *command, const struct sched_timehist *timehist)
{
	struct error *error = write_tasks(command, timehist);
	return error ? error : write_cpus(command, timehist);
}

/* Threads of a timechart, their names and rows, as COMM, FORK and EXIT records tell of them. */
#include "analysis/timechart/timechart_internal.h"

#include "perfdata/records.h"

#include <string.h>

struct timechart_task *timechart_task(struct timechart_maker *maker, uint32_t tid)
{
	bool is_new;
	uint64_t *slot = map64_insert(&maker->tasks, tid, &is_new);
	if (is_new) {
		struct timechart_task *task = arena_zalloc(&maker->chart->arena, sizeof(*task));
		task->tid = tid;
		*slot = (uintptr_t)task;
	}
	return (struct timechart_task *)(uintptr_t)*slot;
}

static struct timechart_own_row *own(struct timechart_row *row)
{
	return (struct timechart_own_row *)row;
}

void timechart_begin_row(struct timechart_row *row, uint64_t time)
{
	if (!row->begin || row->begin > time)
		row->begin = time;
}

static void set_name(struct timechart_maker *maker, struct timechart_task *task, const char *name, uint64_t time)
{
	const char *kept = intern_string(maker->names, name);
	bool is_new;
	uint64_t *slot = map64_insert(&maker->rows, hash_combine(task->tid, (uintptr_t)kept), &is_new);
	if (is_new) {
		struct timechart_own_row *row = arena_zalloc(&maker->chart->arena, sizeof(*row));
		row->row.tid = task->tid;
		row->row.comm = untrusted(kept);
		vec_push(&maker->chart->rows, &row->row);
		*slot = (uintptr_t)row;
	}
	struct timechart_row *row = (struct timechart_row *)(uintptr_t)*slot;
	if (task->row && task->row != row)
		task->row->end = time;
	row->end = 0;
	task->row = row;
	task->name = kept;
}

struct timechart_own_row *timechart_known_row(struct timechart_maker *maker, uint32_t tid)
{
	return own(timechart_task(maker, tid)->row);
}

struct timechart_own_row *timechart_row(struct timechart_maker *maker, uint32_t tid)
{
	struct timechart_task *task = timechart_task(maker, tid);
	if (!task->row)
		set_name(maker, task, "", 0);
	return own(task->row);
}

/* A new thread stands beside its process; a new process has its parent's name. */
static void fork_task(struct timechart_maker *maker, const struct record_task *record)
{
	bool is_thread = record->pid == record->ppid;
	if (record->tid == record->pid && is_thread)
		return;
	struct timechart_task *task = timechart_task(maker, record->tid);
	const struct timechart_task *parent = timechart_task(maker, is_thread ? record->ptid : record->ppid);
	task->parent = is_thread ? timechart_task(maker, record->pid)->parent : record->ppid;
	if (parent->row && !task->row)
		set_name(maker, task, parent->name, record->time);
	task->begin = record->time;
	if (task->row && !task->row->begin) {
		task->row->begin = record->time;
		own(task->row)->since = record->time;
	}
}

static void exit_task(struct timechart_maker *maker, uint32_t tid, uint64_t time)
{
	struct timechart_task *task = timechart_task(maker, tid);
	task->end = time;
	if (task->row)
		task->row->end = time;
}

void timechart_take_task_record(struct timechart_maker *maker, const struct record *record)
{
	const struct record_task *task = (const void *)record->header;
	const struct record_comm *comm = (const void *)record->header;
	if (record_is_of_guest(record->header))
		return;
	switch (record->header->type) {
	case RECORD_COMM:
		set_name(maker, timechart_task(maker, comm->tid), comm->name, record->time);
		break;
	case RECORD_FORK:
		fork_task(maker, task);
		break;
	case RECORD_EXIT:
		exit_task(maker, task->tid, task->time);
		/* The process outlives its first thread. */
		if (task->tid != task->pid && timechart_task(maker, task->pid)->end)
			exit_task(maker, task->pid, task->time);
		break;
	default:
		break;
	}
}

/* States of tasks, by thread (tasks.h). */
#include "analysis/sched/tasks.h"

#include <strings.h>

void sched_tasks_init(struct sched_tasks *tasks, struct machine *machine, size_t size)
{
	*tasks = (struct sched_tasks){.machine = machine, .size = size};
}

void sched_tasks_deinit(struct sched_tasks *tasks)
{
	vec_deinit(&tasks->all);
	map64_deinit(&tasks->by_thread);
	arena_deinit(&tasks->arena);
}

static struct sched_task *find_or_add(struct sched_tasks *tasks, uint32_t tid, uint64_t time, bool *ret_new)
{
	const struct thread *thread = machine_thread_or_new(tasks->machine, UINT32_MAX, tid, time);
	uint64_t *slot = map64_insert(&tasks->by_thread, (uintptr_t)thread, ret_new);
	if (*ret_new) {
		struct sched_task *task = arena_zalloc(&tasks->arena, tasks->size);
		*slot = (uintptr_t)task;
		*task = (struct sched_task){.thread = thread, .tid = tid};
		vec_push(&tasks->all, task);
	}
	return (void *)(uintptr_t)*slot;
}

/* Who has the id now, and had it then. */
static bool is_bearer(const struct sched_task *task, uint32_t tid, uint64_t time)
{
	return task && task->tid == tid && task->thread->is_newest && task->thread->start <= time;
}

void *sched_tasks_get(struct sched_tasks *tasks, uint32_t tid, uint64_t time, bool *ret_new)
{
	struct sched_task **recent = &tasks->recent[tid % SCHED_TASKS_RECENT];
	bool is_new = false;
	if (!is_bearer(*recent, tid, time))
		*recent = find_or_add(tasks, tid, time, &is_new);
	if (ret_new)
		*ret_new = is_new;
	return *recent;
}

char sched_state_letter(uint64_t prev_state)
{
	/* Linux 4.14 and newer; what is beyond the letters (TASK_REPORT_MAX, TASK_STATE_MAX) is "R+". */
	static const char letters[] = "RSDTtXZPI";
	int bit = ffsll((long long)prev_state);
	return bit < (int)sizeof(letters) - 1 ? letters[bit] : 'R';
}

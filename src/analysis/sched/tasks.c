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

void *sched_tasks_get(struct sched_tasks *tasks, uint32_t tid, uint64_t time, bool *ret_new)
{
	const struct thread *thread = machine_thread_or_new(tasks->machine, UINT32_MAX, tid, time);
	bool is_new;
	uint64_t *slot = map64_insert(&tasks->by_thread, (uintptr_t)thread, &is_new);
	if (is_new) {
		struct sched_task *task = arena_zalloc(&tasks->arena, tasks->size);
		*slot = (uintptr_t)task;
		*task = (struct sched_task){.thread = thread, .tid = tid};
		vec_push(&tasks->all, task);
	}
	if (ret_new)
		*ret_new = is_new;
	return (void *)(uintptr_t)*slot;
}

char sched_state_letter(uint64_t prev_state)
{
	/* Linux 4.14 and newer; what is beyond the letters (TASK_REPORT_MAX, TASK_STATE_MAX) is "R+". */
	static const char letters[] = "RSDTtXZPI";
	int bit = ffsll((long long)prev_state);
	return bit < (int)sizeof(letters) - 1 ? letters[bit] : 'R';
}

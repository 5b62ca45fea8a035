/* Threads that sleep when measuring begins, which no event tells of until they are woken up, or never. */
#include "cmd/where/where.h"

#include "kernel/proc.h"
#include "kernel/process/asleep.h"

#include <stdlib.h>

static void add_thread(struct where_sleepers *sleepers, pid_t pid, pid_t tid)
{
	struct asleep found;
	if (!asleep_read(pid, tid, &found))
		return;
	vec_push(&sleepers->all, (struct where_asleep){(uint32_t)pid, (uint32_t)tid, found.argument, found.sp, found.ip, found.functions,
						       found.stack, found.stack_len});
}

bool where_sleepers_look(uint32_t pid, uint32_t tid, struct where_sleepers *ret)
{
	add_thread(ret, (pid_t)pid, (pid_t)tid);
	return ret->all.len;
}

static void add_process(struct where_sleepers *sleepers, pid_t pid)
{
	struct pid_list threads = {0};
	error_free(proc_threads(pid, &threads)); /* it has ended: others tell so */
	for (size_t i = 0; i < threads.len; i++)
		add_thread(sleepers, pid, threads.data[i]);
	vec_deinit(&threads);
}

static int compare(const void *a, const void *b)
{
	const struct where_asleep *one = a, *other = b;
	return (one->tid > other->tid) - (one->tid < other->tid);
}

void where_sleepers_find(const uint32_t *pids, size_t pid_count, struct where_sleepers *ret)
{
	struct pid_list all = {0};
	*ret = (struct where_sleepers){0};
	if (!pids)
		error_free(proc_processes(&all));
	for (size_t i = 0; i < all.len; i++)
		add_process(ret, all.data[i]);
	for (size_t i = 0; i < pid_count; i++)
		add_process(ret, (pid_t)pids[i]);
	if (ret->all.len)
		qsort(ret->all.data, ret->all.len, sizeof(*ret->all.data), compare);
	vec_deinit(&all);
}

void where_sleepers_deinit(struct where_sleepers *sleepers)
{
	for (size_t i = 0; i < sleepers->all.len; i++) {
		free((void *)(uintptr_t)sleepers->all.data[i].functions); /* they were made for us */
		free((void *)(uintptr_t)sleepers->all.data[i].stack);
	}
	vec_deinit(&sleepers->all);
}

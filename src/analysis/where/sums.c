/* Sums for each thread. Idle is who hardly runs and is nearly always in one kind of wait that can mean that there is nothing to do. */
#include "analysis/where/reasons.h"

#include "analysis/lock/types.h"
#include "base/search.h"

#include <stdlib.h>

static void add(void *context, const struct where_piece *piece)
{
	struct where_thread_sums *sums = context;
	uint64_t ns = piece->end - piece->begin;
	sums->ns[piece->kind] += ns;
	sums->wall += ns;
	if (piece->kind == WHERE_LOCK && lock_is_owned(piece->wait->place->lock))
		sums->mutex_ns += ns;
	sums->waits += piece->kind != WHERE_CPU && piece->kind != WHERE_QUEUE;
}

static uint64_t user_part(const struct where_thread *thread, uint64_t begin, uint64_t end, uint64_t ns)
{
	uint64_t user = 0, count = 0;
	for (size_t i = partition_point(k, thread->samples.len, thread->samples.data[k].time < begin); i < thread->samples.len; i++) {
		if (thread->samples.data[i].time > end)
			break;
		user += !thread->samples.data[i].place->kernel_count;
		count++;
	}
	return count ? (uint64_t)((double)ns * (double)user / (double)count) : ns;
}

static bool is_idle(const struct where_thread_sums *sums)
{
	enum { BUSY_PERCENT = 1, WAITING_PERCENT = 95 };
	if (sums->mutex_ns > sums->wall / 2)
		return false; /* that is no work which it waits for */
	if (sums->thread->is_kernel || sums->thread->ended != UINT64_MAX || !sums->wall)
		return sums->thread->is_kernel;
	uint64_t waiting = 0;
	for (unsigned int kind = 0; kind < WHERE_KINDS; kind++)
		if (where_kind_may_be_idle(kind))
			waiting += sums->ns[kind];
	uint64_t busy = sums->ns[WHERE_CPU] + sums->ns[WHERE_QUEUE];
	return busy * 100 < sums->wall * BUSY_PERCENT && waiting >= sums->wall / 100 * WAITING_PERCENT;
}

static int compare(const void *a, const void *b)
{
	const struct where_thread_sums *x = a, *y = b;
	if (x->is_idle != y->is_idle)
		return x->is_idle ? 1 : -1;
	if (x->ns[WHERE_CPU] != y->ns[WHERE_CPU])
		return x->ns[WHERE_CPU] < y->ns[WHERE_CPU] ? 1 : -1;
	if (x->thread->task.tid != y->thread->task.tid)
		return x->thread->task.tid < y->thread->task.tid ? -1 : 1;
	return x->thread->born < y->thread->born ? -1 : x->thread->born > y->thread->born;
}

/* Whoever asks for processes that only wait wants to hear for what. */
static void show_all_that_wait(struct where_sums *sums)
{
	bool any = false;
	for (size_t i = 0; i < sums->threads.len; i++)
		any |= !sums->threads.data[i].is_idle;
	for (size_t i = 0; i < sums->threads.len && !any; i++)
		sums->threads.data[i].is_idle = sums->threads.data[i].thread->is_kernel;
}

void where_sums_find(const struct where_timeline *timeline, struct where_sums *ret)
{
	*ret = (struct where_sums){0};
	for (size_t i = 0; i < timeline->tasks.all.len; i++) {
		const struct where_thread *thread = where_thread(timeline, i);
		struct where_thread_sums sums = {.thread = thread};
		if (!thread->is_chosen || !(thread->was_on || thread->away) || !thread->task.tid)
			continue;
		where_thread_pieces(thread, timeline->begin, timeline->end, add, &sums);
		sums.comm = thread_comm_settled(thread->task.thread, UINT64_MAX);
		sums.user_ns = user_part(thread, timeline->begin, timeline->end, sums.ns[WHERE_CPU]);
		sums.is_idle = is_idle(&sums);
		if (!sums.wall)
			continue;
		vec_push(&ret->threads, sums);
		ret->endless += thread->endless;
	}
	if (timeline->is_of_processes)
		show_all_that_wait(ret);
	if (ret->threads.len)
		qsort(ret->threads.data, ret->threads.len, sizeof(*ret->threads.data), compare);
}

void where_sums_deinit(struct where_sums *sums)
{
	vec_deinit(&sums->threads);
}

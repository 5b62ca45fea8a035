/* Threads and the calls that they are in (open_calls.h). */
#include "analysis/syscalls/open_calls.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { TIDY_AFTER = 1024 };

void open_calls_deinit(struct open_calls *calls)
{
	map64_each (slot, &calls->threads)
		free(map64_pointer(slot));
	map64_deinit(&calls->threads);
	vec_deinit(&calls->begun);
}

struct calling_thread *open_calls_thread(struct open_calls *calls, uint32_t tid)
{
	bool is_new;
	uint64_t *slot = map64_insert(&calls->threads, tid, &is_new);

	if (is_new) {
		struct calling_thread *thread = mem_zalloc(sizeof(*thread));
		thread->tid = tid;
		*slot = (uintptr_t)thread;
	}
	return (struct calling_thread *)(uintptr_t)*slot;
}

struct calling_thread *open_calls_find(const struct open_calls *calls, uint32_t tid)
{
	const uint64_t *slot = map64_find(&calls->threads, tid);

	return slot ? (struct calling_thread *)(uintptr_t)*slot : NULL;
}

void open_calls_begin(struct open_calls *calls, struct calling_thread *thread, unsigned int number, uint64_t time, bool listed)
{
	thread->number = (uint16_t)number;
	thread->entered = time;
	thread->told = false;
	thread->in_call = true;
	if (listed)
		vec_push(&calls->begun, (struct open_call){thread, time});
}

void open_calls_fill(const struct calling_thread *thread, const struct syscall_description *description, struct syscall *ret)
{
	*ret = (struct syscall){.description = description, .time = thread->entered, .pid = thread->pid, .tid = thread->tid, .blind = true};
	memcpy(ret->arguments, thread->arguments, sizeof(ret->arguments));
}

bool open_calls_end(struct calling_thread *thread, unsigned int number, const struct syscall_description *description, uint64_t time,
		    int64_t result, struct syscall *ret)
{
	bool whole = thread->in_call && thread->number == number;

	open_calls_fill(thread, description, ret);
	ret->result = result;
	if (whole)
		ret->duration = time > ret->time ? time - ret->time : 0;
	else
		ret->time = 0;
	thread->in_call = false;
	return whole;
}

static bool is_stale(const struct open_call *call)
{
	return !call->thread->in_call || call->thread->entered != call->entered;
}

struct calling_thread *open_calls_next_lasting(struct open_calls *calls, uint64_t time)
{
	for (; calls->first < calls->begun.len; calls->first++) {
		const struct open_call *call = &calls->begun.data[calls->first];
		if (is_stale(call))
			continue;
		if (call->entered + OPEN_CALL_LASTS_NS > time)
			break;
		calls->first++;
		return call->thread;
	}
	if (calls->first < TIDY_AFTER)
		return NULL;
	calls->begun.len -= calls->first;
	memmove(calls->begun.data, calls->begun.data + calls->first, calls->begun.len * sizeof(*calls->begun.data));
	calls->first = 0;
	return NULL;
}

void open_calls_forget(struct open_calls *calls, bool (*gone)(void *context, const struct calling_thread *thread), void *context)
{
	struct map64 kept = {0};
	size_t begun = 0;

	for (size_t i = calls->first; i < calls->begun.len; i++)
		if (!is_stale(&calls->begun.data[i]))
			calls->begun.data[begun++] = calls->begun.data[i];
	calls->begun.len = begun;
	calls->first = 0;
	map64_each (slot, &calls->threads) {
		struct calling_thread *thread = map64_pointer(slot);
		thread->comm = NULL;
		if (!thread->in_call && gone(context, thread))
			free(thread);
		else
			*map64_insert(&kept, thread->tid, NULL) = (uintptr_t)thread;
	}
	map64_deinit(&calls->threads);
	calls->threads = kept;
}

/* Records of the BPF program, kept by thread until their sample or moment comes (strings.h).
 *
 *	sample:     enter ────────────────► exit
 *	program:      entered ──────────► end         they overlap, since both include the call itself; no other pair does
 *
 * Samples come later than the program's records: recorder and pipe lie between. So all that is in the ring is read before a record is
 * looked for.
 *
 * Moments wait in a heap: the record of a call comes when it ends, and tells when it began. */
#include "cmd/trace/strings.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cmd/trace/program.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE_NS = 100000, FORGET_BYTES = 1 << 16 };

/* Records of a thread's calls, one behind the other. */
struct queue {
	struct strbuf records;
	size_t at; /* the first that is still wanted */
};

struct trace_strings {
	const struct trace *trace;
	struct trace_program program;
	uint64_t begin;		       /* calls that began before aren't told (--delay) */
	struct map64 queues;	       /* tid → struct queue * */
	VEC(struct trace_moment) heap; /* the earliest first */
	uint64_t moments;
	struct strbuf current; /* the record that was taken last */
	struct syscall_memory began_with[SYSCALL_MEMORY_MOST];
};

struct error *trace_strings_open(struct trace *trace, pid_t recorder, struct trace_strings **ret)
{
	struct trace_strings *strings = mem_zalloc(sizeof(*strings));
	struct error *error = trace_program_open(trace, recorder, &strings->program);

	strings->trace = trace;
	strings->begin = trace->options->delay_ms ? clock_now_ns(CLOCK_MONOTONIC) + trace->options->delay_ms * 1000000 : 0;
	if (!error)
		error = bpf_syscalls_start(strings->program.syscalls);
	if (error)
		trace_strings_close(strings);
	else
		*ret = strings;
	return error;
}

void trace_strings_stop(struct trace_strings *strings)
{
	bpf_syscalls_stop(strings->program.syscalls);
}

static void queue_destroy(struct queue *queue)
{
	strbuf_deinit(&queue->records);
	free(queue);
}

void trace_strings_close(struct trace_strings *strings)
{
	if (!strings)
		return;
	if (strings->program.syscalls)
		trace_program_warn_of_losses(&strings->program);
	map64_each (slot, &strings->queues)
		queue_destroy(map64_pointer(slot));
	map64_deinit(&strings->queues);
	vec_deinit(&strings->heap);
	strbuf_deinit(&strings->current);
	trace_program_close(&strings->program);
	free(strings);
}

/* The records of a thread that wait for their sample; made when it is new. */
static struct queue *get_queue(struct trace_strings *strings, uint32_t tid)
{
	bool is_new;
	uint64_t *slot = map64_insert(&strings->queues, tid, &is_new);

	if (is_new)
		*slot = (uint64_t)(uintptr_t)mem_zalloc(sizeof(struct queue));
	return (struct queue *)(uintptr_t)*slot;
}

/* ---- moments ---- */

static bool is_before(const struct trace_moment *a, const struct trace_moment *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void add_moment(struct trace_strings *strings, enum trace_moment_kind kind, uint64_t time, const void *record, size_t size)
{
	struct trace_moment moment = {.time = time, .order = strings->moments++, .kind = kind};

	memcpy(&moment.record, record, size);
	vec_push(&strings->heap, moment);
	struct trace_moment *heap = strings->heap.data;
	size_t at = strings->heap.len - 1;
	for (; at && is_before(&moment, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = moment;
}

static void drop_earliest(struct trace_strings *strings)
{
	struct trace_moment *heap = strings->heap.data;
	size_t count = --strings->heap.len, at = 0, child;
	struct trace_moment last = heap[count];

	for (; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && is_before(&heap[child + 1], &heap[child]);
		if (!is_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
}

static void add_call_moments(struct trace_strings *strings, const struct syscall_record *call)
{
	uint64_t time = call->thread.time;

	if (!strings->trace->program_tells_calls || time < strings->begin || call->number >= TRACE_NUMBERS)
		return;
	add_moment(strings, MOMENT_BEGIN, time, call, sizeof(*call));
	if (!(call->flags & SYSCALL_ENTERED))
		add_moment(strings, MOMENT_END, time + call->duration, call, sizeof(*call));
}

static void drain(struct trace_strings *strings)
{
	const struct syscalls_record *record;
	struct syscall call;

	while ((record = bpf_syscalls_next(strings->program.syscalls))) {
		const struct thread_record *thread = (const struct thread_record *)(const void *)record;
		switch (record->type) {
		case SYSCALLS_RECORD_CALL:
			strbuf_add(&get_queue(strings, thread->tid)->records, record, record->size);
			add_call_moments(strings, (const struct syscall_record *)(const void *)record);
			break;
		case SYSCALLS_RECORD_SIGNAL:
			add_moment(strings, MOMENT_SIGNAL, thread->time, record, sizeof(struct signal_record));
			break;
		case SYSCALLS_RECORD_EXIT:
			add_moment(strings, MOMENT_EXIT, thread->time, record, sizeof(struct exit_record));
			break;
		default: /* names of files */
			trace_syscalls_take(strings->program.calls, record, &call);
		}
	}
}

bool trace_strings_next(struct trace_strings *strings, uint64_t until, struct trace_moment *ret)
{
	drain(strings);
	if (!strings->heap.len || strings->heap.data[0].time >= until)
		return false;
	*ret = strings->heap.data[0];
	drop_earliest(strings);
	return true;
}

void trace_strings_forget(struct trace_strings *strings, uint32_t tid)
{
	struct thread_record exit = {.header = {.type = SYSCALLS_RECORD_EXIT, .size = sizeof(exit)}, .tid = tid};
	uint64_t *slot = map64_find(&strings->queues, tid);
	struct syscall call;

	trace_syscalls_take(strings->program.calls, &exit.header, &call);
	if (!slot)
		return;
	queue_destroy((struct queue *)(uintptr_t)*slot);
	map64_remove(&strings->queues, tid);
}

static const struct syscall_record *first_of(const struct queue *queue)
{
	return queue->at < queue->records.len ? (const struct syscall_record *)(const void *)(queue->records.data + queue->at) : NULL;
}

static void drop_first(struct queue *queue)
{
	queue->at += first_of(queue)->thread.header.size;
	if (queue->at < queue->records.len && queue->at < FORGET_BYTES)
		return;
	queue->records.len -= queue->at;
	memmove(queue->records.data, queue->records.data + queue->at, queue->records.len);
	queue->at = 0;
}

/* Puts what a record of the program brings into a call that the samples tell of. */
static void join(struct syscall *call, const struct syscall *from)
{
	memcpy(call->files, from->files, sizeof(call->files));
	call->memory = from->memory;
	call->memory_count = from->memory_count;
	call->compat = from->compat;
	call->cut = from->cut;
	call->blind = false;
}

/* The first record of a queue, which goes; valid until the next one is taken. */
static const struct syscall_record *take_first(struct trace_strings *strings, struct queue *queue)
{
	const struct syscall_record *record = first_of(queue);

	strbuf_clear(&strings->current);
	strbuf_add(&strings->current, record, record->thread.header.size);
	drop_first(queue);
	return (const struct syscall_record *)(const void *)strings->current.data;
}

bool trace_strings_fill(struct trace_strings *strings, struct syscall *call, uint64_t end)
{
	struct queue *queue = get_queue(strings, call->tid);
	const struct syscall_record *record;
	struct syscall from;

	drain(strings);
	while ((record = first_of(queue)) && record->thread.time < end) {
		record = take_first(strings, queue);
		enum trace_news news = trace_syscalls_take(strings->program.calls, &record->thread.header, &from);
		if (record->flags & SYSCALL_ENTERED || record->thread.time + record->duration <= call->time)
			continue;
		if (news != TRACE_CALL || from.description != call->description)
			return false;
		join(call, &from);
		if (!call->time) { /* the recorder came too late for its beginning */
			call->time = from.time;
			call->duration = from.duration;
			memcpy(call->arguments, from.arguments, sizeof(call->arguments));
		}
		return true;
	}
	return false;
}

/* Of a call that the program has seen to its end: leaves out what it has filled. */
static void keep_beginning(struct trace_strings *strings, struct syscall *call)
{
	size_t kept = 0;

	for (size_t i = 0; i < call->memory_count; i++)
		if (call->description->arguments[call->memory[i].argument].direction != SYSCALL_FILLED)
			strings->began_with[kept++] = call->memory[i];
	call->memory = strings->began_with;
	call->memory_count = kept;
}

bool trace_strings_fill_entry(struct trace_strings *strings, struct syscall *call)
{
	struct queue *queue = get_queue(strings, call->tid);
	struct syscall from;

	drain(strings);
	for (size_t at = queue->at; at < queue->records.len;) {
		const struct syscall_record *record = (const struct syscall_record *)(const void *)(queue->records.data + at);
		bool ended = !(record->flags & SYSCALL_ENTERED);
		at += record->thread.header.size;
		if (record->thread.time > call->time + AT_ONCE_NS)
			return false;
		if (ended ? record->thread.time + record->duration <= call->time : record->thread.time + AT_ONCE_NS < call->time)
			continue;
		enum trace_news news = trace_syscalls_take(strings->program.calls, &record->thread.header, &from);
		if ((news != TRACE_WAIT && news != TRACE_CALL) || from.description != call->description)
			continue;
		join(call, &from);
		if (ended)
			keep_beginning(strings, call);
		return true;
	}
	return false;
}

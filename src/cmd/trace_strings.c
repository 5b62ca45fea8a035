/* Records of the BPF program, kept by thread until their sample comes (trace_strings.h).
 *
 *	sample:     enter ────────────────► exit
 *	program:      entered ──────────► end         they overlap, since both include the call itself; no other pair does
 *
 * Samples come later than the program's records: recorder and pipe lie between. So all that is in the ring is read before a record is looked for. */
#include "cmd/trace_strings.h"

#include "base/hash.h"
#include "base/mem.h"
#include "cmd/trace_program.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE_NS = 100000, FORGET_BYTES = 1 << 16 };

/* Records of a thread's calls, one behind the other. */
struct queue {
	struct strbuf records;
	size_t at; /* the first that is still wanted */
};

struct trace_strings {
	struct trace_program program;
	struct map64 queues;   /* tid → struct queue * */
	struct strbuf current; /* the record that was taken last */
	struct call_memory began_with[CALL_MEMORY_MOST];
};

struct error *trace_strings_open(struct trace *trace, pid_t recorder, struct trace_strings **ret)
{
	struct trace_strings *strings = mem_zalloc(sizeof(*strings));
	struct error *error = trace_program_open(trace, recorder, &strings->program);

	if (!error)
		error = bpf_syscalls_start(strings->program.syscalls);
	if (error)
		trace_strings_close(strings);
	else
		*ret = strings;
	return error;
}

void trace_strings_close(struct trace_strings *strings)
{
	if (!strings)
		return;
	if (strings->program.syscalls)
		trace_program_warn_of_losses(&strings->program);
	for (size_t i = 0; strings->queues.count && i <= strings->queues.mask; i++) {
		struct queue *queue = strings->queues.slots[i].used ? (struct queue *)(uintptr_t)strings->queues.slots[i].value : NULL;
		if (queue)
			strbuf_deinit(&queue->records);
		free(queue);
	}
	map64_deinit(&strings->queues);
	strbuf_deinit(&strings->current);
	trace_program_close(&strings->program);
	free(strings);
}

static struct queue *get_queue(struct trace_strings *strings, uint32_t tid)
{
	bool is_new;
	uint64_t *slot = map64_insert(&strings->queues, tid, &is_new);

	if (is_new)
		*slot = (uint64_t)(uintptr_t)mem_zalloc(sizeof(struct queue));
	return (struct queue *)(uintptr_t)*slot;
}

static void drain(struct trace_strings *strings)
{
	const struct syscalls_record *record;
	struct call call;

	while ((record = bpf_syscalls_next(strings->program.syscalls))) {
		if (record->type != SYSCALLS_RECORD_CALL) { /* names of files */
			trace_calls_take(strings->program.calls, record, &call);
			continue;
		}
		struct queue *queue = get_queue(strings, ((const struct thread_record *)(const void *)record)->tid);
		strbuf_add(&queue->records, record, record->size);
	}
}

static const struct call_record *first_of(const struct queue *queue)
{
	return queue->at < queue->records.len ? (const struct call_record *)(const void *)(queue->records.data + queue->at) : NULL;
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
static void join(struct call *call, const struct call *from)
{
	memcpy(call->files, from->files, sizeof(call->files));
	call->memory = from->memory;
	call->memory_count = from->memory_count;
	call->compat = from->compat;
	call->cut = from->cut;
	call->blind = false;
}

/* The first record of a queue, which goes; valid until the next one is taken. */
static const struct call_record *take_first(struct trace_strings *strings, struct queue *queue)
{
	const struct call_record *record = first_of(queue);

	strbuf_clear(&strings->current);
	strbuf_add(&strings->current, record, record->thread.header.size);
	drop_first(queue);
	return (const struct call_record *)(const void *)strings->current.data;
}

bool trace_strings_fill(struct trace_strings *strings, struct call *call, uint64_t end)
{
	struct queue *queue = get_queue(strings, call->tid);
	const struct call_record *record;
	struct call from;

	drain(strings);
	while ((record = first_of(queue)) && record->thread.time < end) {
		record = take_first(strings, queue);
		enum trace_news news = trace_calls_take(strings->program.calls, &record->thread.header, &from);
		if (record->flags & CALL_ENTERED || record->thread.time + record->duration <= call->time)
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
static void keep_beginning(struct trace_strings *strings, struct call *call)
{
	size_t kept = 0;

	for (size_t i = 0; i < call->memory_count; i++)
		if (call->description->arguments[call->memory[i].argument].direction != CALL_FILLED)
			strings->began_with[kept++] = call->memory[i];
	call->memory = strings->began_with;
	call->memory_count = kept;
}

bool trace_strings_fill_entry(struct trace_strings *strings, struct call *call)
{
	struct queue *queue = get_queue(strings, call->tid);
	struct call from;

	drain(strings);
	for (size_t at = queue->at; at < queue->records.len;) {
		const struct call_record *record = (const struct call_record *)(const void *)(queue->records.data + at);
		bool ended = !(record->flags & CALL_ENTERED);
		at += record->thread.header.size;
		if (record->thread.time > call->time + AT_ONCE_NS)
			return false;
		if (ended ? record->thread.time + record->duration <= call->time : record->thread.time + AT_ONCE_NS < call->time)
			continue;
		enum trace_news news = trace_calls_take(strings->program.calls, &record->thread.header, &from);
		if ((news != TRACE_WAIT && news != TRACE_CALL) || from.description != call->description)
			continue;
		join(call, &from);
		if (ended)
			keep_beginning(strings, call);
		return true;
	}
	return false;
}

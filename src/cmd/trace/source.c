/* Records of the BPF program as calls (source.h). A call that changes what its arguments point to has two records: what the first one
 * brought is kept by thread and joined with the second. */
#include "cmd/trace/source.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* File systems without paths: include/uapi/linux/magic.h */
enum { PIPE_MAGIC = 0x50495045, ANONYMOUS_INODE_MAGIC = 0x09041934, SOCKET_MAGIC = 0x534f434b, NAMESPACE_MAGIC = 0x6e736673 };

struct entry {
	struct strbuf record; /* a struct syscall_record and its pieces; empty = none */
};

struct trace_syscalls {
	const struct trace_table *table;
	struct map64 files;   /* id → safe text in `texts` */
	struct map64 entries; /* tid → struct entry * */
	struct arena texts;
	struct syscall_memory memory[SYSCALL_MEMORY_MOST];
	uint64_t lost, told;
	uint32_t string_limit;
	uint8_t bytes[1 << 15]; /* memory that was read by ourselves … */
	size_t again;		/* … for this call */
};

struct trace_syscalls *trace_syscalls_create(const struct trace_table *table, uint32_t string_limit)
{
	struct trace_syscalls *calls = mem_zalloc(sizeof(*calls));

	calls->string_limit = string_limit;
	calls->table = table;
	return calls;
}

static void entry_destroy(struct entry *entry)
{
	if (entry)
		strbuf_deinit(&entry->record);
	free(entry);
}

/* The thread has ended: no end of its call will come. */
static void drop_entry(struct trace_syscalls *calls, uint32_t tid)
{
	uint64_t *slot = map64_find(&calls->entries, tid);

	if (!slot)
		return;
	entry_destroy((struct entry *)(uintptr_t)*slot);
	map64_remove(&calls->entries, tid);
}

void trace_syscalls_destroy(struct trace_syscalls *calls)
{
	if (!calls)
		return;
	map64_each (slot, &calls->entries)
		entry_destroy(map64_pointer(slot));
	map64_deinit(&calls->entries);
	map64_deinit(&calls->files);
	arena_deinit(&calls->texts);
	free(calls);
}

/* ---- files ---- */

/* Names come from the file upwards, each with its NUL. */
static void add_path(struct strbuf *path, const char *names, size_t size)
{
	if (!size)
		strbuf_add_char(path, '/');
	while (size) {
		size_t at = size - 1;
		while (at && names[at - 1])
			at--;
		strbuf_add_char(path, '/');
		strbuf_add(path, names + at, size - 1 - at);
		size = at;
	}
}

static void add_file_text(struct strbuf *text, const struct file_record *record)
{
	const char *names = (const char *)(record + 1);
	size_t size = record->names;

	if (size && names[size - 1])
		size = 0;
	if (S_ISSOCK(record->mode) && record->magic == SOCKET_MAGIC) {
		strbuf_printf(text, "socket:[%llu]", (unsigned long long)record->inode);
	} else if (S_ISFIFO(record->mode) && record->magic == PIPE_MAGIC) {
		strbuf_printf(text, "pipe:[%llu]", (unsigned long long)record->inode);
	} else if (record->magic == ANONYMOUS_INODE_MAGIC) {
		strbuf_printf(text, "anon_inode:%s", size ? names : "");
	} else if (record->magic == NAMESPACE_MAGIC) {
		strbuf_printf(text, "%s:[%llu]", size ? names : "ns", (unsigned long long)record->inode);
	} else {
		add_path(text, names, size);
		if (record->deleted && size)
			strbuf_add_str(text, " (deleted)");
	}
}

static void take_file(struct trace_syscalls *calls, const struct file_record *record)
{
	struct strbuf text = {0}, safe = {0};

	add_file_text(&text, record);
	text_add_safe(&safe, strbuf_str(&text), text.len);
	*map64_insert(&calls->files, record->id, NULL) = (uint64_t)(uintptr_t)arena_strdup(&calls->texts, strbuf_str(&safe));
	strbuf_deinit(&text);
	strbuf_deinit(&safe);
}

static const char *file_text(const struct trace_syscalls *calls, uint64_t id)
{
	uint64_t *slot = id ? map64_find(&calls->files, id) : NULL;

	return slot ? (const char *)(uintptr_t)*slot : NULL;
}

/* ---- calls ---- */

_Static_assert((int)SYSCALL_PIECE_FAULT == (int)SYSCALL_MEMORY_FAULT && (int)SYSCALL_PIECE_CONTROL == (int)SYSCALL_MEMORY_CONTROL,
	       "kinds are the same");

/* A page that the program has not touched yet (a constant written to /dev/null) could not be read in the kernel, which must not wait for
 * it. Mostly it can be read now: what lies in such a page doesn't change. */
static void read_again(struct trace_syscalls *calls, const struct syscall_record *record, struct syscall_memory *memory)
{
	enum { MOST = 4096 };
	if (syscall_replaces(calls->table->calls[record->number]))
		return; /* the process may be another one by now */
	uint64_t address = record->arguments[memory->argument % SYSCALL_ARGUMENTS];
	uint32_t wanted = memory->wanted && memory->wanted < calls->string_limit ? memory->wanted : calls->string_limit;
	const struct syscall_argument_description *argument =
		&calls->table->calls[record->number]->arguments[memory->argument % SYSCALL_ARGUMENTS];
	unsigned int size;
	enum syscall_memory_form form = syscall_memory_form(argument, &size);

	if ((form != SYSCALL_FORM_BYTES && form != SYSCALL_FORM_STRING && form != SYSCALL_FORM_PATH) ||
	    calls->again + MOST > sizeof(calls->bytes))
		return;
	if (form == SYSCALL_FORM_PATH)
		wanted = MOST;
	struct iovec local = {calls->bytes + calls->again, wanted}, remote = {(void *)(uintptr_t)address, wanted};
	size_t to_end = MOST - (address & (MOST - 1)); /* of its page: the next one need not be there */
	if (form != SYSCALL_FORM_BYTES && remote.iov_len > to_end)
		remote.iov_len = to_end;
	ssize_t got = process_vm_readv((pid_t)record->thread.pid, &local, 1, &remote, 1, 0);
	if (got <= 0)
		return;
	memory->kind = record->flags & SYSCALL_ENTERED ? SYSCALL_MEMORY_ENTRY : SYSCALL_MEMORY_EXIT;
	memory->data = local.iov_base;
	memory->size = (uint32_t)got;
	if (form != SYSCALL_FORM_BYTES)
		memory->wanted = !memchr(local.iov_base, 0, (size_t)got);
	calls->again += (size_t)got;
}

/* The memory that the record brought, piece by piece; each is checked to lie in the record. What the program couldn't read is tried again
 * from here. */
static void add_pieces(struct trace_syscalls *calls, const struct syscall_record *record, struct syscall *call)
{
	const uint8_t *at = (const uint8_t *)(record + 1), *end = at + record->pieces;

	while (at + sizeof(struct syscall_piece) <= end && call->memory_count < SYSCALL_MEMORY_MOST) {
		const struct syscall_piece *piece = (const struct syscall_piece *)at;
		struct syscall_memory *memory = &calls->memory[call->memory_count++];
		*memory = (struct syscall_memory){.argument = piece->argument,
						  .kind = piece->kind,
						  .size = piece->size,
						  .wanted = piece->wanted,
						  .data = piece->data};
		if (piece->kind == SYSCALL_PIECE_FAULT)
			read_again(calls, record, memory);
		at += sizeof(*piece) + ((piece->size + 7u) & ~7u);
	}
}

/* The entry's record is joined when it belongs to the same call. */
static void add_entry(struct trace_syscalls *calls, const struct syscall_record *record, struct syscall *call)
{
	uint64_t *slot = map64_find(&calls->entries, record->thread.tid);
	struct entry *entry = slot ? (struct entry *)(uintptr_t)*slot : NULL;
	const struct syscall_record *before =
		entry && entry->record.len ? (const struct syscall_record *)(const void *)entry->record.data : NULL;

	if (before && before->number == record->number && before->thread.time == record->thread.time)
		add_pieces(calls, before, call);
}

/* Until the record of its end comes. A copy, since the ring is used again. */
static void keep_entry(struct trace_syscalls *calls, const struct syscall_record *record)
{
	bool is_new;
	uint64_t *slot = map64_insert(&calls->entries, record->thread.tid, &is_new);

	if (is_new)
		*slot = (uint64_t)(uintptr_t)mem_zalloc(sizeof(struct entry));
	struct entry *entry = (struct entry *)(uintptr_t)*slot;
	strbuf_clear(&entry->record);
	strbuf_add(&entry->record, record, record->thread.header.size);
}

/* What one record says of a call. Memory and texts are valid until the next record is taken. */
static void fill_call(struct trace_syscalls *calls, const struct syscall_record *record, struct syscall *call)
{
	calls->again = 0;
	*call = (struct syscall){
		.description = calls->table->calls[record->number],
		.time = record->thread.time,
		.duration = record->duration,
		.result = record->result,
		.pid = record->thread.pid,
		.tid = record->thread.tid,
		.compat = record->flags & SYSCALL_COMPAT,
		.cut = record->flags & SYSCALL_CUT,
		.memory = calls->memory,
	};
	memcpy(call->arguments, record->arguments, sizeof(call->arguments));
	for (unsigned int i = 0; i < SYSCALLS_FILES; i++)
		call->files[i] = file_text(calls, record->files[i]);
	add_pieces(calls, record, call);
	calls->lost = record->lost;
}

/* A record of the entry is kept for that of the end, unless the call sleeps or never comes back. */
static enum trace_news take_call(struct trace_syscalls *calls, const struct syscall_record *record, struct syscall *ret)
{
	if (record->number >= TRACE_NUMBERS)
		return TRACE_NOTHING;
	fill_call(calls, record, ret);
	if (!(record->flags & SYSCALL_ENTERED)) {
		add_entry(calls, record, ret);
		return TRACE_CALL;
	}
	if (syscall_never_returns(ret->description))
		return TRACE_CALL;
	if (!(record->flags & SYSCALL_SLEEPS)) {
		keep_entry(calls, record);
		return TRACE_NOTHING;
	}
	add_entry(calls, record, ret);
	return TRACE_WAIT;
}

enum trace_news trace_syscalls_take(struct trace_syscalls *calls, const struct syscalls_record *record, struct syscall *ret)
{
	switch (record->type) {
	case SYSCALLS_RECORD_CALL:
		return take_call(calls, (const struct syscall_record *)(const void *)record, ret);
	case SYSCALLS_RECORD_FILE:
		take_file(calls, (const struct file_record *)(const void *)record);
		return TRACE_NOTHING;
	case SYSCALLS_RECORD_NAME:
		return TRACE_NAME;
	case SYSCALLS_RECORD_FORK:
		return TRACE_FORK;
	case SYSCALLS_RECORD_EXIT:
		drop_entry(calls, ((const struct thread_record *)(const void *)record)->tid);
		return TRACE_EXIT;
	case SYSCALLS_RECORD_SIGNAL:
		return TRACE_SIGNAL;
	}
	return TRACE_NOTHING;
}

uint64_t trace_syscalls_lost(struct trace_syscalls *calls)
{
	uint64_t lost = calls->lost - calls->told;

	calls->told = calls->lost;
	return lost;
}

/* Where the calls of perf trace come from: the BPF program. Its records are turned into calls with memory and names of files. */
#pragma once

#include "bpf/syscalls/syscalls.h"
#include "cmd/trace/print.h"
#include "cmd/trace/table.h"

struct trace_syscalls; /* what is known between two records */

/* `string_limit` bytes are read of strings that the program could not copy. */
struct trace_syscalls *trace_syscalls_create(const struct trace_table *table, uint32_t string_limit);
void trace_syscalls_destroy(struct trace_syscalls *calls);

enum trace_news {
	TRACE_NOTHING, /* nothing to show */
	TRACE_CALL,    /* a call has ended, or one that never will has begun */
	TRACE_WAIT,    /* a call waits */
	TRACE_NAME,    /* of a thread */
	TRACE_FORK,
	TRACE_EXIT,   /* of a thread */
	TRACE_SIGNAL, /* for a thread */
};

/* Takes in a record; `ret` is set for calls and valid until the next record. */
enum trace_news trace_syscalls_take(struct trace_syscalls *calls, const struct syscalls_record *record, struct syscall *ret);
/* Records lost before the last one, since this was asked last. */
uint64_t trace_syscalls_lost(struct trace_syscalls *calls);

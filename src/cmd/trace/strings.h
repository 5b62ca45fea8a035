/* What the BPF program tells beside a recorder. Both clocks are CLOCK_MONOTONIC.
 *
 * Either samples tell of calls, and the program has what their arguments point to: that is joined with them by thread and time. Or the
 * program tells of the calls themselves (trace.program_tells_calls): then they are moments in time as samples would be, and what hides
 * samples (BPF programs of others at the tracepoints) doesn't matter. */
#pragma once

#include "bpf/syscalls/syscalls_shared.h"
#include "cmd/trace/trace.h"

struct trace_strings;

/* Starts the program for what `trace` follows; `recorder` is the process that will start the command. */
struct error *trace_strings_open(struct trace *trace, pid_t recorder, struct trace_strings **ret);
/* No more is seen; what was, can still be asked for. */
void trace_strings_stop(struct trace_strings *strings);
void trace_strings_close(struct trace_strings *strings);

/* Fills memory and names of files of a call that was seen from `call->time` (0: not seen, it is filled, too) to `end`; false when the
 * program has nothing about it (yet). What is filled is valid until the next call of this. */
bool trace_strings_fill(struct trace_strings *strings, struct syscall *call, uint64_t end);
/* The same of a call that goes on: what it began with. */
bool trace_strings_fill_entry(struct trace_strings *strings, struct syscall *call);

enum trace_moment_kind { MOMENT_BEGIN, MOMENT_END, MOMENT_SIGNAL, MOMENT_EXIT };

/* A call begins (which may be told twice) or ends, a thread gets a signal or ends. */
struct trace_moment {
	uint64_t time;
	uint64_t order; /* between equal times */
	enum trace_moment_kind kind;
	union {
		struct thread_record thread;
		struct syscall_record call; /* without its pieces */
		struct signal_record signal;
		struct exit_record exit;
	} record;
};

/* The next moment before `until`, in the order of time; false when there is none (yet). */
bool trace_strings_next(struct trace_strings *strings, uint64_t until, struct trace_moment *ret);
/* The thread has ended: forgets what is kept of it. */
void trace_strings_forget(struct trace_strings *strings, uint32_t tid);

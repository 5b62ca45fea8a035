/* The lines of perf trace: calls as they end, in the layout of the kernel's tool.
 *
 *	     0.230 (         ): sleep/42 nanosleep(rqtp: {tv_sec=1, tv_nsec=0})                          ...
 *	     0.251 ( 0.003 ms): sh/43 getpid()                                                           = 43
 *	     0.230 (1000.1 ms): sleep/42  ... [continued]: nanosleep()                                   = 0
 *
 * A call that waits is shown as soon as another thread has something to show; else only when it ends. */
#pragma once

#include "analysis/syscalls/syscall.h"
#include "base/error.h"
#include "base/untrusted.h"
#include "cmd/trace/stack.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_printer;

struct trace_print_options {
	struct syscall_style style;
	int fd;
	bool json; /* one object a line */
	bool timestamps, full_time, durations, threads, names;
	unsigned int alignment; /* column of the results, behind the thread */
	bool terminal;		/* `fd` is one: the columns have fixed widths, and that of the results follows its width unless … */
	bool aligned;		/* … the alignment was asked for */
	bool completed_only;	/* calls that wait are not shown before they end */
	uint64_t most;		/* lines; 0 = no limit */
	bool at_once;		/* write after each batch, whatever it is */
};

/* Options are copied; the descriptor stays the caller's. */
struct trace_printer *trace_printer_create(const struct trace_print_options *options);
void trace_printer_destroy(struct trace_printer *printer);

/* What is known of threads. */
void trace_printer_name(struct trace_printer *printer, uint32_t pid, uint32_t tid, const struct untrusted *name);
/* A new thread has its parent's name until it gets one of its own. */
void trace_printer_fork(struct trace_printer *printer, uint32_t pid, uint32_t tid, uint32_t parent_tid);
/* A call that never comes back is shown, too. */
void trace_printer_exit(struct trace_printer *printer, uint32_t tid);
/* Nothing is known of it any more; unless a call of it waits. */
void trace_printer_forget(struct trace_printer *printer, uint32_t tid);

/* Time stamps are counted from here, unless they already are from an earlier time. */
void trace_printer_begin(struct trace_printer *printer, uint64_t time);
/* A call waits. */
void trace_printer_wait(struct trace_printer *printer, const struct syscall *call);
/* A call has ended; or it never will (syscall_never_returns). Memory and texts in `call` are used only now. */
void trace_printer_call(struct trace_printer *printer, const struct syscall *call);
/* An event that is no call; `text` is the whole line behind the thread, `detail` what its JSON object has besides the name. Both are safe
 * text. */
struct trace_line {
	uint64_t time;
	uint32_t pid, tid;
	const char *name, *detail, *text;
	bool momentary; /* shown like a call that took no time */
};
void trace_printer_event(struct trace_printer *printer, const struct trace_line *line);
/* The stack of the next call or event. */
void trace_printer_stack(struct trace_printer *printer, const struct trace_stacks *stacks);
/* A line as it is. */
void trace_printer_text(struct trace_printer *printer, const char *text);
/* So many records were lost right here. */
void trace_printer_lost(struct trace_printer *printer, uint64_t count);
/* Calls that wait are shown now: nothing else happens for a while, or the trace ends. */
void trace_printer_flush_waiting(struct trace_printer *printer);

/* Writes what has been printed; call it after each batch. An output that nobody reads any more ends the trace without an error. */
struct error *trace_printer_write(struct trace_printer *printer);
/* Much has been printed: it is time to write. */
bool trace_printer_is_full(const struct trace_printer *printer);
/* Enough: --max-events is reached, or nobody reads any more. */
bool trace_printer_done(const struct trace_printer *printer);
/* How many lines of calls and events there were. */
uint64_t trace_printer_lines(const struct trace_printer *printer);
/* The name of a thread, or NULL. */
const struct untrusted *trace_printer_thread_name(const struct trace_printer *printer, uint32_t tid);

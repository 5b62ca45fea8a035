/* Signals and ends of threads as tracepoints tell them: signal:signal_deliver and signal:signal_generate, and sched:sched_process_exit with
 * what system calls and signals before it said. For recordings, and where no BPF program sees them. */
#pragma once

#include "base/hash.h"
#include "cmd/trace/trace.h"
#include "event/tracepoint/tracepoint.h"
#include "perfdata/layout.h"

#define TRACE_SIGNAL_EVENT "signal:signal_deliver"
#define TRACE_SENT_EVENT "signal:signal_generate"
#define TRACE_END_EVENT "sched:sched_process_exit"

/* What threads and processes will end with, as far as it is known: status as wait() has it. All zero is nothing. */
struct trace_ends {
	struct map64 statuses;
	struct map64 sent; /* the last signal for each thread or process */
};

void trace_ends_deinit(struct trace_ends *ends);
/* A thread has called exit(), or exit_group() (`whole`). */
void trace_ends_note_exit(struct trace_ends *ends, uint32_t pid, uint32_t tid, bool whole, uint64_t argument);
/* A sample of signal:signal_deliver: shows the signal as live traces do, --- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER} ---, and notes
 * what it ends. */
void trace_ends_take_signal(struct trace_ends *ends, const struct trace *trace, const struct tracepoint *tracepoint,
			    const struct sample *sample);
/* A sample of signal:signal_generate, which is the sender's. *ret_thread: whose signal it is. True when that ignores it, so that nothing
 * more will be heard of it: then it can be shown by trace_ends_show_ignored(). */
bool trace_ends_take_sent(struct trace_ends *ends, const struct tracepoint *tracepoint, const struct sample *sample, uint32_t *ret_thread);
void trace_ends_show_ignored(const struct trace *trace, const struct tracepoint *tracepoint, const struct sample *sample, uint32_t pid,
			     uint32_t tid);
/* A sample of sched:sched_process_exit: +++ exited with 0 +++, or without a status where none is known. */
void trace_ends_take_end(struct trace_ends *ends, const struct trace *trace, const struct sample *sample);

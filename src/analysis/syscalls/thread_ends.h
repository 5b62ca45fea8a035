/* With what threads end, for tracepoints of a thread's end have no status (include/trace/events/sched.h): it is what the thread or its
 * process passed to exit() or exit_group(), or the signal whose default action ended it (signal(7)), whichever came first. A signal that
 * ends a process reaches its threads as a SIGKILL of the kernel's own, so that which it was has to be known from when it was sent; and what
 * is ignored is never delivered (kernel/signal.c, complete_signal() and sig_ignored()).
 *
 * To be told in the order of time. */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero is nothing. */
struct thread_ends {
	struct map64 statuses; /* of threads and of processes, as wait() has it */
	struct map64 sent;     /* the last signal for each thread or process */
};

void thread_ends_deinit(struct thread_ends *ends);
/* A thread has called exit(), or exit_group() (`whole`). */
void thread_ends_take_exit(struct thread_ends *ends, uint32_t pid, uint32_t tid, bool whole, uint64_t argument);
/* A signal was sent to a thread or a process, which doesn't ignore it. */
void thread_ends_take_sent(struct thread_ends *ends, uint32_t id, uint64_t number);
/* A signal reached a thread; `handled`: not with its default action. */
void thread_ends_take_signal(struct thread_ends *ends, uint32_t pid, uint32_t tid, uint64_t number, bool handled);
/* The status of a thread that ends now, as wait() has it; false when it isn't known. */
bool thread_ends_status(const struct thread_ends *ends, uint32_t pid, uint32_t tid, uint32_t *ret_status);

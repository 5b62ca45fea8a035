/* What a thread does with its time: it runs, waits for a CPU, or is blocked. For what it is blocked is told by the functions of the kernel
 * through which it left the CPU: the innermost that is known to be about one thing decides.
 *
 *	__schedule  schedule  io_schedule  folio_wait_bit_common  filemap_fault  handle_mm_fault  asm_exc_page_fault
 *	                      └ disk                                             └ of a page fault ─► WHERE_FAULT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum where_kind {
	WHERE_CPU,	   /* runs */
	WHERE_QUEUE,	   /* can run, but others have the CPU */
	WHERE_DISK,	   /* reads, writes and flushes of block devices */
	WHERE_FAULT,	   /* a page that isn't in memory yet */
	WHERE_NETWORK,	   /* sockets but those of the machine itself */
	WHERE_LOCK,	   /* futexes: locks, conditions and barriers of programs; semaphores, file locks */
	WHERE_KERNEL_LOCK, /* mutexes and semaphores inside the kernel */
	WHERE_PIPE,	   /* pipes, sockets of the machine itself, message queues, terminals: another process */
	WHERE_TIMER,	   /* sleeps */
	WHERE_CHILD,	   /* wait() and its kin; vfork() */
	WHERE_POLL,	   /* poll(), epoll_wait(), select(): any of several things */
	WHERE_SIGNAL,	   /* sigwait(), pause() and their kin */
	WHERE_STOPPED,	   /* by a signal as SIGSTOP, a debugger, or the freezer of a control group */
	WHERE_OTHER,
	WHERE_UNKNOWN, /* no stack of the kernel tells */
};
enum { WHERE_KINDS = WHERE_UNKNOWN + 1 };

/* "disk": stable, for programs; and "Disk", a column's title. */
const char *where_kind_id(enum where_kind kind);
const char *where_kind_title(enum where_kind kind);
/* Whether another thread ends such a wait: who wakes the thread up tells why it took so long. */
bool where_kind_has_cause(enum where_kind kind);
/* Whether a thread that is always in it may just have nothing to do. */
bool where_kind_may_be_idle(enum where_kind kind);
/* Of a stack's functions in the kernel, innermost first (NULL: a frame without a name). *ret_at: which of them tells; `count` if none. */
enum where_kind where_kind_of(const char *const *functions, size_t count, size_t *ret_at);
/* Whether the kernel serves a page fault there. */
bool where_is_of_fault(const char *const *functions, size_t count);
/* The system call that a function of the kernel is the entry of ("__x64_sys_pread64": "pread64"), or NULL. */
const char *where_syscall_of(const char *function);

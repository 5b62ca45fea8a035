/* What /proc and its like say: small files read whole, and the threads of processes. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The first line of a small file, without its newline. False when it cannot be read. */
bool proc_read_line(const char *path, char *buffer, size_t size);
/* A small file that holds one decimal number, which may be negative. False when it cannot be read, or holds something else. */
bool proc_read_int(const char *path, int64_t *ret);
/* Adds the whole file to `buffer`, with large reads (a file in /proc changes between reads). `dir` is a directory descriptor or AT_FDCWD.
 * Returns 0 or -errno. */
int proc_read_file(int dir, const char *path, struct strbuf *buffer);

/* What the scheduler has noted of one thread, in nanoseconds since it began (Documentation/scheduler/sched-stats.rst,
 * /proc/PID/schedstat). */
struct proc_scheduled {
	uint64_t ran_ns;
	uint64_t waited_ns; /* it could have run, but others had the CPU */
};
/* False when the thread is gone, or the kernel keeps no such notes. A thread that has ended has them until it is waited for. */
bool proc_scheduled(pid_t thread, struct proc_scheduled *ret);

/* CPU time of a process since it began, in microseconds for each second; 0 where that isn't known. */
uint64_t proc_load(pid_t process);

/* A VEC(pid_t) with a name. */
struct pid_list {
	pid_t *data;
	size_t len;
	size_t cap;
};

/* The threads of a process, sorted; an error when it doesn't exist. */
struct error *proc_threads(pid_t pid, struct pid_list *ret);
/* All threads of all processes of a user. */
struct error *proc_threads_of_user(uid_t uid, struct pid_list *ret);
/* All threads of all processes. */
struct error *proc_all_threads(struct pid_list *ret);
/* Every process, sorted. */
struct error *proc_processes(struct pid_list *ret);
/* Comma-separated numbers; each must exist as a process (or a thread with `threads`). */
struct error *proc_parse_pids(const char *text, bool threads, struct pid_list *ret);
/* A user's name or number. */
struct error *proc_parse_user(const char *text, uid_t *ret);

/* What a container or sandbox keeps from us, found out by trying. */
#pragma once

#include <stdbool.h>

enum container_call { CONTAINER_PERF_EVENT_OPEN, CONTAINER_BPF };

/* Does the system call get through to the kernel, whatever the kernel says to it? 0: yes. Above 0: a filter answers with this errno (ENOSYS
 * also where the kernel was built without it). Below 0: the caller is killed by that signal. Tried by a child with arguments that the
 * kernel refuses before it looks at any right. */
int container_probe(enum container_call call);

/* /proc/self/status: 0 = none, 1 = strict, 2 = filter. */
int container_seccomp_mode(void);

/* Is this process in a namespace of its kind ("user", "pid", "ipc", "uts", "cgroup", "time") that isn't the one the system began with? */
bool container_has_namespace(const char *kind);

/* Is this process set apart by a namespace of processes, users, groups, names or IPC? */
bool container_is_inside(void);

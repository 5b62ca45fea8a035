/* A private instance of tracefs: a folder with buffers and settings of its own, which nobody else sees. It goes with us however we end: a
 * process of ours waits for that and removes it, also after SIGKILL.
 *
 * Source of the facts: Documentation/trace/ftrace.rst of the kernel, "Instances". */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct trace_instance {
	char *path; /* NULL = none */
	pid_t guard;
	int alive; /* the guard's pipe: closed when we end */
};

/* False when this kernel or this user can't have one. */
bool trace_instance_open(const char *tracefs, struct trace_instance *ret);
/* Switches it off and removes it; nothing in it may be open any more. False when there is none. */
bool trace_instance_close(struct trace_instance *instance);

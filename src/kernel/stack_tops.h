/* Where the stacks of running processes end, as /proc/PID/maps and /proc/PID/stat tell: nothing above belongs to a stack. Not
 * thread-safe. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct stack_top {
	uint64_t end; /* of the memory around the stack pointer; 0 = unknown */
	uint64_t
		entry; /* of the process's first stack: the stack pointer when the program began, where argc is; 0 = another stack, or unknown */
};

struct stack_tops;
/* `root`: "" or the directory that stands for /, for tests. */
struct stack_tops *stack_tops_create(const char *root);
/* NULL is fine. */
void stack_tops_destroy(struct stack_tops *tops);

/* The end of the stack that a stack pointer of a process points into. A process is looked at when it comes by first, again when the stack
 * pointer lies elsewhere (not more often than each 10 ms) or a second has gone by. `now_ns` is any clock that goes forward. Unknown of
 * processes that ended before. */
struct stack_top stack_tops_find(struct stack_tops *tops, pid_t pid, uint64_t stack_pointer, uint64_t now_ns);
/* The process runs another program now. */
void stack_tops_forget(struct stack_tops *tops, pid_t pid);

/* What a thread that sleeps waits for, as /proc tells without waking it up: for those that were asleep before measuring began. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ASLEEP_STACK = 4096 };

struct asleep {
	uint64_t argument; /* the first one of the system call that it is in; 0 without one */
	uint64_t sp, ip;   /* in the program; 0 = not known */
	char *functions;   /* of the kernel, innermost first, a line each; never NULL */
	uint8_t *stack;	   /* what is at `sp`; or NULL */
	size_t stack_len;  /* up to ASLEEP_STACK */
};

/* False when the thread runs, is gone, or is none of ours to look at. */
bool asleep_read(pid_t pid, pid_t tid, struct asleep *ret);
void asleep_deinit(struct asleep *asleep);

/* The thread that has a mutex of the GNU C library, for which others wait at `address`, as the mutex itself notes it; 0 = none, or that
 * can't be told. */
pid_t asleep_owner_of_mutex(pid_t pid, uint64_t address);
/* The thread whose end pthread_join() waits for at `address`; 0 = it has ended. */
pid_t asleep_joined(pid_t pid, uint64_t address);

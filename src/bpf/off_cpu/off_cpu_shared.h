/* What off_cpu.bpf.c and its loader share. */
#pragma once

#include "bpf/user_stacks_shared.h"

#include <stdbool.h>
#include <stdint.h>

enum { OFF_CPU_KERNEL_FRAMES = 64, OFF_CPU_USER_FRAMES = 127 };

struct off_cpu_config {
	uint64_t threshold_ns;		      /* waits that last so long are told of one by one, the others added up */
	uint64_t namespace_device, namespace; /* of pids: device and inode of ours */
	uint32_t wake_bytes;		      /* the reader is woken up when so much of the ring is unread */
	bool by_target;			      /* only threads that were added */
	bool inherit;			      /* … and those that they make … */
	bool inherit_late;		      /* … once measuring has begun for the first time */
	bool on_cpus;			      /* only waits for which one of the chosen CPUs was left */
	bool kernel_stacks, user_stacks;
};

/* What the ring has begins with one of these. */
enum off_cpu_kind { OFF_CPU_WAIT, OFF_CPU_STACK, OFF_CPU_PYTHON };

/* A wait, or waits of a thread that began with the same stack. */
struct bpf_off_cpu_wait {
	uint64_t kind;
	uint64_t stack;	   /* number of the stack, of which was told before; 0 = there was no room for it */
	uint64_t since;	   /* of one under way: when it began, ns of CLOCK_MONOTONIC; else 0 */
	uint64_t last;	   /* when the last one ended */
	uint64_t total;	   /* ns */
	uint64_t count;	   /* of waits */
	uint32_t pid, tid; /* as we number them */
	uint32_t cpu;	   /* where the last one ended */
	uint32_t state;	   /* bits of prev_state */
	uint32_t period;   /* of measuring in which it began */
	uint32_t copies;   /* of its stack, in the eighth of a second that is in the upper bits */
};

/* A stack, when it is first met; maybe again. */
struct bpf_off_cpu_stack {
	uint64_t kind;
	uint64_t number; /* never 0 */
	uint64_t time;
	uint32_t pid, tid;			      /* as we number them */
	uint32_t kernel;			      /* how many addresses there are */
	uint32_t user;				      /* USER_STACKS_HEAD() of what follows: a chain or copy (user_stacks_shared.h) */
	uint64_t kernel_stack[OFF_CPU_KERNEL_FRAMES]; /* innermost first */
};

/* A code of Python that stacks name by its number; told before them. */
struct bpf_off_cpu_python {
	uint64_t kind;
	uint32_t padding, word; /* USER_STACKS_HEAD() */
	struct user_stacks_python_code code;
};

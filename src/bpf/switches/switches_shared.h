/* What switches.bpf.c and its loader share. */
#pragma once

#include <stdint.h>

enum { SWITCHES_KERNEL_FRAMES = 64 };

/* Who has woken a thread up first, and when. It may have been an interrupt of this one. */
struct bpf_waking {
	uint64_t time; /* ns of CLOCK_MONOTONIC; 0 = nobody that is known of */
	uint32_t pid, tid;
};

enum switches_what {
	SWITCHES_SLEEPS,  /* `previous` waits for something */
	SWITCHES_GOES_ON, /* it could have gone on */
	SWITCHES_WOKEN	  /* no switch: `next` was woken and has come back without a word since then; kernels lose some events */
};

/* One switch. Threads have the numbers of the initial pid namespace; 0 = the CPU idles. */
struct bpf_switch {
	uint64_t time;		  /* ns of CLOCK_MONOTONIC */
	uint32_t took;		  /* … so many later all was told of the stack */
	uint32_t what;		  /* enum switches_what */
	uint32_t previous, next;  /* threads */
	struct bpf_waking waking; /* of `next` */
	uint64_t stack;		  /* number of the stack of `previous`, or of its part in the kernel; 0 = there was no room to tell of it */
	uint64_t argument;	  /* the first one of its system call */
	uint64_t ip;		  /* in its program, 0 = it has none */
};

/* The switches of a CPU are in a ring of `struct bpf_switch`, at the places `read` to `written`, modulo its size. */
struct switches_ends {
	uint64_t written, read, lost;
	uint64_t unused[5]; /* a cache line each */
};

/* Raw data of samples, which tell of stacks before the first switch that has their number. */
struct bpf_switch_stack {
	uint64_t number;
	uint64_t ip;				 /* in the program; of a stack in the kernel 0 */
	uint32_t count, unused;			 /* addresses of a part in the kernel; 0: the sample itself has the stack, all of it */
	uint64_t kernel[SWITCHES_KERNEL_FRAMES]; /* innermost first; maybe less are there */
};

/* Opening counters: perf_event_open() with what this kernel cannot do left out.
 *
 * Kernels before the newest refuse attributes that they don't know with EINVAL or E2BIG, without saying which. So what was asked for is
 * taken back step by step, newest addition first, until the kernel agrees; what had to go is remembered in `struct perf_open`, so that it
 * is found out once for all counters. Things that the person asked for are never taken back silently: they stay and the refusal is
 * explained (kernel/refusal.h). The attribute is the kernel's structure; event/attr.h has the same layout. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a kernel may lack; each with the Linux version that brought it. */
enum perf_feature {
	PERF_FEATURE_READ_LOST = 1 << 0,     /* 6.0: counts of lost samples in reads */
	PERF_FEATURE_WEIGHT_STRUCT = 1 << 1, /* 5.12: weight in three parts */
	PERF_FEATURE_BPF_EVENT = 1 << 2,     /* 5.1 */
	PERF_FEATURE_KSYMBOL = 1 << 3,	     /* 5.1 */
	PERF_FEATURE_MMAP2 = 1 << 4,	     /* 3.16 */
	PERF_FEATURE_COMM_EXEC = 1 << 5,     /* 3.16 */
	PERF_FEATURE_EXCLUDE_GUEST = 1 << 6, /* 3.2 */
	PERF_FEATURE_INHERIT_READ = 1 << 7,  /* 6.13: PERF_SAMPLE_READ with inherit */
	PERF_FEATURE_CLOEXEC = 1 << 8,	     /* 3.14 */
	PERF_FEATURE_TEXT_POKE = 1 << 9,     /* 5.9 */
};

struct perf_open {
	uint32_t missing; /* enum perf_feature */
};

/* Opens one counter. Returns a file descriptor (close-on-exec), or -errno. `attr` may have lost features that the kernel lacks;
 * `precise_max`: its precise_ip is lowered until the hardware agrees. `pid` -1 = every process of `cpu`, `cpu` -1 = wherever the thread
 * runs, `group` -1 = none. */
int perf_open_counter(struct perf_open *state, struct perf_event_attr *attr, bool precise_max, pid_t pid, int cpu, int group,
		      unsigned long flags);

/* The bare system call: a descriptor or -errno. */
int perf_open_raw(const struct perf_event_attr *attr, pid_t pid, int cpu, int group, unsigned long flags);

/* The counter's id (PERF_EVENT_IOC_ID); 0 when it cannot be had. */
uint64_t perf_open_id(int fd);

/* Contexts of programs at the scheduler's tracepoints. The members are where events/SYSTEM/EVENT/format says; that they are is looked at
 * before a program is loaded (bpf/tracepoints.h), so that these programs need no type information of the kernel. */
#pragma once

#include <stdint.h>

struct sched_switch_event {
	uint64_t common;
	char prev_comm[16];
	uint32_t prev_pid;
	int32_t prev_prio;
	int64_t prev_state;
	char next_comm[16];
	uint32_t next_pid;
	int32_t next_prio;
};

/* sched_waking, sched_wakeup and sched_wakeup_new. */
struct sched_wakeup_event {
	uint64_t common;
	char comm[16];
	uint32_t pid;
};

struct task_newtask_event {
	uint64_t common;
	uint32_t pid;
};

/* In prev_state: sleeps, ends, has lost the CPU. */
enum { SCHED_ASLEEP = 3, SCHED_ENDED = 0x30, SCHED_PREEMPTED = 0x100 };

/* Tasks by the numbers that they have in the pid namespace of whoever loads a program. */
#pragma once

#include "bpf/pid_numbers.bpf.h"

uint32_t level; /* of our pid namespace, 0 = the initial one */

/* The number in our pid namespace, which isn't the initial one; 0 when there is none. */
static __always_inline uint32_t number_of(struct pid *pid)
{
	return BPF_CORE_READ(pid, level) < level ? 0 : number_at(pid, level);
}

/* A task's number in our pid namespace, 0 when it has none there. */
static __always_inline uint32_t visible_pid(struct task_struct *task)
{
	return level ? number_of(task->thread_pid) : task->pid;
}

/* The same of a task of which only the address is known, that may be gone. */
static __always_inline uint32_t visible_pid_of(struct task_struct *task)
{
	return level ? number_of(BPF_CORE_READ(task, thread_pid)) : BPF_CORE_READ(task, pid);
}

/* Run once by the loader, never attached: in which pid namespace is it? */
SEC("raw_tp")
int find_level(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();

	level = BPF_CORE_READ(task, thread_pid, level);
	return 0;
}

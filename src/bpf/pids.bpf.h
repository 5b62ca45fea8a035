/* Tasks by the numbers that they have in the pid namespace of whoever loads a program. */
#pragma once

#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum { PID_LEVELS_MASK = 1023 };

uint32_t level; /* of our pid namespace, 0 = the initial one */

/* A task's number in our pid namespace, 0 when it has none there. */
static __always_inline uint32_t visible_pid(struct task_struct *task)
{
	struct pid *pid;
	uint32_t number = 0, its_level;

	if (!level)
		return task->pid;
	pid = task->thread_pid;
	its_level = BPF_CORE_READ(pid, level);
	if (its_level < level)
		return 0;
	bpf_core_read(&number, sizeof(number), &pid->numbers[0].nr);
	if (level) {
		/* At most MAX_PID_NS_LEVEL (32) levels of 16 bytes: verifiers before Linux 6.2 want a bound. */
		uint64_t offset = level * bpf_core_type_size(struct upid) & PID_LEVELS_MASK;
		bpf_probe_read_kernel(&number, sizeof(number),
				      (char *)pid + bpf_core_field_offset(struct pid, numbers) + bpf_core_field_offset(struct upid, nr) +
					      offset);
	}
	return number;
}

/* Run once by the loader, never attached: in which pid namespace is it? */
SEC("raw_tp")
int find_level(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();

	level = BPF_CORE_READ(task, thread_pid, level);
	return 0;
}

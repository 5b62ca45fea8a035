/* What a task is called in the pid namespaces that it is in. */
#pragma once

#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum { PID_LEVELS_MASK = 1023 };

/* In the namespace of a level, 0 = the initial one; at most that of the task's own. */
static __always_inline uint32_t number_at(struct pid *pid, uint32_t level)
{
	uint32_t number = 0;

	/* At most MAX_PID_NS_LEVEL (32) levels of 16 bytes: verifiers before Linux 6.2 want a bound. */
	uint64_t offset = level * bpf_core_type_size(struct upid) & PID_LEVELS_MASK;
	bpf_probe_read_kernel(&number, sizeof(number),
			      (char *)pid + bpf_core_field_offset(struct pid, numbers) + bpf_core_field_offset(struct upid, nr) + offset);
	return number;
}

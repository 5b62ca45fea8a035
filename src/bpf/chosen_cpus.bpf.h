/* CPUs that were chosen (-C). */
#pragma once

#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_helpers.h>

/* By CPU: 1 = chosen. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint8_t);
} cpus SEC(".maps");

static __always_inline bool on_chosen_cpu(void)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	uint8_t *chosen = bpf_map_lookup_elem(&cpus, &cpu);

	return chosen && *chosen;
}

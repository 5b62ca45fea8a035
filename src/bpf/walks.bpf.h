/* Where programs put a stack together, which has no room on their own: a struct walk for each CPU, which who includes this has defined. */
#pragma once

#include <linux/bpf.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* CPUs, set when it is loaded */
	__type(key, uint32_t);
	__type(value, struct walk);
} walks SEC(".maps");

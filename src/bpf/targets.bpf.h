/* Threads, or processes, that are measured, by the numbers that they have for us. Who loads the program gives the map its size. */
#pragma once

#include <linux/bpf.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint8_t);
} targets SEC(".maps");

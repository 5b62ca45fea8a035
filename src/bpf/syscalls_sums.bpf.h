/* Calls added up in the kernel. */
#pragma once

#include "bpf/syscalls_state.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct call_sum_key);
	__type(value, struct call_sum);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct call_sum_key);
	__type(value, struct call_histogram);
} histograms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct call_errno_key);
	__type(value, uint64_t);
} errors SEC(".maps");

/* Adds the square of a duration, which may need more than 64 bits: (a·2³² + b)² = a²·2⁶⁴ + 2ab·2³² + b² */
static __always_inline void add_square(struct call_sum *sum, uint64_t duration)
{
	uint64_t high = duration >> 32, low = duration & 0xffffffff, middle = 2 * high * low, before;

	sum->squares_high += high * high + (middle >> 32);
	before = sum->squares_low;
	sum->squares_low += middle << 32;
	sum->squares_high += sum->squares_low < before;
	before = sum->squares_low;
	sum->squares_low += low * low;
	sum->squares_high += sum->squares_low < before;
}

static __always_inline uint32_t log2_of(uint64_t value)
{
	uint32_t log = 0;

	if (value >> 32) {
		log += 32;
		value >>= 32;
	}
	if (value >> 16) {
		log += 16;
		value >>= 16;
	}
	if (value >> 8) {
		log += 8;
		value >>= 8;
	}
	if (value >> 4) {
		log += 4;
		value >>= 4;
	}
	if (value >> 2) {
		log += 2;
		value >>= 2;
	}
	return log + (uint32_t)(value >> 1);
}

static __always_inline void add_to_histogram(const struct call_sum_key *key, uint64_t duration)
{
	struct call_histogram *histogram = bpf_map_lookup_elem(&histograms, key);
	uint32_t slot = log2_of(duration);

	if (!histogram) {
		static const struct call_histogram empty;
		bpf_map_update_elem(&histograms, key, &empty, BPF_NOEXIST);
		histogram = bpf_map_lookup_elem(&histograms, key);
	}
	if (histogram && slot < sizeof(histogram->calls) / sizeof(histogram->calls[0]))
		histogram->calls[slot]++;
}

static __always_inline void add_error(const struct call_sum_key *key, int64_t result)
{
	struct call_errno_key error = {.call = *key, .error = -result};
	uint64_t *count = bpf_map_lookup_elem(&errors, &error), one = 1;

	if (count)
		(*count)++;
	else
		bpf_map_update_elem(&errors, &error, &one, BPF_ANY);
}

static __always_inline void add_to_sum(struct thread *thread, uint64_t duration, int64_t result)
{
	struct call_sum_key key = {
		.tid = thread->tid, .number = thread->number, .cgroup = config.by_cgroup ? bpf_get_current_cgroup_id() : 0};
	struct call_sum *sum = bpf_map_lookup_elem(&sums, &key);

	if (!sum) {
		struct call_sum first = {.shortest = UINT64_MAX};
		bpf_map_update_elem(&sums, &key, &first, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&sums, &key);
		if (!sum) {
			__sync_fetch_and_add(&unsummed, 1);
			return;
		}
	}
	sum->calls++;
	sum->total += duration;
	if (duration < sum->shortest)
		sum->shortest = duration;
	if (duration > sum->longest)
		sum->longest = duration;
	add_square(sum, duration);
	if (config.histograms)
		add_to_histogram(&key, duration);
	if (result < 0 && result >= -LARGEST_ERRNO) {
		sum->errors++;
		if (config.errors)
			add_error(&key, result);
	}
}

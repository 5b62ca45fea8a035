/* Calls added up in the kernel. */
#pragma once

#include "bpf/syscalls/syscalls_state.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct syscall_sum_key);
	__type(value, struct syscall_sum);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct syscall_sum_key);
	__type(value, struct syscall_histogram);
} histograms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct syscall_errno_key);
	__type(value, uint64_t);
} errors SEC(".maps");

/* Adds the square of a duration, which may need more than 64 bits: (a·2³² + b)² = a²·2⁶⁴ + 2ab·2³² + b² */
static __always_inline void add_square(struct syscall_sum *sum, uint64_t duration)
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

static __always_inline void add_to_histogram(const struct syscall_sum_key *key, uint64_t duration)
{
	struct syscall_histogram *histogram = bpf_map_lookup_elem(&histograms, key);
	uint32_t slot = log2_of(duration);

	if (!histogram) {
		static const struct syscall_histogram empty;
		bpf_map_update_elem(&histograms, key, &empty, BPF_NOEXIST);
		histogram = bpf_map_lookup_elem(&histograms, key);
	}
	if (histogram && slot < sizeof(histogram->calls) / sizeof(histogram->calls[0]))
		histogram->calls[slot]++;
}

static __always_inline void add_error(const struct syscall_sum_key *key, int64_t result)
{
	struct syscall_errno_key error = {.call = *key, .error = -result};
	uint64_t *count = bpf_map_lookup_elem(&errors, &error), one = 1;

	if (count)
		(*count)++;
	else
		bpf_map_update_elem(&errors, &error, &one, BPF_ANY);
}

static __always_inline void merge(struct syscall_sum *to, const struct syscall_sum *from)
{
	uint64_t before = to->squares_low;

	to->calls += from->calls;
	to->errors += from->errors;
	to->total += from->total;
	if (from->shortest < to->shortest)
		to->shortest = from->shortest;
	if (from->longest > to->longest)
		to->longest = from->longest;
	to->squares_low += from->squares_low;
	to->squares_high += from->squares_high + (to->squares_low < before);
}

/* Puts a slot's sum into the map. */
static __noinline int empty_slot(const struct thread *thread, struct sum_slot *slot)
{
	struct syscall_sum_key key = {.tid = thread->tid, .number = slot->number, .cgroup = slot->cgroup};
	struct syscall_sum *sum = bpf_map_lookup_elem(&sums, &key);

	if (sum)
		merge(sum, &slot->sum);
	else if (bpf_map_update_elem(&sums, &key, &slot->sum, BPF_ANY))
		__sync_fetch_and_add(&unsummed, slot->sum.calls);
	slot->sum.calls = 0;
	return 0;
}

/* Before the thread ends, or has another number; at the end of the trace. */
static __always_inline void empty_slots(struct thread *thread)
{
	for (uint32_t i = 0; i < SUM_SLOTS; i++)
		if (thread->slots[i].sum.calls)
			empty_slot(thread, &thread->slots[i]);
}

static __always_inline void add_to_sum(struct thread *thread, uint64_t duration, int64_t result)
{
	struct sum_slot *slot = &thread->slots[thread->number & (SUM_SLOTS - 1)];
	struct syscall_sum *sum = &slot->sum;
	uint64_t cgroup = config.by_cgroup ? bpf_get_current_cgroup_id() : 0;

	if (sum->calls && (slot->number != thread->number || slot->cgroup != cgroup))
		empty_slot(thread, slot);
	if (!sum->calls) {
		__builtin_memset(slot, 0, sizeof(*slot));
		slot->number = thread->number;
		slot->cgroup = cgroup;
		sum->shortest = UINT64_MAX;
	}
	sum->calls++;
	sum->total += duration;
	if (duration < sum->shortest)
		sum->shortest = duration;
	if (duration > sum->longest)
		sum->longest = duration;
	add_square(sum, duration);
	bool failed = result < 0 && result >= -LARGEST_ERRNO;
	sum->errors += failed;
	if (!config.histograms && !(config.errors && failed))
		return;
	struct syscall_sum_key key = {.tid = thread->tid, .number = thread->number, .cgroup = cgroup};
	if (config.histograms)
		add_to_histogram(&key, duration);
	if (config.errors && failed)
		add_error(&key, result);
}

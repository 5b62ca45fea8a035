// SPDX-License-Identifier: Dual MIT/GPL
/* Which allocations of a process weren't freed: each is noted when its function returns, with its stack, and forgotten when it is freed.
 *
 *	malloc(100) ──► call noted ──► mmap(…) inside: not ours ──► returns 0x5555…: noted with its stack
 *
 * Allocators call each other: only the outermost call counts, which is the one with the highest stack pointer. A call that never came back
 * (an exception, longjmp) is below the next one, which replaces it. */
#include "bpf/kernel_types.bpf.h"
#include "bpf/leaks_shared.h"

#include <bpf/bpf_helpers.h>

enum { TAKEN = -17 }; /* -EEXIST */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct leaks_config config;

uint32_t running;
uint64_t missed; /* allocations for which there was no room */

enum call_kind { CALL_RETURNS, CALL_STORES, CALL_MOVES, CALL_MAPS };

struct call {
	uint64_t sp, bytes, address; /* address: where the result is stored, or what is moved */
	uint64_t kind;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, uint64_t);
	__type(value, struct call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LEAKS_ALLOCATIONS);
	__type(key, uint64_t);
	__type(value, struct leaks_allocation);
} allocations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LEAKS_STACKS);
	__type(key, int64_t);
	__type(value, struct leaks_sums);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, LEAKS_STACKS);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, LEAKS_FRAMES * sizeof(uint64_t));
} stacks SEC(".maps");

/* Stacks whose place another one has: the kernel keeps one for each value of the hash. Their numbers follow those of the others. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, LEAKS_MORE_STACKS);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, LEAKS_FRAMES * sizeof(uint64_t));
} more_stacks SEC(".maps");

#if defined(__TARGET_ARCH_x86)
enum { RETURN_POPS = 8 };
#define ARGUMENT1(context) ((uint64_t)(context)->di)
#define ARGUMENT2(context) ((uint64_t)(context)->si)
#define ARGUMENT3(context) ((uint64_t)(context)->dx)
#define RESULT(context) ((uint64_t)(context)->ax)
#else
enum { RETURN_POPS = 0 };
#define ARGUMENT1(context) ((uint64_t)(context)->regs[0])
#define ARGUMENT2(context) ((uint64_t)(context)->regs[1])
#define ARGUMENT3(context) ((uint64_t)(context)->regs[2])
#define RESULT(context) ((uint64_t)(context)->regs[0])
#endif

/* ---- noting ---- */

static __always_inline void add(int64_t stack, uint64_t bytes, uint64_t count)
{
	struct leaks_sums *found = bpf_map_lookup_elem(&sums, &stack), fresh = {};

	if (!found) {
		bpf_map_update_elem(&sums, &stack, &fresh, BPF_NOEXIST);
		found = bpf_map_lookup_elem(&sums, &stack);
	}
	if (!found)
		return;
	__sync_fetch_and_add(&found->bytes, bytes);
	__sync_fetch_and_add(&found->count, count);
}

static __always_inline void forget(uint64_t address)
{
	struct leaks_allocation *found = bpf_map_lookup_elem(&allocations, &address), allocation;

	if (!found)
		return;
	allocation = *found;
	if (!bpf_map_delete_elem(&allocations, &address))
		add(allocation.stack, -allocation.bytes, -allocation.count);
}

static __always_inline int64_t stack_number(struct pt_regs *context)
{
	int64_t number = bpf_get_stackid(context, &stacks, BPF_F_USER_STACK);

	if (number != TAKEN)
		return number;
	number = bpf_get_stackid(context, &more_stacks, BPF_F_USER_STACK);
	return number < 0 ? number : LEAKS_STACKS + number;
}

static __always_inline void note(struct pt_regs *context, uint64_t address, uint64_t bytes)
{
	struct leaks_allocation allocation = {.bytes = bytes, .count = LEAKS_COUNT_UNIT};
	uint64_t sample = config.sample;

	forget(address); /* it was freed in a way that we don't see */
	if (bytes < sample) {
		if (((uint64_t)bpf_get_prandom_u32() * sample) >> 32 >= bytes)
			return;
		allocation.count = sample * LEAKS_COUNT_UNIT / bytes;
		allocation.bytes = sample;
	}
	allocation.time = bpf_ktime_get_ns();
	allocation.stack = stack_number(context);
	if (bpf_map_update_elem(&allocations, &address, &allocation, BPF_ANY))
		__sync_fetch_and_add(&missed, 1);
	else
		add(allocation.stack, allocation.bytes, allocation.count);
}

/* ---- calls ---- */

static __always_inline int enter(struct pt_regs *context, uint64_t bytes, uint64_t address, uint64_t kind)
{
	struct call call = {.sp = context->sp, .bytes = bytes, .address = address, .kind = kind};
	uint64_t thread = bpf_get_current_pid_tgid();
	struct call *outer = bpf_map_lookup_elem(&calls, &thread);

	if (running && !(outer && outer->sp > call.sp))
		bpf_map_update_elem(&calls, &thread, &call, BPF_ANY);
	return 0;
}

SEC("uretprobe")
int leave(struct pt_regs *context)
{
	uint64_t thread = bpf_get_current_pid_tgid(), result = RESULT(context);
	struct call *found = bpf_map_lookup_elem(&calls, &thread), call;

	if (!found || found->sp + RETURN_POPS != context->sp)
		return 0;
	call = *found;
	bpf_map_delete_elem(&calls, &thread);
	if (call.kind == CALL_STORES) {
		if ((uint32_t)result || bpf_probe_read_user(&result, sizeof(result), (void *)call.address))
			return 0;
	}
	if (call.kind == CALL_MAPS && result == (uint64_t)-1)
		return 0;
	if (call.kind == CALL_MOVES && call.address && (result || !call.bytes))
		forget(call.address);
	if (result)
		note(context, result, call.bytes);
	return 0;
}

SEC("uprobe")
int enter_first(struct pt_regs *context)
{
	return enter(context, ARGUMENT1(context), 0, CALL_RETURNS);
}

SEC("uprobe")
int enter_second(struct pt_regs *context)
{
	return enter(context, ARGUMENT2(context), 0, CALL_RETURNS);
}

SEC("uprobe")
int enter_calloc(struct pt_regs *context)
{
	return enter(context, ARGUMENT1(context) * ARGUMENT2(context), 0, CALL_RETURNS);
}

SEC("uprobe")
int enter_realloc(struct pt_regs *context)
{
	return enter(context, ARGUMENT2(context), ARGUMENT1(context), CALL_MOVES);
}

SEC("uprobe")
int enter_reallocarray(struct pt_regs *context)
{
	return enter(context, ARGUMENT2(context) * ARGUMENT3(context), ARGUMENT1(context), CALL_MOVES);
}

SEC("uprobe")
int enter_posix_memalign(struct pt_regs *context)
{
	return enter(context, ARGUMENT3(context), ARGUMENT1(context), CALL_STORES);
}

SEC("uprobe")
int enter_mmap(struct pt_regs *context)
{
	return enter(context, ARGUMENT2(context), 0, CALL_MAPS);
}

SEC("uprobe")
int release(struct pt_regs *context)
{
	forget(ARGUMENT1(context));
	return 0;
}

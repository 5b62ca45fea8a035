/* Stacks of the kernel at a tracepoint that need not be walked again. A walk follows the kernel's unwinding tables and takes more than a
 * microsecond; threads mostly wait where they have waited before, and a thread's stack stays at its address.
 *
 *	sp ──► ┌──────────┐
 *	       │ return 0 │     What a walk finds are words of the stack: where a frame's return address lies depends on nothing but
 *	       │   …      │     the frame before. So with the same sp, and with these words as they were, it would find the same.
 *	       │ return 1 │
 *	       │   …      │     Which words it has read isn't told: all that look like code of the kernel are kept. Those that change
 *	       │ a rest   │     while the walk finds the same aren't of its; they are forgotten.
 *
 * A stack is learned when it comes for the second time, or, when it can't be, for the fourth, the eighth … */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

enum { WALK_FRAMES = 64, WALK_WORDS = 256, WALKS = 2048 };

static const uint64_t no_address = 0x7fff7fff7fff7fff; /* nothing on a stack */

struct kernel_walk {
	uint64_t hash;	 /* of the stack that was last seen here */
	uint32_t times;	 /* that it was walked, one after the other */
	uint32_t frames; /* addresses */
	uint32_t count;	 /* of words; 0 = they aren't known */
	uint32_t size;	 /* bytes from sp to the end of the last one */
	uint32_t found;	 /* scratch */
	uint32_t unused;
	uint16_t places[WALK_FRAMES]; /* words from sp */
	uint64_t words[WALK_FRAMES];
	uint64_t addresses[WALK_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WALKS);
	__type(key, uint64_t); /* sp */
	__type(value, struct kernel_walk);
} kernel_walks SEC(".maps");

/* Too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernel_walk);
} no_walk SEC(".maps");

struct stack_words {
	uint64_t words[WALK_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct stack_words);
} stack_words SEC(".maps");

static __always_inline uint64_t walk_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

/* Counts are read again at each step: from the end of a loop over a number in a register the verifier goes on once for each number that it
 * can be. */
static __always_inline uint64_t walk_hash(uint64_t hash, const uint64_t *addresses, const volatile uint32_t *count, uint32_t most)
{
	for (uint32_t i = 0; i < most && i < *count; i++)
		hash = walk_mix(hash, addresses[i]);
	return hash;
}

/* Where the stack is from which the kernel begins to walk; 0 = not known. Programs at tracepoints may not look at the first word of their
 * context, which is the address of the registers that the walk begins with (perf_trace_run_bpf_submit() of kernel/events/core.c). */
static __always_inline uint64_t kernel_walk_begin(const void *event)
{
	uint64_t sp = 0;
#if defined(__TARGET_ARCH_x86)
	enum { SP_OFFSET = 152 }; /* in struct pt_regs */
	uint64_t regs = 0;

	if (!bpf_probe_read_kernel(&regs, sizeof(regs), event) && regs)
		bpf_probe_read_kernel(&sp, sizeof(sp), (const void *)(regs + SP_OFFSET));
#endif
	return sp;
}

/* The words from `sp` on, NULL when they can't be read. */
static __always_inline struct stack_words *read_words(uint64_t sp, uint32_t size)
{
	uint32_t zero = 0;
	struct stack_words *stack = bpf_map_lookup_elem(&stack_words, &zero);

	if (!stack || bpf_probe_read_kernel(stack->words, size < sizeof(*stack) ? size : sizeof(*stack), (const void *)sp))
		return NULL;
	return stack;
}

static __always_inline bool is_same_stack(const struct kernel_walk *walk, uint64_t sp)
{
	const volatile uint32_t *count = &walk->count;
	const struct stack_words *stack = *count ? read_words(sp, walk->size) : NULL;

	for (uint32_t i = 0; stack && i < WALK_FRAMES && i < *count; i++)
		if (stack->words[walk->places[i] & (WALK_WORDS - 1)] != walk->words[i])
			return false;
	return stack;
}

/* The words from `sp` on that may be addresses in the kernel, if all that the walk has found are there. */
static __always_inline void learn_words(struct kernel_walk *walk, uint64_t sp)
{
	enum { STACK_ALIGNMENT = 1 << 14, HALF = 32 }; /* that of the smallest kernel stacks; bits */
	const struct stack_words *stack = read_words(sp, STACK_ALIGNMENT - (sp & (STACK_ALIGNMENT - 1)));
	volatile uint32_t *count = &walk->count, *found = &walk->found, *most = &walk->size;

	if (!stack)
		return;
	*found = 0;
	*most = (STACK_ALIGNMENT - (sp & (STACK_ALIGNMENT - 1))) / sizeof(uint64_t);
	for (uint32_t i = 0; i < WALK_WORDS && i < *most; i++) {
		uint64_t word = stack->words[i];
		uint32_t frame = *found % WALK_FRAMES, place = *count;

		if (word >> HALF != walk->addresses[0] >> HALF || place >= WALK_FRAMES)
			continue;
		walk->places[place] = i;
		walk->words[place] = word;
		*count = place + 1;
		if (word == walk->addresses[frame])
			*found = frame + 1;
	}
	/* The first one is there whatever the stack. */
	if (*found != walk->frames || *count == WALK_FRAMES || walk->words[0] != walk->addresses[0])
		*count = 0;
	else
		walk->size = (walk->places[(*count - 1) % WALK_FRAMES] + 1) * sizeof(uint64_t);
}

/* The walk has found the same though words have changed: the first takes their place. */
static __always_inline void forget_changed(struct kernel_walk *walk, uint64_t sp)
{
	volatile uint32_t *count = &walk->count;
	const struct stack_words *stack = read_words(sp, walk->size);

	if (!stack)
		*count = 0;
	for (uint32_t i = 0; stack && i < WALK_FRAMES && i < *count; i++) {
		if (stack->words[walk->places[i] & (WALK_WORDS - 1)] == walk->words[i])
			continue;
		walk->places[i] = walk->places[0];
		walk->words[i] = walk->words[0];
	}
}

/* What the walk from `sp` has found. */
static __always_inline void learn_walk(struct kernel_walk *walk, uint64_t sp, const uint64_t *addresses, const volatile uint32_t *frames)
{
	uint64_t hash = walk_hash(0, addresses, frames, WALK_FRAMES);
	uint32_t zero = 0;

	if (!walk) {
		walk = bpf_map_lookup_elem(&no_walk, &zero);
		if (walk)
			bpf_map_update_elem(&kernel_walks, &sp, walk, BPF_NOEXIST);
		walk = bpf_map_lookup_elem(&kernel_walks, &sp);
	}
	if (!walk)
		return;
	walk->times = walk->hash == hash ? walk->times + 1 : 1;
	if (walk->hash == hash && walk->count) {
		forget_changed(walk, sp);
		return;
	}
	walk->hash = hash;
	walk->count = 0;
	if (walk->times > 1 && !(walk->times & (walk->times - 1)) && *frames < WALK_FRAMES) {
		walk->frames = *frames;
		for (uint32_t i = 0; i < WALK_FRAMES; i++)
			walk->addresses[i] = i < *frames ? addresses[i] : no_address;
		learn_words(walk, sp);
	}
}

/* How many addresses the kernel has found. */
static __always_inline uint32_t walk_kernel_stack(void *event, uint64_t *addresses)
{
	long got = bpf_get_stack(event, addresses, WALK_FRAMES * sizeof(*addresses), 0);

	return got > 0 ? (uint32_t)got / sizeof(*addresses) : 0;
}

/* The addresses of the kernel's stack at the tracepoint, innermost first, and how many there are. */
static __always_inline void take_kernel_stack(void *event, uint64_t *addresses, volatile uint32_t *ret_count)
{
	uint64_t sp = kernel_walk_begin(event);
	struct kernel_walk *walk = sp ? bpf_map_lookup_elem(&kernel_walks, &sp) : NULL;

	if (walk && is_same_stack(walk, sp)) {
		*ret_count = walk->frames;
		for (uint32_t i = 0; i < WALK_FRAMES && i < *ret_count; i++)
			addresses[i] = walk->addresses[i];
		return;
	}
	*ret_count = walk_kernel_stack(event, addresses);
	if (sp && *ret_count)
		learn_walk(walk, sp, addresses, ret_count);
}

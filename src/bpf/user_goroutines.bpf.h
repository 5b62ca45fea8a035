/* From the stack of a thread of Go's to that of the goroutine that it runs.
 *
 * What needs much stack, or more than one goroutine, Go's runtime does on the thread's own stack, that of its goroutine g0. What lies there
 * above the function that changed to it is old. Where the goroutine was is in its structure:
 *
 *	TLS or x28 ──► goroutine ─► thread (m) ─┬─► g0: sched.sp, where its stack was when it was changed to
 *	                                        └─► curg: sched.sp, sched.pc, sched.lr, where the goroutine's stack goes on
 *
 * Where members are: runtime/runtime2.go; all have been there since Go 1.17, but for the thread's goroutine, which was 8 bytes further on
 * as long as struct gobuf had a member `ret`, as is sched.lr. Each goroutine says which thread's it is, by which this is checked. */
#pragma once

#include "bpf/user_python.bpf.h"

enum {
	GO_BELOW_TLS = 8,
	GOROUTINE_LOW = 0,
	GOROUTINE_HIGH = 8,
	GOROUTINE_THREAD = 48,
	GOROUTINE_SP = 56,
	GOROUTINE_PC = 64,
	GOROUTINE_LINK = 96,
	GOROUTINE_LINK_LATER = 88,
	THREAD_G0 = 0,
	THREAD_GOROUTINE = 192,
	THREAD_GOROUTINE_LATER = 184,
	CHANGE_NEEDS = 128, /* bytes of stack that are used before what is called there */
};

enum crossing {
	CROSSES_NOT, /* it hasn't changed stacks */
	CROSSES,
	CROSSES_NOTHING, /* the thread has no goroutine, or begins here: so its stack ends */
};

/* What the thread runs: a goroutine, or its own g0. */
static __always_inline uint64_t running(const struct walk *walk)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = bpf_get_current_task_btf();

	return read_word(BPF_CORE_READ(task, thread.fsbase) - GO_BELOW_TLS);
#else
	return walk->registers.x[28];
#endif
}

/* *ret_link: where in it the link register is. */
static __always_inline uint64_t goroutine_of(uint64_t thread, uint32_t *ret_link)
{
	uint64_t goroutine = read_word(thread + THREAD_GOROUTINE);

	*ret_link = GOROUTINE_LINK;
	if (goroutine && read_word(goroutine + GOROUTINE_THREAD) == thread)
		return goroutine;
	*ret_link = GOROUTINE_LINK_LATER;
	goroutine = read_word(thread + THREAD_GOROUTINE_LATER);
	return goroutine && read_word(goroutine + GOROUTINE_THREAD) == thread ? goroutine : 0;
}

static __always_inline enum crossing cross_to_goroutine(struct walk *walk, enum user_stacks_switch kind)
{
	if (kind == USER_STACKS_BEGINS_THREAD)
		return walk->exact ? CROSSES_NOT : CROSSES_NOTHING;
	uint64_t own = running(walk);
	uint32_t link;
	uint64_t thread = own ? read_word(own + GOROUTINE_THREAD) : 0;
	uint64_t g0 = thread ? read_word(thread + THREAD_G0) : 0, goroutine, sp;

	if (!g0 || read_word(g0 + GOROUTINE_SP) - walk->sp > CHANGE_NEEDS)
		return CROSSES_NOT;
	goroutine = goroutine_of(thread, &link);
	sp = goroutine ? read_word(goroutine + GOROUTINE_SP) : 0;
	if (!sp || goroutine == g0 || sp < read_word(goroutine + GOROUTINE_LOW) || sp > read_word(goroutine + GOROUTINE_HIGH))
		return CROSSES_NOTHING;
	walk->sp = sp;
	walk->ip = read_word(goroutine + GOROUTINE_PC);
	walk->exact = kind == USER_STACKS_AT_PLACE;
	walk->has_fp = walk->has_third = walk->has_link = 0;
	if (HAS_LINK) { /* of a function that has no frame yet, and called for a larger stack */
		walk->link = read_word(goroutine + link);
		walk->has_link = walk->link != 0;
	}
	return CROSSES;
}

/* The stack of a sample as frames, innermost first: call chain markers interpreted, branch stacks of LBR call graphs joined, user stacks
 * unwound where registers and stack bytes were recorded. One place for script, report, flame graphs. */
#pragma once

#include "analysis/stitch.h"
#include "event/event.h"
#include "perfdata/layout.h"
#include "session/session.h"
#include "symbol/resolve.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>

/* The address of the frame that ends a user stack of which not enough was recorded. It looks like a marker of call chains, but is none. */
#define STACK_CUT_OFF UINT64_MAX

static inline bool stack_is_marker(uint64_t word)
{
	return word >= CALLCHAIN_CONTEXT_MAX && word != STACK_CUT_OFF;
}

/* The space that a marker announces; false for an unknown one. */
bool stack_marker_mode(uint64_t marker, uint8_t *ret);

/* Which stacks have a frame for each function that debug information says was inlined at an address. */
enum stack_inlines {
	STACK_INLINES_NONE,
	STACK_INLINES_UNWOUND, /* those that were unwound, as the kernel's perf has it */
	STACK_INLINES_ALL,     /* call chains of frame pointers too */
};

struct stack_options {
	unsigned int max_depth; /* frames, as --max-stack; 0 = the default, 127 */
	bool hide_unresolved;
	enum stack_inlines inlines; /* in user space */
	struct stitcher *stitcher;  /* --stitch-lbr; or NULL */
	bool unwound_apart;	    /* the addresses of an unwound stack are in `ips`, not in the frames; stack_addresses() only */
};

/* Reusable storage for one thread's results. All zero is empty. */
struct stack {
	VEC(struct frame) frames;
	VEC(uint64_t) ips;     /* with unwound_apart: the rest of the stack, in user space */
	size_t unwound;	       /* number of the first unwound frame, before expansion, plus one; 0 = none */
	bool calls;	       /* addresses of callers are in the calls, not behind them: those of an unwound stack, or of branches */
	struct unwind_end end; /* of an unwound stack: why it has no more frames */
	struct unwind_cache *unwind_cache;
};
void stack_deinit(struct stack *stack);

/* Fills `stack` for the sample. An event without call chains has one frame, the sample's ip; one with them can have none at all.
 * In unwound stacks the address of a caller is one byte less than where it will go on: that lies in the call, which may be a function's
 * last instruction. */
void stack_resolve(struct resolver *resolver, const struct machine *machine, const struct thread *thread, const struct event *event,
		   const struct sample *sample, uint64_t model_time, const struct stack_options *options, struct stack *stack);
/* The same without looking up maps and symbols: only `ip` and `cpumode` of the frames are set, hide_unresolved has no effect. */
void stack_addresses(struct resolver *resolver, const struct machine *machine, const struct thread *thread, const struct event *event,
		     const struct sample *sample, uint64_t model_time, const struct stack_options *options, struct stack *stack);
/* Equal for samples that have equal stacks, so that each needs to be resolved once: of the recorded chain and, if it has addresses of user
 * space, the thread's maps at that time. 0 for a stack that is more than its chain. The thread may be NULL where only the kernel's part
 * counts. */
uint64_t stack_chain_key(const struct thread *thread, const struct event *event, const struct sample *sample, uint64_t model_time);
/* The same in two steps. What needs nothing but the sample, 0 as above; an odd number has addresses of user space. The thread may be NULL
 * for others. */
uint64_t stack_chain_hash(const struct event *event, const struct sample *sample);
uint64_t stack_chain_key_of(const struct thread *thread, uint64_t hash, uint64_t model_time);
/* Whether what the event's chains have of user space was unwound while it was recorded (record --call-graph auto), not followed by frame
 * pointers: the kernel was asked for none. */
bool stack_is_unwound_chain(const struct event_attr *attr);
/* Whether a stack can have addresses that the chain of the event's samples has not. */
bool stack_exceeds_chain(const struct machine *machine, const struct event_attr *attr);
/* Files that stand between a program and the kernel, as the C library: what they do is done for their caller. */
bool stack_is_system_library(const struct dso *dso);

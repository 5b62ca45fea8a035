/* The stack of a sample as frames, innermost first: call chain markers interpreted, branch stacks of LBR call graphs joined, user stacks
 * unwound where registers and stack bytes were recorded. One place for script, report, flame graphs. */
#pragma once

#include "event/event.h"
#include "perfdata/layout.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdint.h>

struct stack_options {
	unsigned int max_depth; /* frames, as --max-stack; default 127 */
	bool hide_unresolved;
};

/* Reusable storage for one thread's results. All zero is empty. */
struct stack {
	VEC(struct frame) frames;
};
void stack_deinit(struct stack *stack);

/* Fills `stack` for the sample. Without a call chain: one frame, the sample's ip. */
void stack_resolve(struct resolver *resolver, const struct machine *machine, const struct thread *thread, const struct event *event,
		   const struct sample *sample, uint64_t model_time, const struct stack_options *options, struct stack *stack);

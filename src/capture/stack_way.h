/* Which way complete stacks are had here (--call-graph auto, and -g, which stands for it):
 *
 *	1. a BPF program walks them in the kernel (stack_walker.h)
 *	2. the kernel copies stacks, the recorder unwinds them (stack_chains.h)
 *	3. frame pointers; only where auto wasn't asked for by its name (sampling.callgraph_implied) */
#pragma once

#include "base/error.h"
#include "capture/sampling.h"
#include "capture/stacks/stack_walker.h"
#include "kernel/counter.h"

/* To be called before sampling_configure(), whose `sampling` it settles. `obstacle` is an option that excludes 1 and 2, or NULL. With 1,
 * *ret is the walker, else NULL. With 3, *ret_why says why, else it is NULL. An error: auto was asked for by name, and cannot be had so. */
struct error *stack_way_choose(const struct event_list *events, struct sampling *sampling, const struct counter_target *target,
			       const char *obstacle, struct stack_walker **ret, struct error **ret_why);

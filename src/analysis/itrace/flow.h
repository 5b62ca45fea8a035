/* How a program went on at each branch of a trace, and how deep its calls are. Within analysis and for the text of samples.
 *
 *	call a ──► call b ──► return ──► interrupt …      a stack of return addresses for each thread: its height is the depth
 *	  1          2           1           2
 *
 * A return that fits nothing leaves the stack as it is: its call was before the trace began. One that fits a deeper entry ends all above
 * it, as longjmp() does. Where tracing began again the same is done with the address, and calls with which it had ended are forgotten. */
#pragma once

#include "base/hash.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "perfdata/layout.h"

#include <stdbool.h>
#include <stdint.h>

/* What a branch is (tools/perf/util/event.h, PERF_IP_FLAG_*). */
enum traced_flag {
	TRACED_BRANCH = 1 << 0,
	TRACED_CALL = 1 << 1,
	TRACED_RETURN = 1 << 2,
	TRACED_CONDITIONAL = 1 << 3,
	TRACED_SYSCALL = 1 << 4, /* or the return of one */
	TRACED_ASYNC = 1 << 5,
	TRACED_INTERRUPT = 1 << 6,
	TRACED_ABORT = 1 << 7, /* of a transaction */
	TRACED_BEGIN = 1 << 8, /* of tracing … */
	TRACED_END = 1 << 9,   /* … or its end */
	TRACED_TRANSACTION = 1 << 10,
	TRACED_VM_ENTRY = 1 << 11,
	TRACED_VM_EXIT = 1 << 12,
};

/* The last bytes of the raw data of samples whose event has `has_flow`. */
struct sample_flow {
	uint32_t flags; /* of enum traced_flag; 0 of what is no branch */
	uint32_t depth; /* of calls, after it */
};

/* Zeros where it isn't known. */
struct sample_flow sample_flow_of(const struct event *event, const struct sample *sample);
/* "call", "tr end  syscall": as the kernel's tool names them, without blanks behind. */
void flow_flags_text(uint32_t flags, struct strbuf *out);

/* The stacks of all threads. */
struct flow_stacks {
	struct map64 stacks; /* by key: struct flow_stack * */
};

void flow_stacks_deinit(struct flow_stacks *stacks);
/* `key`: who runs. */
uint32_t flow_depth(const struct flow_stacks *stacks, uint64_t key);
/* What comes is of the trace with this number: calls of another one, which doesn't go on in it, are forgotten. */
void flow_begin_trace(struct flow_stacks *stacks, uint64_t key, uint32_t trace);
/* `back`: where a call returns to. */
void flow_take_branch(struct flow_stacks *stacks, uint64_t key, uint32_t flags, uint64_t from, uint64_t to, uint64_t back);
struct flow_stack;
/* NULL where nothing is known of him. Valid until a branch is taken. */
const struct flow_stack *flow_stack_of(const struct flow_stacks *stacks, uint64_t key);
/* Where the call at `depth` returns to, 0 is the innermost one; false: there are not so many. `stack` may be NULL. */
bool flow_caller(const struct flow_stack *stack, uint32_t depth, uint64_t *ret);

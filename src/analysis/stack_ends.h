/* Why stacks end before the function that their thread started in: counted by reason and file, for a person. */
#pragma once

#include "analysis/fold.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "unwind/unwind.h"

/* Further than enum unwind_reason: of stacks by frame pointers; and UNWIND_SHORT where the event's other copies were larger (dwarf,auto). */
enum { STACK_END_FRAME_POINTER = UNWIND_REASONS, STACK_END_BEFORE_GROWTH, STACK_END_REASONS };

struct stack_end {
	const struct dso *dso; /* NULL = in nothing that is mapped */
	unsigned int reason;   /* enum unwind_reason, STACK_END_* */
	uint64_t count;	       /* stacks */
};

/* All zero is empty. */
struct stack_ends {
	uint64_t stacks; /* with a user part, complete ones too */
	uint64_t early;	 /* those that aren't */
	VEC(struct stack_end) list;
	struct map64 index; /* private */
};
void stack_ends_deinit(struct stack_ends *ends);

/* The end of a stack that was unwound from a sample's copy. */
void stack_ends_add_unwound(struct stack_ends *ends, const struct unwind_end *end, const struct event_attr *attr, const struct sample *sample);
void stack_ends_add(struct stack_ends *ends, unsigned int reason, const struct dso *dso, uint64_t count);
/* Adds all of `from`. */
void stack_ends_merge(struct stack_ends *ends, const struct stack_ends *from);
/* Adds the stacks of a fold that were recorded by frame pointers. Unwound ones are in fold->ends. */
void stack_ends_add_recorded(struct stack_ends *ends, const struct fold *fold, struct resolver *resolver, unsigned int max_stack);
/* The most frequent first. */
void stack_ends_sort(struct stack_ends *ends);

/* "the copied stack was too short". */
const char *stack_end_text(unsigned int reason);
/* Adds what helps, or nothing: "record with --call-graph dwarf,32768". */
void stack_end_remedy(struct resolver *resolver, const struct session *session, const struct stack_end *end, struct strbuf *out);

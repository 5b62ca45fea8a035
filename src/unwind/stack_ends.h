/* Why stacks end before the function that their thread started in: counted by reason and file, for a person. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "unwind/unwind.h"

/* Further than enum unwind_reason: of stacks by frame pointers; UNWIND_SHORT where the event's other copies were larger (dwarf,auto); of
 * stacks that were unwound while they were recorded, when their reasons were told; and of those, the copies that were not made. */
enum { STACK_END_FRAME_POINTER = UNWIND_REASONS, STACK_END_BEFORE_GROWTH, STACK_END_RECORDED, STACK_END_NOT_COPIED, STACK_END_REASONS };

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

/* `count` stacks that end for this reason; UNWIND_COMPLETE too. */
void stack_ends_add(struct stack_ends *ends, unsigned int reason, const struct dso *dso, uint64_t count);
/* Adds all of `from`. */
void stack_ends_merge(struct stack_ends *ends, const struct stack_ends *from);
/* The most frequent first. */
void stack_ends_sort(struct stack_ends *ends);

/* "the copied stack was too short". */
const char *stack_end_text(unsigned int reason);

/* Callers that call chains by frame pointers lack: where a function without a frame of its own was sampled, or called the kernel, the frame
 * pointer is still its caller's, and the chain goes on with the caller's caller. */
#pragma once

#include "analysis/report/fold.h"
#include "base/vec.h"

struct leaf_function {
	const struct dso *dso;
	const struct symbol *symbol; /* NULL = unnamed code of the file */
	uint64_t count;		     /* stacks whose innermost user function it is, and which lack its caller */
};

/* All zero is empty. */
struct leaf_callers {
	uint64_t stacks;		     /* recorded ones that have a user part */
	uint64_t lacking;		     /* those without the caller of their innermost user function */
	VEC(struct leaf_function) functions; /* the most frequent first */
};

void leaf_callers_deinit(struct leaf_callers *callers);
/* Looks at each distinct frame once. In a fold by address each is judged by its address; else a function is judged as a whole: it counts if
 * it has no frame anywhere. Stacks for which more than the chain was recorded (registers, branches) aren't looked at: they don't lack
 * it. */
void leaf_callers_find(const struct fold *fold, struct resolver *resolver, bool by_address, struct leaf_callers *ret);

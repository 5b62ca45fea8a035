/* Places in code, as pprof and OTLP have them: an address with a line for each function that is inlined there and the one around them. Of
 * the frames of a stack those that are inlined and the next one that isn't are one place. Within view. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "result/samples.h"

/* Stacks whose frames are the innermost and the outermost one of the place. */
struct location {
	uint32_t inner, outer;
};

/* All zero is empty. */
struct locations {
	struct map64 numbers; /* by the two frames */
	VEC(struct location) list;
};

/* The numbers of a stack's places, from 1 on, innermost first; `ret` is emptied before. */
void locations_of_stack(struct locations *locations, const struct samples *samples, uint32_t stack, samples_path *ret);
void locations_deinit(struct locations *locations);

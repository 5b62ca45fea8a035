/* How much of debug information may still be looked at, for all questions of a struct data_accesses together: entries of types, variables,
 * instructions that are followed. An honest program needs a small part of it; a hostile one nests and overlaps what it has, so that each
 * question is bounded and all of them aren't. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { EFFORT_MAX = 1 << 27 };

/* False, and nothing is left, when there was less than that. */
static inline bool effort_spend(size_t *effort, size_t much)
{
	bool enough = much <= *effort;
	*effort -= enough ? much : *effort;
	return enough;
}

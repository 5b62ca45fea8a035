/* How light nodes may be for a tree to have about so many: their weights are counted by the logarithm, eight steps for each power of
 * two. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CALLTREE_LIMIT_STEPS = 8, CALLTREE_LIMIT_BUCKETS = 64 * CALLTREE_LIMIT_STEPS };

/* All zero: no node yet. */
struct calltree_limit {
	size_t counts[CALLTREE_LIMIT_BUCKETS];
};

/* Which of the counts a weight is in. */
unsigned int calltree_limit_bucket(uint64_t weight);
/* `nodes`: so many of this weight. */
void calltree_limit_add(struct calltree_limit *limit, uint64_t weight, size_t nodes);
/* The least weight of the heaviest nodes that are at most `most`, or of the heaviest kind when these are more already. 0 = all of them. */
uint64_t calltree_limit_least(const struct calltree_limit *limit, size_t most);

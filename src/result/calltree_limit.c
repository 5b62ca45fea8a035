/* Buckets: 0 … 7, then eight for each power of two. */
#include "result/calltree_limit.h"

enum { STEPS = CALLTREE_LIMIT_STEPS };

unsigned int calltree_limit_bucket(uint64_t weight)
{
	if (weight < STEPS)
		return (unsigned int)weight;
	unsigned int power = 63 - (unsigned int)__builtin_clzll(weight);
	return (power - 2) * STEPS + (unsigned int)(weight >> (power - 3) & (STEPS - 1));
}

static uint64_t bucket_begin(unsigned int bucket)
{
	return bucket < STEPS ? bucket : (uint64_t)(STEPS + bucket % STEPS) << (bucket / STEPS - 1);
}

void calltree_limit_add(struct calltree_limit *limit, uint64_t weight, size_t nodes)
{
	limit->counts[calltree_limit_bucket(weight)] += nodes;
}

uint64_t calltree_limit_least(const struct calltree_limit *limit, size_t most)
{
	unsigned int bucket = CALLTREE_LIMIT_BUCKETS;
	size_t kept = 0;
	while (bucket && (kept + limit->counts[bucket - 1] <= most || !kept))
		kept += limit->counts[--bucket];
	return bucket ? bucket_begin(bucket) : 0;
}

/* Durations by powers of two (distribution.h). */
#include "result/distribution.h"

void distribution_add(struct distribution *distribution, uint64_t ns)
{
	uint64_t units = ns / distribution->unit_ns;
	unsigned int bucket = units ? 64 - (unsigned int)__builtin_clzll(units) : 0;

	distribution->counts[bucket < DISTRIBUTION_BUCKETS ? bucket : DISTRIBUTION_BUCKETS - 1]++;
	distribution->shortest_ns = !distribution->count || ns < distribution->shortest_ns ? ns : distribution->shortest_ns;
	distribution->longest_ns = ns > distribution->longest_ns ? ns : distribution->longest_ns;
	distribution->total_ns += ns;
	distribution->count++;
}

uint64_t distribution_bucket_begin(unsigned int bucket)
{
	return bucket ? UINT64_C(1) << (bucket - 1) : 0;
}

uint64_t distribution_percentile(const struct distribution *distribution, double percent)
{
	uint64_t seen = 0;

	for (unsigned int i = 0; i + 1 < DISTRIBUTION_BUCKETS; i++) {
		uint64_t most_ns = distribution_bucket_begin(i + 1) * distribution->unit_ns - 1;
		seen += distribution->counts[i];
		if (seen && (double)seen >= (double)distribution->count * percent / 100)
			return most_ns < distribution->longest_ns ? most_ns : distribution->longest_ns;
	}
	return distribution->longest_ns;
}

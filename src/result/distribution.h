/* A result: how long things took. Durations are counted by powers of two of a unit:
 *
 *	bucket      0         1     2     3        …   21
 *	units       below 1   1     2–3   4–7          2^20 and more
 */
#pragma once

#include <stdint.h>

enum { DISTRIBUTION_BUCKETS = 22 };

struct distribution {
	uint64_t unit_ns; /* not 0 */
	uint64_t counts[DISTRIBUTION_BUCKETS];
	uint64_t count, total_ns, longest_ns, shortest_ns; /* of all; 0 when there are none */
};

void distribution_add(struct distribution *distribution, uint64_t ns);
/* The shortest duration of a bucket, in units. */
uint64_t distribution_bucket_begin(unsigned int bucket);
/* At least `percent` (0 to 100) of the durations are at most as long as this, in nanoseconds: the longest that their bucket can hold, or
 * the longest there was. 0 when there are none. */
uint64_t distribution_percentile(const struct distribution *distribution, double percent);

/* When the recorder marks the end of a round (the contract is in order.h).
 *
 * A record gets its time before it is in its ring, where it can be read. Usually that takes less than a microsecond; a virtual CPU that its
 * host stops in between, or an interrupt in which all waits, makes milliseconds of it. So a pass over the rings ends a round only when the
 * mark before it is as old as a record may be late: what is drained after mark N is then newer than mark N - 1. Rounds are as short as the
 * rings are small otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How late a record may be, in nanoseconds. */
enum { ROUND_LATENESS_NS = 90000000 };

/* All zero before the first mark. */
struct rounds {
	uint64_t marked_ns; /* when the pass before the last mark had ended, CLOCK_MONOTONIC; 0 = nothing is marked yet */
};

/* Whether a pass over all rings that began and ended then ends a round; if so its mark must be written. */
static inline bool rounds_end(struct rounds *rounds, uint64_t begun_ns, uint64_t ended_ns)
{
	if (rounds->marked_ns && begun_ns < rounds->marked_ns + ROUND_LATENESS_NS)
		return false;
	rounds->marked_ns = ended_ns;
	return true;
}

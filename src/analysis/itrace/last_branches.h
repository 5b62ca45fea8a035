/* The branches that came last, as a processor's own record of them (LBR) would have them: --itrace=l puts them into samples of
 * instructions. Within analysis. */
#pragma once

#include "base/hash.h"
#include "base/strbuf.h"
#include "perfdata/layout.h"

#include <stdint.h>

enum { LAST_BRANCHES_DEFAULT = 64, LAST_BRANCHES_MAX = 1024 };

/* A ring for each thread. */
struct last_branches {
	struct map64 rings; /* by key: struct branch_ring * */
};

struct branch_ring;

void last_branches_deinit(struct last_branches *last);
/* What comes is of the trace with this number: branches of another one, which doesn't go on in it, are forgotten. */
void last_branches_begin_trace(struct last_branches *last, uint64_t key, uint32_t trace);
/* `key`: who runs; `room`: of his ring, always the same; `trace`: as above. */
void last_branches_take(struct last_branches *last, uint64_t key, uint32_t room, uint32_t trace, const struct branch_entry *branch);
/* NULL where nothing is known of him. */
const struct branch_ring *last_branches_of(const struct last_branches *last, uint64_t key);
/* The one at `place`, 0 is the newest; NULL = there are not so many. `ring` may be NULL, as below. */
const struct branch_entry *last_branches_at(const struct branch_ring *ring, uint32_t place);
/* The words of a sample (PERF_SAMPLE_BRANCH_STACK): how many, at most `most`, and the newest one first, from `place` on. */
void last_branches_add(const struct branch_ring *ring, uint32_t place, uint32_t most, struct strbuf *out);

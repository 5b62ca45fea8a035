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
/* `key`: who runs; `room`: of his ring, always the same. */
/* `flags`: as in struct branch_entry. */
void last_branches_take(struct last_branches *last, uint64_t key, uint32_t room, const struct branch_entry *branch);
/* NULL where nothing is known of him. */
const struct branch_ring *last_branches_of(const struct last_branches *last, uint64_t key);
/* The one at `place`, 0 is the newest; NULL = there are not so many. `ring` may be NULL, as below. */
const struct branch_entry *last_branches_at(const struct branch_ring *ring, uint32_t place);
/* The words of a sample (PERF_SAMPLE_BRANCH_STACK): how many, at most `most`, and the newest one first, from `place` on. */
void last_branches_add(const struct branch_ring *ring, uint32_t place, uint32_t most, struct strbuf *out);

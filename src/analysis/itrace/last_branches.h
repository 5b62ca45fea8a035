/* The branches that came last, as a processor's own record of them (LBR) would have them: --itrace=l puts them into samples of
 * instructions. Within analysis. */
#pragma once

#include "base/hash.h"
#include "base/strbuf.h"

#include <stdint.h>

enum { LAST_BRANCHES_DEFAULT = 64, LAST_BRANCHES_MAX = 1024 };

/* A ring for each thread. */
struct last_branches {
	struct map64 rings; /* by key: struct branch_ring * */
};

struct branch_ring;

void last_branches_deinit(struct last_branches *last);
/* `key`: who runs; `room`: of his ring, always the same. */
void last_branches_take(struct last_branches *last, uint64_t key, uint32_t room, uint64_t from, uint64_t to);
/* NULL where nothing is known of him. */
const struct branch_ring *last_branches_of(const struct last_branches *last, uint64_t key);
/* The words of a sample (PERF_SAMPLE_BRANCH_STACK): how many, and the newest one first; of NULL none. */
void last_branches_add(const struct branch_ring *ring, struct strbuf *out);

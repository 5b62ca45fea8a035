/* Memory accesses by where the data came from: what a sample's data source (union perf_mem_data_src of linux/perf_event.h) says, as numbers
 * that add up. HITM: another core had the line modified, which is what sharing a cache line costs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum access_count {
#define COUNT(name, id, text) ACCESS_##name,
#include "analysis/memory/access_counts.def"
#undef COUNT
	ACCESS_COUNTS
};

struct access_counts {
	uint32_t of[ACCESS_COUNTS];
};

/* The counts of one sample. `has_address`, `mapped`: of data, and of data and code. Also those that say nothing are counted (RECORDS). */
void access_counts_of(uint64_t data_source, bool has_address, bool mapped, struct access_counts *ret);
void access_counts_add(struct access_counts *into, const struct access_counts *counts);

/* Sums that several tables show. */
static inline uint32_t access_hitms(const struct access_counts *counts)
{
	return counts->of[ACCESS_LOCAL_HITM] + counts->of[ACCESS_REMOTE_HITM];
}
static inline uint32_t access_peers(const struct access_counts *counts)
{
	return counts->of[ACCESS_LOCAL_PEER] + counts->of[ACCESS_REMOTE_PEER];
}
/* Loads that no cache of this node answered. */
uint32_t access_llc_misses(const struct access_counts *counts);
/* Loads, and accesses, whose source is known. */
uint32_t access_placed_loads(const struct access_counts *counts);
uint32_t access_placed(const struct access_counts *counts);

/* One access is counted under each level that its data source names: processors set several bits at a time. */
#include "analysis/memory/access_counts.h"

#include <linux/perf_event.h>

#define HAS(part, value) (source.mem_##part & PERF_MEM_##value)

static void count(struct access_counts *counts, enum access_count which)
{
	counts->of[which]++;
}

static void count_memory(union perf_mem_data_src source, enum access_count where, struct access_counts *counts)
{
	count(counts, where);
	count(counts, HAS(snoop, SNOOP_HIT) ? ACCESS_LOAD_SHARED : ACCESS_LOAD_EXCLUSIVE);
}

/* A load that something answered. `other_node`: only that it came from another node is known. */
static void count_hit(union perf_mem_data_src source, bool other_node, struct access_counts *counts)
{
	bool peer = HAS(snoopx, SNOOPX_PEER);
	if (HAS(lvl, LVL_UNC))
		count(counts, ACCESS_LOAD_UNCACHED);
	if (HAS(lvl, LVL_IO))
		count(counts, ACCESS_LOAD_IO);
	if (HAS(lvl, LVL_LFB))
		count(counts, ACCESS_LOAD_FILL_BUFFER);
	if (HAS(lvl, LVL_L1))
		count(counts, ACCESS_LOAD_L1);
	if (HAS(lvl, LVL_L2))
		count(counts, ACCESS_LOAD_L2);
	if (HAS(lvl, LVL_L2) && peer)
		count(counts, ACCESS_LOCAL_PEER);
	if (HAS(lvl, LVL_L3))
		count(counts, HAS(snoop, SNOOP_HITM) ? ACCESS_LOCAL_HITM : ACCESS_LOAD_LLC);
	if (HAS(lvl, LVL_L3) && peer)
		count(counts, ACCESS_LOCAL_PEER);
	if (HAS(lvl, LVL_LOC_RAM))
		count_memory(source, ACCESS_LOCAL_RAM, counts);
	if (HAS(lvl, LVL_REM_RAM1) || HAS(lvl, LVL_REM_RAM2) || other_node)
		count_memory(source, ACCESS_REMOTE_RAM, counts);
}

static void count_load(union perf_mem_data_src source, struct access_counts *counts)
{
	/* With hops the flag may mean another core of the same node. */
	bool other_node = source.mem_remote && !source.mem_hops;
	if (HAS(lvl, LVL_HIT))
		count_hit(source, other_node, counts);
	if (HAS(lvl, LVL_REM_CCE1) || HAS(lvl, LVL_REM_CCE2) || other_node) {
		bool hit = HAS(snoop, SNOOP_HIT), modified = HAS(snoop, SNOOP_HITM), peer = HAS(snoopx, SNOOPX_PEER);
		if (hit || (!modified && peer))
			count(counts, ACCESS_REMOTE_HIT);
		else if (modified)
			count(counts, ACCESS_REMOTE_HITM);
		if (!hit && !modified && peer)
			count(counts, ACCESS_REMOTE_PEER);
	}
	if (HAS(lvl, LVL_MISS))
		count(counts, ACCESS_LOAD_MISS);
}

static void count_store(union perf_mem_data_src source, struct access_counts *counts)
{
	bool hit = HAS(lvl, LVL_HIT);
	if (hit && HAS(lvl, LVL_UNC))
		count(counts, ACCESS_STORE_UNCACHED);
	if (hit && HAS(lvl, LVL_L1))
		count(counts, ACCESS_STORE_L1_HIT);
	if (HAS(lvl, LVL_MISS) && HAS(lvl, LVL_L1))
		count(counts, ACCESS_STORE_L1_MISS);
	if (HAS(lvl, LVL_NA))
		count(counts, ACCESS_STORE_NO_LEVEL);
}

void access_counts_of(uint64_t data_source, bool has_address, bool mapped, struct access_counts *ret)
{
	const union perf_mem_data_src source = {.val = data_source};
	bool load = HAS(op, OP_LOAD), store = !load && HAS(op, OP_STORE);
	*ret = (struct access_counts){0};
	count(ret, ACCESS_RECORDS);
	if (HAS(lock, LOCK_LOCKED))
		count(ret, ACCESS_LOCKED);
	if (HAS(blk, BLK_DATA))
		count(ret, ACCESS_BLOCKED_DATA);
	if (HAS(blk, BLK_ADDR))
		count(ret, ACCESS_BLOCKED_ADDRESS);
	if (!load && !store) {
		count(ret, ACCESS_UNKNOWN);
		return;
	}
	count(ret, load ? ACCESS_LOADS : ACCESS_STORES);
	if (!has_address) {
		count(ret, load ? ACCESS_LOAD_NO_ADDRESS : ACCESS_STORE_NO_ADDRESS);
		return;
	}
	(load ? count_load : count_store)(source, ret);
	if (!mapped)
		count(ret, ACCESS_UNMAPPED);
}

void access_counts_add(struct access_counts *into, const struct access_counts *counts)
{
	for (unsigned int i = 0; i < ACCESS_COUNTS; i++)
		into->of[i] += counts->of[i];
}

uint32_t access_llc_misses(const struct access_counts *counts)
{
	return counts->of[ACCESS_LOCAL_RAM] + counts->of[ACCESS_REMOTE_RAM] + counts->of[ACCESS_REMOTE_HIT] +
	       counts->of[ACCESS_REMOTE_HITM];
}

uint32_t access_placed_loads(const struct access_counts *counts)
{
	return access_llc_misses(counts) + counts->of[ACCESS_LOAD_FILL_BUFFER] + counts->of[ACCESS_LOAD_L1] + counts->of[ACCESS_LOAD_L2] +
	       counts->of[ACCESS_LOAD_LLC] + counts->of[ACCESS_LOCAL_HITM];
}

uint32_t access_placed(const struct access_counts *counts)
{
	return access_placed_loads(counts) + counts->of[ACCESS_STORE_L1_HIT] + counts->of[ACCESS_STORE_L1_MISS] +
	       counts->of[ACCESS_STORE_NO_LEVEL];
}

/* Which map covers an address, for callers that ask very often: a small direct-mapped table from (state of an address space, address / 64
 * K) to what is mapped there. Each thread has its own. Says the same as maps_state_find(). */
#pragma once

#include "base/hash.h"
#include "model/machine.h"

enum { MAPS_CACHE_SLOTS = 1 << 12, MAPS_CACHE_PAGE_SHIFT = 16 };

/* The visible part of a map, or a gap. */
struct maps_piece {
	uint64_t epoch;		/* of the state, + 1; 0 = empty slot */
	uint64_t start, end;	/* addresses in memory for which it holds, end exclusive */
	uint64_t offset;	/* from an address in memory to the dso address: map_to_dso(map, addr) = addr + offset; of a gap 0 */
	const struct map *map;	/* NULL = a gap */
	uint32_t file;		/* map->dso->index + 1; of a gap 0 */
} __attribute__((aligned(64))); /* one cache line */

struct maps_cache {
	struct maps_piece *slots;
};

void maps_cache_init(struct maps_cache *cache);
void maps_cache_deinit(struct maps_cache *cache);
/* Private: looks into the state itself. */
const struct maps_piece *maps_cache_fill(struct maps_piece *slot, const struct maps_state *state, uint64_t addr);

/* Valid until the next call. */
static inline const struct maps_piece *maps_cache_find(struct maps_cache *cache, const struct maps_state *state, uint64_t addr)
{
	struct maps_piece *slot = &cache->slots[hash_combine(addr >> MAPS_CACHE_PAGE_SHIFT, state->epoch) % MAPS_CACHE_SLOTS];
	if (slot->epoch == state->epoch + 1 && addr >= slot->start && addr < slot->end)
		return slot;
	return maps_cache_fill(slot, state, addr);
}

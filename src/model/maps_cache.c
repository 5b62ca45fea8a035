/* The rare part of maps_cache.h. */
#include "model/maps_cache.h"

#include "base/mem.h"

#include <stdlib.h>

void maps_cache_init(struct maps_cache *cache)
{
	cache->slots = mem_zalloc_table(MAPS_CACHE_SLOTS, sizeof(*cache->slots));
}

void maps_cache_deinit(struct maps_cache *cache)
{
	free(cache->slots);
}

const struct maps_piece *maps_cache_fill(struct maps_piece *slot, const struct maps_state *state, uint64_t addr)
{
	slot->map = maps_state_find(state, addr, &slot->start, &slot->end);
	slot->epoch = state->epoch + 1;
	slot->file = slot->map ? slot->map->dso->index + 1 : 0;
	slot->offset = slot->map ? map_to_dso(slot->map, 0) : 0;
	return slot;
}

/* Fold: addresses to frames.
 *
 * Most addresses repeat, but each process has its files elsewhere. So there are two steps, with a small direct-mapped table for each:
 *
 *	(state of the address space, address / 64 K) ──► piece of a map ──► file, address in it ──► frame
 *
 * What isn't in the second one goes to the resolver and then to the table of frames that all workers share.
 */
#include "analysis/fold_internal.h"

#include <stdlib.h>

enum { MAP_SLOTS = 1 << 12, FRAME_SLOTS = 1 << 17, PAGE_SHIFT = 16 };

struct place_map {
	uint64_t epoch; /* + 1; 0 = empty */
	uint64_t start, end;
	const struct map *map;
};

struct place_frame {
	uint64_t address; /* in the file; of what isn't mapped, or must be known by its address in memory, that */
	uint32_t key;	  /* file, cpumode and which of the two addresses; 0 = empty */
	uint32_t frame;
};

/* Where a place's functions are in `expanded`. */
struct place_expansion {
	const struct dso *dso;
	uint64_t address;
	uint32_t first, count;
};

void fold_places_init(struct fold_places *places, struct fold_tables *tables, struct resolver *resolver, const struct machine *machine)
{
	*places = (struct fold_places){.tables = tables, .resolver = resolver, .options = tables->options, .machine = machine};
	places->maps = mem_zalloc_array(MAP_SLOTS, sizeof(*places->maps));
	places->frames = mem_zalloc_array(FRAME_SLOTS, sizeof(*places->frames));
}

void fold_places_deinit(struct fold_places *places)
{
	free(places->maps);
	free(places->frames);
	id_table_deinit(&places->expansion_ids);
	vec_deinit(&places->expansions);
	vec_deinit(&places->expanded);
}

static const struct map *find_map(struct fold_places *places, const struct maps_state *state, uint64_t ip)
{
	uint64_t epoch = state->epoch + 1;
	struct place_map *slot = &places->maps[hash_combine(ip >> PAGE_SHIFT, epoch) % MAP_SLOTS];
	if (slot->epoch != epoch || ip < slot->start || ip >= slot->end) {
		slot->map = maps_state_find(state, ip, &slot->start, &slot->end);
		slot->epoch = epoch;
	}
	return slot->map;
}

static struct place_frame *frame_slot(struct fold_places *places, uint32_t key, uint64_t address)
{
	return &places->frames[hash_combine(address, key) % FRAME_SLOTS];
}

/* Whether what is at an address is told apart by where it is in memory: callers without a symbol are shown with that. */
static bool by_memory(const struct fold_places *places, const struct map *map, uint64_t address)
{
	const struct fold_options *options = places->options;
	if (!map || map->identity)
		return false;
	return options->by_line || (options->chains && !options->by_file && !resolver_symbol(places->resolver, map->dso, address));
}

/* Not in the tables: the whole way. */
static uint32_t resolve(struct fold_places *places, const struct map *map, uint8_t cpumode, uint64_t ip)
{
	struct fold_frame frame = {.ip = ip, .map = map, .cpumode = cpumode};
	if (map) {
		frame.symbol = resolver_symbol(places->resolver, map->dso, map_to_dso(map, ip));
	} else if (cpumode == CPUMODE_KERNEL) {
		struct frame found;
		resolver_frame(places->resolver, places->machine->kernel_maps, cpumode, ip, UINT64_MAX, &found);
		frame.map = found.map;
		frame.symbol = found.symbol;
	}
	return places->options->hide_unresolved && !frame.symbol ? FOLD_NONE : fold_tables_frame(places->tables, &frame);
}

uint32_t fold_places_frame(struct fold_places *places, const struct maps_state *state, uint8_t cpumode, uint64_t ip)
{
	const struct map *map = state ? find_map(places, state, ip) : NULL;
	uint32_t key = ((map ? map->dso->index + 1 : 0) << 4 | cpumode << 1) + 1;
	uint64_t address = map ? map_to_dso(map, ip) : ip;
	struct place_frame *slot = frame_slot(places, key, address);
	if (slot->key == key && slot->address == address)
		return slot->frame;
	if (by_memory(places, map, address)) {
		key++;
		address = ip;
		slot = frame_slot(places, key, address);
		if (slot->key == key && slot->address == address)
			return slot->frame;
	}
	uint32_t frame = resolve(places, map, cpumode, ip);
	*slot = (struct place_frame){.address = address, .key = key, .frame = frame};
	return frame;
}

static const struct place_expansion *find_expansion(struct fold_places *places, const struct map *map, uint64_t address, uint32_t hash)
{
	struct id_probe probe;
	for (uint32_t id = id_table_first(&places->expansion_ids, hash, &probe); id != ID_NONE; id = id_table_next(&places->expansion_ids, &probe)) {
		const struct place_expansion *known = &places->expansions.data[id];
		if (known->dso == map->dso && known->address == address)
			return known;
	}
	return NULL;
}

/* Asks debug information. */
static const struct place_expansion *expand(struct fold_places *places, const struct map *map, uint64_t ip, uint32_t hash)
{
	struct frame found = {.ip = ip, .dso_addr = map_to_dso(map, ip), .map = map, .cpumode = CPUMODE_USER};
	found.symbol = resolver_symbol(places->resolver, map->dso, found.dso_addr);
	const struct code_function *functions;
	size_t count = resolver_functions(places->resolver, &found, &functions);
	struct place_expansion expansion = {
		.dso = map->dso, .address = found.dso_addr, .first = (uint32_t)places->expanded.len, .count = (uint32_t)count};
	for (size_t i = 0; i < count; i++) {
		struct fold_frame frame = {.ip = ip, .map = map, .symbol = functions[i].symbol, .cpumode = CPUMODE_USER};
		vec_push(&places->expanded, fold_tables_frame(places->tables, &frame));
	}
	id_table_insert(&places->expansion_ids, hash, (uint32_t)places->expansions.len);
	vec_push(&places->expansions, expansion);
	return vec_last(&places->expansions);
}

size_t fold_places_functions(struct fold_places *places, const struct maps_state *state, uint64_t ip, const uint32_t **ret)
{
	const struct map *map = state ? find_map(places, state, ip) : NULL;
	if (map) {
		uint64_t address = map_to_dso(map, ip);
		uint32_t hash = (uint32_t)hash_combine((uintptr_t)map->dso, address);
		const struct place_expansion *expansion = find_expansion(places, map, address, hash);
		if (!expansion)
			expansion = expand(places, map, ip, hash);
		*ret = places->expanded.data + expansion->first;
		if (expansion->count)
			return expansion->count;
	}
	uint32_t frame = fold_places_frame(places, state, CPUMODE_USER, ip);
	places->single = frame;
	*ret = &places->single;
	return frame != FOLD_NONE;
}

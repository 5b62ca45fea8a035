/* Fold: addresses to frames.
 *
 * Most addresses repeat, but each process has its files elsewhere. So there are two steps, with a small direct-mapped table for each:
 *
 *	(state of the address space, address) ──► map (maps_cache.h) ──► file, address in it ──► frame
 *
 * What isn't in the second one goes to the resolver, and from its symbol to the frame. Only new symbols go to the table that all workers share.
 */
#include "analysis/fold_internal.h"

#include <stdlib.h>

enum { FRAME_SLOTS_LEAST = 1 << 12, FRAME_SLOTS_MOST = 1 << 19, SYMBOL_SLOTS = 1 << 14 };

/* In place of a frame: there is no symbol, and what is there is known by its address in memory. */
#define BY_MEMORY (FOLD_NONE - 1)

struct place_frame {
	uint64_t address; /* in the file, or in memory */
	uint32_t key;	  /* file, cpumode and which of the two addresses; 0 = empty */
	uint32_t frame;
};

struct place_symbol {
	const struct symbol *symbol;
	uint32_t frame;
};

/* Where a place's functions are in `expanded`. */
struct place_expansion {
	const struct dso *dso;
	uint64_t address;
	uint32_t first, count;
	bool returns_here;
};

void fold_places_init(struct fold_places *places, struct fold_tables *tables, struct resolver *resolver, const struct machine *machine, uint64_t samples)
{
	uint64_t slots = FRAME_SLOTS_LEAST;
	while (slots < FRAME_SLOTS_MOST && slots * 4 < samples)
		slots *= 2;
	*places = (struct fold_places){.tables = tables, .resolver = resolver, .options = tables->options, .machine = machine, .frame_mask = slots - 1};
	maps_cache_init(&places->maps);
	places->frames = mem_zalloc_table(slots, sizeof(*places->frames));
	places->symbols = mem_zalloc_table(SYMBOL_SLOTS, sizeof(*places->symbols));
}

void fold_places_deinit(struct fold_places *places)
{
	maps_cache_deinit(&places->maps);
	free(places->frames);
	free(places->symbols);
	vec_deinit(&places->with_functions);
	id_table_deinit(&places->expansion_ids);
	vec_deinit(&places->expansions);
	vec_deinit(&places->expanded);
}

static struct place_frame *frame_slot(struct fold_places *places, uint32_t key, uint64_t address)
{
	return &places->frames[hash_combine(address, key) & places->frame_mask];
}

struct fold_lookup fold_places_begin(struct fold_places *places, const struct maps_state *state, uint8_t cpumode, uint64_t ip)
{
	static const struct maps_piece nothing;
	const struct maps_piece *found = state ? maps_cache_find(&places->maps, state, ip) : &nothing;
	struct fold_lookup lookup = {.map = found->map, .ip = ip, .address = ip + found->offset, .cpumode = cpumode};
	lookup.key = (found->file << 4 | (uint32_t)cpumode << 1) + 1;
	__builtin_prefetch(frame_slot(places, lookup.key, lookup.address));
	return lookup;
}

/* A frame with a symbol. */
static uint32_t symbol_frame(struct fold_places *places, const struct fold_frame *frame)
{
	if (places->options->by_address || places->options->by_line)
		return fold_tables_frame(places->tables, frame);
	struct place_symbol *slot = &places->symbols[hash_u64((uintptr_t)frame->symbol) % SYMBOL_SLOTS];
	if (slot->symbol != frame->symbol)
		*slot = (struct place_symbol){.symbol = frame->symbol, .frame = fold_tables_frame(places->tables, frame)};
	return slot->frame;
}

/* Not in the table: the whole way. May be BY_MEMORY. */
static uint32_t resolve(struct fold_places *places, const struct fold_lookup *lookup)
{
	const struct fold_options *options = places->options;
	struct fold_frame frame = {.ip = lookup->ip, .map = lookup->map, .cpumode = lookup->cpumode};
	if (lookup->map) {
		frame.symbol = resolver_symbol(places->resolver, lookup->map->dso, lookup->address);
	} else if (lookup->cpumode == CPUMODE_KERNEL) {
		struct frame found;
		resolver_frame(places->resolver, places->machine->kernel_maps, lookup->cpumode, lookup->ip, UINT64_MAX, &found);
		frame.map = found.map;
		frame.symbol = found.symbol;
	}
	bool elsewhere = lookup->map && lookup->address != lookup->ip;
	if (frame.symbol)
		return elsewhere && options->by_line ? BY_MEMORY : symbol_frame(places, &frame);
	if (options->hide_unresolved)
		return FOLD_NONE;
	return elsewhere && options->chains && !options->by_file ? BY_MEMORY : fold_tables_frame(places->tables, &frame);
}

/* By the address in memory: callers without a symbol are shown with that. */
static uint32_t resolve_by_memory(struct fold_places *places, const struct fold_lookup *lookup)
{
	uint32_t key = lookup->key + 1;
	struct place_frame *slot = frame_slot(places, key, lookup->ip);
	if (slot->key == key && slot->address == lookup->ip)
		return slot->frame;
	struct fold_frame frame = {.ip = lookup->ip, .map = lookup->map, .cpumode = lookup->cpumode};
	if (places->options->by_line)
		frame.symbol = resolver_symbol(places->resolver, lookup->map->dso, lookup->address);
	*slot = (struct place_frame){.address = lookup->ip, .key = key, .frame = fold_tables_frame(places->tables, &frame)};
	return slot->frame;
}

void fold_places_finish(struct fold_places *places, struct fold_lookup *lookup)
{
	if (!lookup->key)
		return;
	struct place_frame *slot = frame_slot(places, lookup->key, lookup->address);
	if (slot->key != lookup->key || slot->address != lookup->address)
		*slot = (struct place_frame){.address = lookup->address, .key = lookup->key, .frame = resolve(places, lookup)};
	lookup->frame = slot->frame == BY_MEMORY ? resolve_by_memory(places, lookup) : slot->frame;
}

static const struct place_expansion *find_expansion(struct fold_places *places, const struct fold_lookup *lookup, bool returns_here, uint32_t hash)
{
	struct id_probe probe;
	for (uint32_t id = id_table_first(&places->expansion_ids, hash, &probe); id != ID_NONE; id = id_table_next(&places->expansion_ids, &probe)) {
		const struct place_expansion *known = &places->expansions.data[id];
		if (known->dso == lookup->map->dso && known->address == lookup->address && known->returns_here == returns_here)
			return known;
	}
	return NULL;
}

/* Asks debug information. */
static const struct place_expansion *expand(struct fold_places *places, const struct fold_lookup *lookup, bool returns_here, uint32_t hash)
{
	struct frame found = {
		.ip = lookup->ip, .dso_addr = lookup->address, .map = lookup->map, .cpumode = CPUMODE_USER, .returns_here = returns_here};
	found.symbol = resolver_symbol(places->resolver, lookup->map->dso, lookup->address);
	const struct code_function *functions;
	size_t count = resolver_functions(places->resolver, &found, &functions);
	struct place_expansion expansion = {
		.dso = lookup->map->dso,
		.address = lookup->address,
		.first = (uint32_t)places->expanded.len,
		.count = (uint32_t)count,
		.returns_here = returns_here,
	};
	for (size_t i = 0; i < count; i++) {
		struct fold_frame frame = {.ip = lookup->ip - returns_here, .map = lookup->map, .symbol = functions[i].symbol, .cpumode = CPUMODE_USER};
		vec_push(&places->expanded, fold_tables_frame(places->tables, &frame));
	}
	id_table_insert(&places->expansion_ids, hash, (uint32_t)places->expansions.len);
	vec_push(&places->expansions, expansion);
	return vec_last(&places->expansions);
}

/* Asked for each address of a user's chain: the answer is kept by the file's number, which the look-up has at hand. */
static bool has_functions(struct fold_places *places, const struct fold_lookup *lookup)
{
	enum { NOT_ASKED, NO, YES };
	uint32_t file = lookup->key >> 4;
	while (places->with_functions.len <= file)
		vec_push(&places->with_functions, NOT_ASKED);
	uint8_t *answer = &places->with_functions.data[file];
	if (*answer == NOT_ASKED)
		*answer = lookup->map && resolver_has_functions(places->resolver, lookup->map->dso) ? YES : NO;
	return *answer == YES;
}

size_t fold_places_functions(struct fold_places *places, const struct fold_lookup *lookup, bool returns_here, const uint32_t **ret)
{
	if (!has_functions(places, lookup))
		return 0;
	uint32_t hash = (uint32_t)hash_combine((uintptr_t)lookup->map->dso + returns_here, lookup->address);
	const struct place_expansion *expansion = find_expansion(places, lookup, returns_here, hash);
	if (!expansion)
		expansion = expand(places, lookup, returns_here, hash);
	*ret = places->expanded.data + expansion->first;
	return expansion->count;
}

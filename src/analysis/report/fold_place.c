/* Fold: addresses to frames.
 *
 * Most addresses repeat, but each process has its files elsewhere. So there are two steps, with a small table for each:
 *
 *	(state of the address space, address) ──► map (maps_cache.h) ──► file, address in it ──► frame
 *
 * The second one has FRAME_WAYS places for each hash, which share a cache line: where one address pushed out the other, two that come in
 * turn would be resolved again and again. What isn't in it goes to the resolver, and from its symbol to the frame. Only new symbols go to
 * the table that all workers share. In pictures and live views its places are ranges of addresses, and in pictures what isn't mapped is one
 * frame without a place.
 */
#include "analysis/report/fold_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
	FRAME_WAYS = 4,
	FRAME_SLOTS_LEAST = 1 << 12,
	FRAME_SLOTS_LIVE = 1 << 14, /* of a few seconds after the other */
	FRAME_SLOTS_MOST = 1 << 18,
	RANGE_SLOTS_MOST = 1 << 17,
	SYMBOL_SLOTS = 1 << 14,
	SYMBOL_SLOTS_LIVE = 1 << 12,
	NEAR_BITS = 12,
	NEAR_SLOTS = 1 << NEAR_BITS
};

/* In place of a frame: there is no symbol, and what is there is known by its address in memory. */
#define BY_MEMORY (FOLD_NONE - 1)
#define NOT_KNOWN (FOLD_NONE - 2)

struct place_frame {
	uint64_t address; /* in the file, or in memory */
	uint32_t key;	  /* file, cpumode and which of the two addresses; 0 = empty */
	uint32_t frame;
};

/* For pictures and live views, where all of a symbol is one frame (in pictures also all of a file without symbols), a place may be all
 * addresses of some granules of a block, the first one and the last one of which are the lowest bits of its address. Its key has RANGE,
 * too.
 *
 *	block of 256 bytes  |g g g g|g g g g|g g g g|g g g g|     granules of 16
 *	symbols             |one    |two                 |        a range each; the granule in which `two` ends has none
 */
enum { BLOCK_SHIFT = 8, GRANULE_SHIFT = 4, GRANULES = 1 << (BLOCK_SHIFT - GRANULE_SHIFT) };

#define RANGE ((uint32_t)1 << 31)

struct place_symbol {
	const struct symbol *symbol;
	uint64_t address; /* in the file: lower ones the tables haven't been told of */
	uint32_t frame;
};

struct near_place {
	uint64_t ip;
	uint64_t epoch; /* of the address space, + 1; 0 = empty */
	uint32_t frame;
};

/* Where a place's functions are in `expanded`. */
struct place_expansion {
	const struct dso *dso;
	uint64_t address;
	uint64_t ip; /* by_line: frames are told apart by it; else 0 */
	uint32_t first, count;
	bool returns_here;
};

void fold_places_init(struct fold_places *places, struct fold_tables *tables, struct resolver *resolver, const struct machine *machine,
		      uint64_t samples)
{
	const struct fold_options *options = tables->options;
	bool picture = options->loose && options->by_file;
	bool ranges = (picture || options->any_address) && !options->by_address && !options->by_line;
	uint64_t slots = options->any_address ? FRAME_SLOTS_LIVE : FRAME_SLOTS_LEAST, most = ranges ? RANGE_SLOTS_MOST : FRAME_SLOTS_MOST;
	while (slots < most && slots * 4 < samples)
		slots *= 2;
	bool few_symbols = options->any_address || samples < SYMBOL_SLOTS;
	*places = (struct fold_places){.tables = tables,
				       .resolver = resolver,
				       .options = options,
				       .machine = machine,
				       .frame_mask = slots - FRAME_WAYS,
				       .symbol_mask = (few_symbols ? SYMBOL_SLOTS_LIVE : SYMBOL_SLOTS) - 1,
				       .ranges = ranges,
				       .one_nowhere = ranges && picture};
	for (unsigned int i = 0; i < FOLD_CPUMODES; i++)
		places->nowhere[i] = NOT_KNOWN;
	maps_cache_init(&places->maps);
	for (unsigned int i = 0; i < FOLD_LAST_MAPS; i++)
		places->last[0][i] = places->last[1][i] = places->maps.slots;
	places->frames = mem_zalloc_table(slots, sizeof(*places->frames));
	places->symbols = mem_zalloc_table(places->symbol_mask + 1, sizeof(*places->symbols));
}

void fold_places_deinit(struct fold_places *places)
{
	maps_cache_deinit(&places->maps);
	free(places->near);
	free(places->frames);
	free(places->symbols);
	vec_deinit(&places->with_functions);
	vec_deinit(&places->by_memory);
	vec_deinit(&places->addresses);
	id_table_deinit(&places->expansion_ids);
	vec_deinit(&places->expansions);
	vec_deinit(&places->expanded);
}

/* The first of the places for a hash. */
static struct place_frame *frame_slots(struct fold_places *places, uint32_t key, uint64_t address)
{
	return &places->frames[hash_combine(places->ranges ? address >> BLOCK_SHIFT : address, key) & places->frame_mask];
}

static unsigned int granule_of(uint64_t address)
{
	return address >> GRANULE_SHIFT & (GRANULES - 1);
}

static bool in_range(const struct place_frame *range, uint32_t key, uint64_t address)
{
	unsigned int first = range->address / GRANULES % GRANULES, last = range->address % GRANULES;
	return range->key == (key | RANGE) && !((range->address ^ address) >> BLOCK_SHIFT) && granule_of(address) - first <= last - first;
}

/* NOT_KNOWN when it isn't there. */
static uint32_t find_frame(const struct place_frame *slots, uint32_t key, uint64_t address)
{
	for (unsigned int i = 0; i < FRAME_WAYS; i++)
		if ((slots[i].address == address && slots[i].key == key) || in_range(&slots[i], key, address))
			return slots[i].frame;
	return NOT_KNOWN;
}

/* In front of the others; the last one goes. */
static void add_frame(struct place_frame *slots, uint32_t key, uint64_t address, uint32_t frame)
{
	memmove(slots + 1, slots, (FRAME_WAYS - 1) * sizeof(*slots));
	*slots = (struct place_frame){.address = address, .key = key, .frame = frame};
}

static bool piece_covers(const struct maps_piece *piece, const struct maps_state *state, uint64_t ip)
{
	return piece->epoch == state->epoch + 1 && ip >= piece->start && ip < piece->end;
}

/* Most addresses are in one of the few files of those before. */
static const struct maps_piece *find_map(struct fold_places *places, const struct maps_state *state, bool kernel, uint64_t ip)
{
	const struct maps_piece **last = places->last[kernel];
	if (piece_covers(last[0], state, ip))
		return last[0];
	for (unsigned int i = 1; i < FOLD_LAST_MAPS; i++)
		if (piece_covers(last[i], state, ip)) {
			const struct maps_piece *found = last[i];
			last[i] = last[0];
			return last[0] = found;
		}
	memmove(last + 1, last, (FOLD_LAST_MAPS - 1) * sizeof(*last));
	return last[0] = maps_cache_find(&places->maps, state, ip);
}

struct fold_lookup fold_places_locate(struct fold_places *places, const struct maps_state *state, uint8_t cpumode, uint64_t ip)
{
	static const struct maps_piece nothing;
	const struct maps_piece *found = state ? find_map(places, state, cpumode == CPUMODE_KERNEL, ip) : &nothing;
	return (struct fold_lookup){.map = found->map,
				    .ip = ip,
				    .address = ip + found->offset,
				    .key = (found->file << 4 | (uint32_t)cpumode << 1) + 1,
				    .cpumode = cpumode};
}

/* A frame with a symbol. */
static uint32_t symbol_frame(struct fold_places *places, const struct fold_frame *frame)
{
	if (places->options->by_address || places->options->by_line)
		return fold_tables_frame(places->tables, frame);
	struct place_symbol *slot = &places->symbols[hash_u64((uintptr_t)frame->symbol) & places->symbol_mask];
	uint64_t address = frame->map ? map_to_dso(frame->map, frame->ip) : frame->ip;
	if (slot->symbol != frame->symbol || address < slot->address)
		*slot = (struct place_symbol){frame->symbol, address, fold_tables_frame(places->tables, frame)};
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
	return elsewhere && fold_by_memory(options) && !options->by_file ? BY_MEMORY : fold_tables_frame(places->tables, &frame);
}

/* Whether all that isn't mapped is one frame. Of the kernel more may be known than is mapped. */
static bool is_nowhere(const struct fold_places *places, const struct map *map, uint8_t cpumode)
{
	return places->one_nowhere && !map && cpumode != CPUMODE_KERNEL;
}

static uint32_t __attribute__((noinline)) nowhere_frame(struct fold_places *places, uint8_t cpumode)
{
	struct fold_lookup lookup = {.cpumode = cpumode};
	return places->nowhere[cpumode % FOLD_CPUMODES] = resolve(places, &lookup);
}

struct fold_lookup fold_places_begin(struct fold_places *places, const struct maps_state *state, uint8_t cpumode, uint64_t ip)
{
	struct fold_lookup lookup = fold_places_locate(places, state, cpumode, ip);
	if (!is_nowhere(places, lookup.map, cpumode)) {
		__builtin_prefetch(frame_slots(places, lookup.key, lookup.address));
		return lookup;
	}
	uint32_t known = places->nowhere[cpumode % FOLD_CPUMODES];
	lookup.frame = known != NOT_KNOWN ? known : nowhere_frame(places, cpumode);
	lookup.key = 0;
	return lookup;
}

static void note_by_memory(struct fold_places *places, uint32_t file)
{
	while (places->by_memory.len <= file)
		vec_push(&places->by_memory, false);
	places->by_memory_count += !places->by_memory.data[file];
	places->by_memory.data[file] = true;
}

/* By the address in memory: callers without a symbol are shown with that. */
static uint32_t resolve_by_memory(struct fold_places *places, const struct fold_lookup *lookup)
{
	uint32_t key = lookup->key + 1;
	note_by_memory(places, lookup->key >> 4);
	struct place_frame *slots = frame_slots(places, key, lookup->ip);
	uint32_t known = find_frame(slots, key, lookup->ip);
	if (known != NOT_KNOWN)
		return known;
	struct fold_frame frame = {.ip = lookup->ip, .map = lookup->map, .cpumode = lookup->cpumode};
	if (places->options->by_line)
		frame.symbol = resolver_symbol(places->resolver, lookup->map->dso, lookup->address);
	known = fold_tables_frame(places->tables, &frame);
	add_frame(slots, key, lookup->ip, known);
	return known;
}

/* The address's granule and those beside it in its block that have no other address than of [start, end); false when it isn't such. */
static bool make_range(uint64_t address, uint64_t start, uint64_t end, unsigned int *ret_first, unsigned int *ret_last)
{
	uint64_t block = address >> BLOCK_SHIFT << BLOCK_SHIFT, size = (uint64_t)1 << BLOCK_SHIFT, granule = (uint64_t)1 << GRANULE_SHIFT;
	uint64_t from = start > block ? start - block : 0, to = end - block < size ? end - block : size;
	*ret_first = (unsigned int)((from + granule - 1) / granule);
	*ret_last = (unsigned int)(to / granule) - 1;
	return to >= granule && granule_of(address) >= *ret_first && granule_of(address) <= *ret_last;
}

/* Not in the table: all of a symbol around the address, or of what has none, as far as a place has room. Which addresses of a range come
 * first is chance, so that it stands for all of them with its lowest one. */
static uint32_t __attribute__((noinline)) add_range(struct fold_places *places, const struct fold_lookup *lookup, struct place_frame *slots)
{
	unsigned int first, last;
	uint64_t start, end;
	struct fold_frame frame = {.ip = lookup->ip, .map = lookup->map, .cpumode = lookup->cpumode};
	frame.symbol = resolver_symbol_around(places->resolver, lookup->map->dso, lookup->address, &start, &end);
	bool one_frame = frame.symbol || places->options->by_file;
	if (!one_frame || !make_range(lookup->address, start, end, &first, &last)) {
		uint32_t found = resolve(places, lookup);
		add_frame(slots, lookup->key, lookup->address, found);
		return found;
	}
	uint64_t block = lookup->address >> BLOCK_SHIFT << BLOCK_SHIFT;
	frame.ip -= lookup->address - (block + ((uint64_t)first << GRANULE_SHIFT));
	uint32_t found = frame.symbol			    ? symbol_frame(places, &frame)
			 : places->options->hide_unresolved ? FOLD_NONE
							    : fold_tables_frame(places->tables, &frame);
	add_frame(slots, lookup->key | RANGE, block | first * GRANULES | last, found);
	return found;
}

void fold_places_finish(struct fold_places *places, struct fold_lookup *lookup)
{
	if (!lookup->key)
		return;
	struct place_frame *slots = frame_slots(places, lookup->key, lookup->address);
	uint32_t frame = find_frame(slots, lookup->key, lookup->address);
	if (frame == NOT_KNOWN && places->ranges && lookup->map) {
		frame = add_range(places, lookup, slots);
	} else if (frame == NOT_KNOWN) {
		frame = resolve(places, lookup);
		add_frame(slots, lookup->key, lookup->address, frame);
	}
	lookup->frame = frame == BY_MEMORY ? resolve_by_memory(places, lookup) : frame;
}

static void __attribute__((noinline))
fill_near(struct fold_places *places, const struct maps_state *state, uint64_t ip, struct near_place *near)
{
	struct fold_lookup lookup = fold_places_begin(places, state, CPUMODE_USER, ip);
	fold_places_finish(places, &lookup);
	*near = (struct near_place){.ip = ip, .epoch = state->epoch + 1, .frame = lookup.frame};
}

size_t fold_places_frames(struct fold_places *places, const struct maps_state *state, const uint64_t *ips, size_t count, uint32_t *to)
{
	if (!places->near)
		places->near = mem_zalloc_table(NEAR_SLOTS, sizeof(*places->near));
	struct near_place *table = places->near;
	uint64_t epoch = state->epoch + 1, salt = epoch * hash_key[3] ^ hash_key[0], key = hash_key[2];
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		/* The upper bits of the product depend on all of the address. */
		struct near_place *near = &table[(ips[i] + salt) * key >> (64 - NEAR_BITS)];
		if (__builtin_expect(near->ip != ips[i] || near->epoch != epoch, 0))
			fill_near(places, state, ips[i], near);
		to[found] = near->frame;
		found += near->frame != FOLD_NONE;
	}
	return found;
}

static uint64_t expansion_ip(const struct fold_places *places, const struct fold_lookup *lookup)
{
	return places->options->by_line ? lookup->ip : 0;
}

static const struct place_expansion *find_expansion(struct fold_places *places, const struct fold_lookup *lookup, bool returns_here,
						    uint32_t hash)
{
	struct id_probe probe;
	for (uint32_t id = id_table_first(&places->expansion_ids, hash, &probe); id != ID_NONE;
	     id = id_table_next(&places->expansion_ids, &probe)) {
		const struct place_expansion *known = &places->expansions.data[id];
		if (known->dso == lookup->map->dso && known->address == lookup->address && known->returns_here == returns_here &&
		    known->ip == expansion_ip(places, lookup))
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
		.ip = expansion_ip(places, lookup),
		.first = (uint32_t)places->expanded.len,
		.count = (uint32_t)count,
		.returns_here = returns_here,
	};
	for (size_t i = 0; i < count; i++) {
		struct fold_frame frame = {
			.ip = lookup->ip - returns_here, .map = lookup->map, .symbol = functions[i].symbol, .cpumode = CPUMODE_USER};
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
	uint32_t hash = (uint32_t)hash_combine((uintptr_t)lookup->map->dso + returns_here, lookup->address + expansion_ip(places, lookup));
	const struct place_expansion *expansion = find_expansion(places, lookup, returns_here, hash);
	if (!expansion)
		expansion = expand(places, lookup, returns_here, hash);
	if (expansion->count)
		*ret = places->expanded.data + expansion->first;
	return expansion->count;
}

/* ---- parts of chains ---- */

/* Step 2, with inlined functions, that ask for the whole look-up. */
static void add_with_inlined(struct fold_places *places, const struct fold_part *part, struct fold_lookup *lookup, fold_frame_list *frames)
{
	const uint32_t *functions;
	size_t count = fold_places_functions(places, lookup, part->returns_here, &functions);
	for (size_t i = 0; i < count; i++)
		vec_push(frames, functions[i]);
	if (!count) {
		fold_places_finish(places, lookup);
		if (lookup->frame != FOLD_NONE)
			vec_push(frames, lookup->frame);
	}
}

void fold_places_part(struct fold_places *places, const struct fold_part *part, const uint64_t *ips, fold_frame_list *frames,
		      uint32_t *counts)
{
	struct fold_lookup lookups[FOLD_BATCH];
	for (uint32_t begin = 0; begin < part->count; begin += FOLD_BATCH) {
		uint32_t count = part->count - begin < FOLD_BATCH ? part->count - begin : FOLD_BATCH;
		vec_reserve(frames, frames->len + count);
		for (uint32_t i = 0; i < count; i++)
			lookups[i] = fold_places_begin(places, &part->space, part->cpumode, ips[begin + i]);
		for (uint32_t i = 0; i < count; i++) {
			size_t before = frames->len;
			if (part->inlines) {
				add_with_inlined(places, part, &lookups[i], frames);
			} else {
				fold_places_finish(places, &lookups[i]);
				frames->data[before] = lookups[i].frame;
				frames->len += lookups[i].frame != FOLD_NONE;
			}
			if (counts)
				*counts++ = (uint32_t)(frames->len - before);
		}
	}
}

/* All that is the same for addresses of a map, but for those. */
static uint64_t hash_map(const struct fold_places *places, uint64_t hash, uint32_t first, const struct maps_piece *map)
{
	hash = hash_combine(hash, (uint64_t)first << 32 | map->file);
	bool by_memory = places->options->by_line || (map->file < places->by_memory.len && places->by_memory.data[map->file]);
	return by_memory ? hash_combine(hash, map->offset) : hash;
}

struct hash128 fold_places_key(struct fold_places *places, const struct fold_part *part, const uint64_t *ips)
{
	uint64_t maps = (uint64_t)part->cpumode << 2 | (uint64_t)part->inlines << 1 | part->returns_here;
	uint64_t start = 1, end = 0, offset = 0;
	bool nowhere = false;
	vec_reserve(&places->addresses, part->count);
	for (uint32_t i = 0; i < part->count; i++) {
		if (ips[i] < start || ips[i] >= end) {
			const struct maps_piece *map = find_map(places, &part->space, part->cpumode == CPUMODE_KERNEL, ips[i]);
			bool before = nowhere;
			nowhere = is_nowhere(places, map->map, part->cpumode);
			if (!nowhere || !before)
				maps = hash_map(places, maps, i, map);
			start = map->start;
			end = map->end;
			offset = map->offset;
		}
		places->addresses.data[i] = nowhere ? 0 : ips[i] + offset;
	}
	return hash_words(places->addresses.data, part->count, maps);
}

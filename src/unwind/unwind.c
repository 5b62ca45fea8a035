/* Stepping from frame to frame.
 *
 * Each step: the address says which file, the file's call frame information says where the canonical frame address (CFA) is and where the
 * caller's registers were saved; they are read from the recorded stack bytes.
 *
 *	address ──► near: packed row ─────────────────────────────────┬──► CFA, frame pointer, return address
 *	   │ (not there)                                              │
 *	   └──► maps_cache: file, place in it ──► rules: packed row ──┤
 *	                                                              │ (other)
 *	                                                              └──► wholes: cfi_row ──► step.c
 *
 * Rules that were used are kept in small direct-mapped tables for each thread, because stacks of one program pass through the same calls
 * over and over: `near` by the address in the process, which one multiplication finds, `rules` and `wholes` by the place in the file, which
 * all processes share. A step waits for the one before it, so that what counts is how long each takes from end to end. Only the stack
 * pointer and the frame pointer are carried from frame to frame: nearly no caller's rules need more. Where some do, the walk begins anew
 * and carries all registers. Frames whose rules are near and say no more than usual are passed in a loop of their own, walk_simply(), which
 * steps as step_by_rule() would; what it can't tell, it leaves for that.
 *
 * Without rules: procedure linkage stubs have pushed nothing but the return address; else the frame pointer is tried, which must point a
 * little above the last frame.
 */
#include "unwind/unwind_internal.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
	CACHE_NEAR_BITS = 12,
	CACHE_NEAR = 1 << CACHE_NEAR_BITS,
	CACHE_RULES = 1 << 13,
	CACHE_WHOLES = 256,
	FRAME_POINTER_REACH = 0x4000,
	STACK_AHEAD = 1024,
	CACHE_LINE = 64
};

struct near_rule {
	uint64_t address; /* in the process */
	uint64_t epoch;	  /* of its address space, + 1; 0 = empty */
	struct packed_row row;
	/* For walk_simply(), in bytes: nothing is left to be calculated before the next frame can be looked at. */
	int32_t cfa, ip, fp; /* from the base; from there; if the frame pointer is kept, where the return address is */
	int8_t by_fp;	     /* -1: the base is the frame pointer, 0: the stack pointer */
	int8_t keeps_fp;     /* -1: the frame pointer is as it is, 0: it is read from the stack */
	bool simple;	     /* the row tells where the return address is in the stack, and the frame pointer has a value */
} __attribute__((aligned(64)));

struct cached_rule {
	uint64_t address; /* in the file */
	uint32_t file;	  /* its number + 1; 0 = empty */
	struct packed_row row;
};

struct cached_whole {
	uint64_t address;
	uint32_t file;
	struct cfi_row row;
};

/* Where the registers of samples go: found once for each mask. */
struct register_places {
	const struct arch_frames *arch; /* NULL: not found yet */
	uint64_t mask, known;
	unsigned int count, ip;		/* `ip`: the instruction pointer's index in the sample, `count` without one */
	uint8_t indices[CFI_REGISTERS]; /* in the sample, of known registers */
};

struct unwind_cache {
	uint64_t gone; /* count_gone() when `rules` and `wholes` were looked up */
	struct maps_cache maps;
	struct register_places places;
	struct near_rule *near;
	struct cached_rule *rules;
	struct cached_whole *wholes;
};

static struct unwind_cache *create_cache(uint64_t gone)
{
	struct unwind_cache *cache = mem_zalloc(sizeof(*cache));
	cache->gone = gone;
	maps_cache_init(&cache->maps);
	cache->near = mem_zalloc_table(CACHE_NEAR, sizeof(*cache->near));
	cache->rules = mem_zalloc_table(CACHE_RULES, sizeof(*cache->rules));
	cache->wholes = mem_zalloc_array(CACHE_WHOLES, sizeof(*cache->wholes));
	return cache;
}

void unwind_cache_destroy(struct unwind_cache *cache)
{
	if (!cache)
		return;
	maps_cache_deinit(&cache->maps);
	free(cache->near);
	free(cache->rules);
	free(cache->wholes);
	free(cache);
}

/* Grows when other files may have the numbers by which a cache knew them, and when a file may have gone that `wholes` point into. */
static uint64_t count_gone(const struct resolver *resolver)
{
	return resolver_machine(resolver)->drops + resolver_let_go(resolver);
}

/* What is known by the number of an address space stays: a number is never used again. */
static void forget_files(struct unwind_cache *cache, uint64_t gone)
{
	cache->gone = gone;
	memset(cache->rules, 0, CACHE_RULES * sizeof(*cache->rules));
	memset(cache->wholes, 0, CACHE_WHOLES * sizeof(*cache->wholes));
}

/* What it knows of files begins anew when some may have gone. */
static struct unwind_cache *cache_of(struct unwind_cache **cache, const struct resolver *resolver)
{
	uint64_t gone = count_gone(resolver);
	if (!*cache)
		*cache = create_cache(gone);
	else if ((*cache)->gone != gone)
		forget_files(*cache, gone);
	return *cache;
}

static const struct arch_frames *find_frames(const char *arch, uint64_t abi)
{
	return arch_frames_of(arch_find(arch), abi);
}

/* ---- rules ---- */

static const struct unwind_tables *tables_of(const struct unwind_walk *walk, const struct map *map)
{
	return resolver_attachment(walk->resolver, map->dso, unwind_tables_make, unwind_tables_destroy);
}

static struct packed_row fill_rule(const struct unwind_walk *walk, const struct maps_piece *piece, uint64_t address)
{
	const struct unwind_tables *tables = tables_of(walk, piece->map);
	uint64_t vaddr;
	if (!tables || !unwind_tables_vaddr(tables, address, &vaddr))
		return (struct packed_row){.base = PACKED_NONE};
	return unwind_tables_packed(tables, vaddr);
}

/* What is mapped at an address of the process. */
static const struct maps_piece *find_piece(struct unwind_walk *walk, uint64_t address)
{
	return maps_cache_find(&walk->cache->maps, &walk->maps, address);
}

/* By the place in the file. */
static struct packed_row find_shared_rule(struct unwind_walk *walk, uint64_t address)
{
	const struct maps_piece *piece = find_piece(walk, address);
	if (!piece->map)
		return (struct packed_row){.base = PACKED_NONE};
	uint64_t place = address + piece->offset;
	struct cached_rule *cached = &walk->cache->rules[hash_combine(place, piece->file) % CACHE_RULES];
	if (cached->address != place || cached->file != piece->file)
		*cached = (struct cached_rule){.address = place, .file = piece->file, .row = fill_rule(walk, piece, place)};
	return cached->row;
}

static inline uint64_t near_salt(uint64_t epoch)
{
	return epoch * hash_key[3] ^ hash_key[0];
}

/* The upper bits of the product depend on all of the address. */
static inline size_t near_index(uint64_t salted, uint64_t key)
{
	return (size_t)(salted * key >> (64 - CACHE_NEAR_BITS));
}

static void fill_near(struct near_rule *near, uint64_t address, uint64_t epoch, struct packed_row row)
{
	bool keeps_fp = row.fp == PACKED_SAME;
	bool simple = row.base <= PACKED_FP && row.ip != PACKED_SAME && row.ip != PACKED_LOST && row.fp != PACKED_LOST && !row.is_signed;
	*near = (struct near_rule){.address = address,
				   .epoch = epoch,
				   .row = row,
				   .cfa = row.cfa * PACKED_UNIT,
				   .ip = row.ip * PACKED_UNIT,
				   .fp = (keeps_fp ? row.ip : row.fp) * PACKED_UNIT,
				   .by_fp = (int8_t) - (row.base == PACKED_FP),
				   .keeps_fp = (int8_t)-keeps_fp,
				   .simple = simple};
}

/* The rules at an address of the process. Valid until the next call. */
static inline const struct packed_row *find_rule(struct unwind_walk *walk, uint64_t address)
{
	uint64_t epoch = walk->maps.epoch + 1;
	struct near_rule *near = &walk->cache->near[near_index(address + near_salt(epoch), hash_key[2])];
	if (__builtin_expect(near->address != address || near->epoch != epoch, 0))
		fill_near(near, address, epoch, find_shared_rule(walk, address));
	return &near->row;
}

/* The whole row, which is there. */
static const struct cfi_row *find_whole(struct unwind_walk *walk, uint64_t address)
{
	const struct maps_piece *piece = find_piece(walk, address);
	uint64_t place = address + piece->offset, vaddr;
	struct cached_whole *cached = &walk->cache->wholes[hash_combine(place, piece->file) % CACHE_WHOLES];
	if (cached->address == place && cached->file == piece->file)
		return &cached->row;
	const struct unwind_tables *tables = tables_of(walk, piece->map);
	cached->file = 0;
	if (!tables || !unwind_tables_vaddr(tables, place, &vaddr) || !unwind_tables_row(tables, vaddr, &cached->row))
		return NULL;
	cached->address = place;
	cached->file = piece->file;
	return &cached->row;
}

/* ---- steps ---- */

/* False: it can't be read. */
static inline bool read_register(struct unwind_walk *walk, uint64_t cfa, int16_t place, unsigned int reg, uint64_t *ret)
{
	if (place == PACKED_SAME)
		return register_get(&walk->regs, reg, ret);
	return place != PACKED_LOST && walk_read(walk, cfa + (uint64_t)(place * PACKED_UNIT), walk->arch->word, ret);
}

static inline bool step_by_rule(struct unwind_walk *walk, const struct packed_row *row)
{
	const struct frame_registers *numbers = &walk->arch->numbers;
	uint64_t sp = walk->regs.value[numbers->sp], cfa = sp, fp, ip;
	if (row->base == PACKED_FP && !register_get(&walk->regs, numbers->fp, &cfa))
		return false;
	cfa += (uint64_t)(row->cfa * PACKED_UNIT);
	if (walk->arch->word == 4)
		cfa = (uint32_t)cfa;
	/* As a number: what the rule says may be far from the copy. */
	__builtin_prefetch((const void *)((uintptr_t)walk->input->stack + (cfa - walk->stack_start) + STACK_AHEAD));
	bool has_fp = read_register(walk, cfa, row->fp, numbers->fp, &fp);
	if ((row->ip == PACKED_SAME && !walk->arch->link) || !read_register(walk, cfa, row->ip, numbers->ip, &ip))
		return false;
	if (row->is_signed)
		ip = unwind_without_signature(ip);
	if (ip == walk->ip && cfa == sp)
		return false;
	walk->regs.value[numbers->sp] = cfa;
	walk->regs.known = (uint64_t)1 << numbers->sp;
	if (has_fp)
		register_set(&walk->regs, numbers->fp, fp);
	walk->ip = ip;
	walk->exact = false;
	walk->dropped = true;
	return true;
}

static bool step_by_frame_pointer(struct unwind_walk *walk)
{
	const struct frame_registers *numbers = &walk->arch->numbers;
	unsigned int word = walk->arch->word;
	uint64_t fp, sp, caller_fp, ip;
	if (!register_get(&walk->regs, numbers->fp, &fp) || !fp || !register_get(&walk->regs, numbers->sp, &sp))
		return false;
	if (fp < sp || fp - sp > FRAME_POINTER_REACH || !walk_read(walk, fp, word, &caller_fp) || !walk_read(walk, fp + word, word, &ip) ||
	    !ip)
		return false;
	if (!maps_cache_find(&walk->cache->maps, &walk->maps, ip - 1)->map)
		return false;
	walk->regs.known = 0;
	register_set(&walk->regs, numbers->fp, caller_fp);
	register_set(&walk->regs, numbers->sp, fp + 2 * word);
	walk->ip = ip;
	walk->exact = false;
	walk->dropped = true;
	return true;
}

/* Nobody can have called a frame whose rules say that the return address is undefined. */
static bool is_outermost(const struct cfi_row *row)
{
	for (unsigned int i = 0; i < row->count; i++)
		if (row->rules[i].reg == row->return_register)
			return row->rules[i].kind == CFI_UNDEFINED;
	return false;
}

/* The stack or the heap: what leads there was no return address. */
static bool is_data(const struct map *map)
{
	return map->dso->kind == DSO_ANON && map->dso->name[0] == '[';
}

/* The dynamic linker has no rules for its first instructions. */
static bool is_entry(const struct unwind_tables *tables, uint64_t dso_addr)
{
	uint64_t vaddr;
	return tables->runtime.entry && unwind_tables_vaddr(tables, dso_addr, &vaddr) && vaddr == tables->runtime.entry;
}

enum unwind_reason unwind_lack_of_rules(struct resolver *resolver, const struct map *map, uint64_t address)
{
	if (!map || is_data(map))
		return UNWIND_BROKEN;
	if (map->dso->kind == DSO_ANON || map->dso->kind == DSO_JITDUMP)
		return UNWIND_NO_JIT;
	const struct unwind_tables *tables = resolver_attachment(resolver, map->dso, unwind_tables_make, unwind_tables_destroy);
	if (is_entry(tables, map_to_dso(map, address)))
		return UNWIND_COMPLETE;
	return map->dso->kind != DSO_VDSO && !tables->runtime.data ? UNWIND_NO_FILE : UNWIND_NO_RULES;
}

/* Why there are no rules for code there. */
static enum unwind_reason why_no_rules(const struct unwind_walk *walk, const struct map *map, uint64_t address)
{
	uint64_t fp;
	if (!map)
		return UNWIND_BROKEN;
	/* psABI: the frame pointer of a thread's first function is 0. */
	if (!walk->exact && register_get(&walk->regs, walk->arch->numbers.fp, &fp) && !fp)
		return UNWIND_COMPLETE;
	return unwind_lack_of_rules(walk->resolver, map, address);
}

/* To the caller by rules that are rare, or none. False: there is none, and *ret says why. */
static bool step_otherwise(struct unwind_walk *walk, const struct packed_row *row, uint64_t address, struct unwind_end *ret)
{
	const struct map *map = find_piece(walk, address)->map;
	ret->dso = map ? map->dso : NULL;
	if (row->base == PACKED_END) {
		ret->reason = UNWIND_COMPLETE;
	} else if (row->base == PACKED_NONE) {
		bool lost = !walk->exact && map && is_data(map);
		if (!lost && step_by_frame_pointer(walk))
			return true;
		ret->reason = why_no_rules(walk, map, address);
	} else {
		const struct cfi_row *whole = row->base == PACKED_OTHER || walk->full ? find_whole(walk, address) : NULL;
		if (whole ? walk_step_by_row(walk, whole) : row->base <= PACKED_FP ? step_by_rule(walk, row) : step_by_frame_pointer(walk))
			return true;
		ret->reason = whole && is_outermost(whole) ? UNWIND_COMPLETE : walk->missing ? walk->missing : UNWIND_BROKEN;
	}
	return false;
}

/* To the caller. False: there is none, and *ret says why. */
static inline bool step(struct unwind_walk *walk, struct unwind_end *ret)
{
	uint64_t address = walk->exact ? walk->ip : walk->ip - 1;
	const struct packed_row *row = find_rule(walk, address);
	walk->missing = UNWIND_COMPLETE;
	if (__builtin_expect(row->base <= PACKED_FP && !walk->full, 1) && step_by_rule(walk, row))
		return true;
	return step_otherwise(walk, row, address, ret);
}

/* Steps as long as the rules are near and say what nearly all do, into `ips`; returns how many. No branches depend on what rules say: they
 * differ from frame to frame, and a wrong guess of the processor costs as much as a step. */
static size_t walk_simply(struct unwind_walk *walk, uint64_t *ips, size_t max)
{
	const struct frame_registers *numbers = &walk->arch->numbers;
	const struct near_rule *rules = walk->cache->near;
	const uint8_t *stack = walk->input->stack;
	uint64_t epoch = walk->maps.epoch + 1, salt = near_salt(epoch) - 1, key = hash_key[2], size = walk->input->stack_size;
	/* Places are counted from the first recorded byte. */
	uint64_t start = walk->stack_start, sp = walk->regs.value[numbers->sp] - start, fp = walk->regs.value[numbers->fp] - start;
	uint64_t ip = walk->ip, read_ip, read_fp;
	size_t count = 0;
	if (size < sizeof(ip) + 1)
		return 0;
	size -= sizeof(ip);
	while (count < max) {
		uint64_t address = ip - 1;
		const struct near_rule *near = &rules[near_index(ip + salt, key)];
		if (near->address != address || near->epoch != epoch || !near->simple)
			break;
		uint64_t cfa = (sp ^ ((sp ^ fp) & (uint64_t)near->by_fp)) + (uint64_t)near->cfa;
		uint64_t ip_at = cfa + (uint64_t)near->ip, fp_at = cfa + (uint64_t)near->fp;
		if ((ip_at >= size) | (fp_at >= size))
			break;
		for (unsigned int i = 0; i < 3; i++) /* what frames take, usually */
			__builtin_prefetch(stack + cfa + STACK_AHEAD + i * CACHE_LINE);
		memcpy(&read_ip, stack + ip_at, sizeof(ip));
		memcpy(&read_fp, stack + fp_at, sizeof(fp));
		if (!read_ip || (read_ip == ip && cfa == sp))
			break;
		read_fp -= start;
		fp = read_fp ^ ((read_fp ^ fp) & (uint64_t)near->keeps_fp);
		sp = cfa;
		ips[count++] = address;
		ip = read_ip;
	}
	if (!count)
		return 0;
	walk->regs.known = 0;
	register_set(&walk->regs, numbers->sp, start + sp);
	register_set(&walk->regs, numbers->fp, start + fp);
	walk->ip = ip;
	walk->dropped = true;
	return count;
}

static bool may_walk_simply(const struct unwind_walk *walk)
{
	return !walk->input->sps && !walk->exact && !walk->full && walk->arch->word == sizeof(uint64_t) &&
	       (walk->regs.known >> walk->arch->numbers.fp & 1);
}

/* ---- start ---- */

static unsigned int index_in_sample(uint64_t mask, unsigned int number)
{
	return (unsigned int)__builtin_popcountll(mask & (((uint64_t)1 << number) - 1));
}

static void find_places(struct register_places *places, const struct arch_frames *arch, uint64_t mask)
{
	*places = (struct register_places){.arch = arch, .mask = mask, .count = (unsigned int)__builtin_popcountll(mask)};
	for (unsigned int i = 0; i < CFI_REGISTERS; i++) {
		uint8_t number = arch->sample[i];
		if (number == ARCH_NO_REGISTER || !(mask >> number & 1))
			continue;
		places->known |= (uint64_t)1 << i;
		places->indices[i] = (uint8_t)index_in_sample(mask, number);
	}
	places->ip = mask >> arch->ip_sample & 1 ? index_in_sample(mask, arch->ip_sample) : places->count;
}

static bool start(struct unwind_walk *walk)
{
	const struct unwind_input *input = walk->input;
	struct register_places *places = &walk->cache->places;
	if (places->arch != walk->arch || places->mask != input->mask)
		find_places(places, walk->arch, input->mask);
	walk->regs.known = places->known;
	for (uint64_t left = places->known; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(left);
		walk->regs.value[i] = input->registers[places->indices[i]];
	}
	if (places->ip == places->count)
		return false;
	walk->ip = input->registers[places->ip];
	walk->exact = true;
	return register_get(&walk->regs, walk->arch->numbers.sp, &walk->stack_start);
}

static size_t walk_up(struct unwind_walk *walk, uint64_t *ips, size_t max, struct unwind_end *ret)
{
	size_t count = 0;
	*ret = (struct unwind_end){.reason = UNWIND_DEPTH};
	for (size_t steps = 0; steps < max; steps++) {
		if (may_walk_simply(walk)) {
			size_t simple = walk_simply(walk, ips + count, max - steps);
			count += simple;
			steps += simple;
			if (steps == max)
				break;
		}
		uint64_t address = walk->exact ? walk->ip : walk->ip - 1;
		if (walk->input->sps)
			walk->input->sps[count] = walk->regs.value[walk->arch->numbers.sp];
		if (address || !count) /* nothing is called from 0; the kernel's perf leaves it out as well */
			ips[count++] = address;
		if (!walk->ip && steps) {
			ret->reason = walk->missing;
			break;
		}
		if (!step(walk, ret))
			break;
	}
	return count;
}

size_t unwind_user(struct resolver *resolver, struct unwind_cache **cache, const struct unwind_input *input, uint64_t *ips, size_t max,
		   struct unwind_end *ret_end)
{
	struct unwind_walk walk = {
		.input = input, .arch = find_frames(input->arch, input->abi), .resolver = resolver, .cache = cache_of(cache, resolver)};
	*ret_end = (struct unwind_end){.reason = UNWIND_UNSUPPORTED};
	if (!walk.arch || !input->registers || !start(&walk))
		return 0;
	walk.maps = maps_state_at(input->maps, input->time);
	size_t count = walk_up(&walk, ips, max, ret_end);
	if (walk.dropped && ret_end->reason == UNWIND_BROKEN && start(&walk)) {
		walk.full = true;
		count = walk_up(&walk, ips, max, ret_end);
	}
	ret_end->depth = walk.regs.value[walk.arch->numbers.sp] - walk.stack_start;
	return count;
}

bool unwind_has_leaf_callers(const char *arch, uint64_t mask)
{
	return mask & arch_link_bit(find_frames(arch, 2));
}

uint64_t unwind_leaf_caller(struct resolver *resolver, struct unwind_cache **cache, const struct unwind_input *input, uint64_t ip)
{
	/* Rules for what was saved count from the stack pointer: with none at 0, what they ask for isn't there. */
	struct unwind_input without_stack = *input;
	without_stack.stack = NULL;
	without_stack.stack_size = 0;
	struct unwind_walk walk = {
		.input = &without_stack, .arch = find_frames(input->arch, input->abi), .resolver = resolver, .ip = ip, .exact = true};
	uint64_t bit = arch_link_bit(walk.arch);
	if (!(input->mask & bit) || !input->registers)
		return 0;
	walk.cache = cache_of(cache, resolver);
	walk.maps = maps_state_at(input->maps, input->time);
	register_set(&walk.regs, walk.arch->numbers.ip, input->registers[__builtin_popcountll(input->mask & (bit - 1))]);
	register_set(&walk.regs, walk.arch->numbers.sp, 0);
	const struct packed_row *row = find_rule(&walk, ip);
	return row->base <= PACKED_FP && step_by_rule(&walk, row) && walk.ip ? walk.ip - 1 : 0;
}

bool unwind_has_rules(struct resolver *resolver, struct dso *dso, uint64_t dso_addr)
{
	const struct unwind_tables *tables = resolver_attachment(resolver, dso, unwind_tables_make, unwind_tables_destroy);
	uint64_t vaddr;
	return unwind_tables_vaddr(tables, dso_addr, &vaddr) && unwind_tables_packed(tables, vaddr).base != PACKED_NONE;
}

bool unwind_is_outermost(struct resolver *resolver, struct dso *dso, uint64_t dso_addr)
{
	const struct unwind_tables *tables = resolver_attachment(resolver, dso, unwind_tables_make, unwind_tables_destroy);
	uint64_t vaddr;
	return unwind_tables_vaddr(tables, dso_addr, &vaddr) && unwind_tables_packed(tables, vaddr).base == PACKED_END;
}

static bool row_lacks_frame(const struct packed_row *row, bool link)
{
	return link ? row->base <= PACKED_FP && row->ip == PACKED_SAME : row->base == PACKED_SP;
}

bool unwind_lacks_frame(struct resolver *resolver, struct dso *dso, uint64_t dso_addr, const char *arch, bool whole)
{
	const struct unwind_tables *tables = resolver_attachment(resolver, dso, unwind_tables_make, unwind_tables_destroy);
	const struct arch_frames *known = find_frames(arch, 2);
	uint64_t vaddr;
	size_t count = 0;
	if (!unwind_tables_vaddr(tables, dso_addr, &vaddr))
		return false;
	bool link = known && known->link;
	const struct packed_row *rows = whole ? unwind_tables_function(tables, vaddr, &count) : NULL;
	for (size_t i = 0; i < count; i++)
		if (!row_lacks_frame(&rows[i], link))
			return false;
	if (count)
		return true;
	struct packed_row row = unwind_tables_packed(tables, vaddr);
	return row_lacks_frame(&row, link);
}

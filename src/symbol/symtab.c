/* Symbol tables, as they are kept (symbol_builder.c: as they are put together), and lookup.
 *
 * Lookup: starts of the intervals in one packed array (4 bytes each, so that a search touches few cache lines), and buckets of addresses
 * that say between which of them to search. Without overlaps interval i is symbol i; else `owners` says which symbol it is, and `intervals`
 * where a symbol begins.
 *
 * Most symbols are never looked up, so of each only what its file says of it is kept, in 8 bytes. Who first looks one up makes a struct
 * symbol of it and publishes that with release order; should another thread have done so meanwhile, his own goes. That is when a name is
 * demangled, which is slow (1 µs and more).
 *
 * Names: one block for all. Those of a file that has many of them are copied when they are looked up, out of the file, which stays mapped.
 */
#include "symbol/symtab_internal.h"

#include "base/cleanup.h"
#include "base/search.h"
#include "symbol/carried/carried.h"
#include "symbol/demangle.h"
#include "symbol/dwarf/debug_info.h"
#include "symbol/dwarf/functions.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/elf/overlap.h"

#include <elf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Names that are read from a file before it leaves our memory: each time costs a system call, and page faults afterwards. */
enum { NAMES_AT_ONCE = 64 };

enum {
	LONG_NAME = 4096,
	MANY_NAMES = 64 << 10 /* bytes: for less it doesn't pay to keep a file mapped */
};

static bool is_in(const struct mapping *file, const char *name)
{
	uintptr_t begin = (uintptr_t)file->data, at = (uintptr_t)name;
	return file->data && at >= begin && at - begin < file->size;
}

/* Keeps the file if it has many of the names; where it is too large for packed_symbol.name they are copied. */
static void take_file(struct symtab_private *private, const struct symbol_builder *builder)
{
	size_t bytes = 0;
	if (!builder->file || builder->file->size > UINT32_MAX)
		return;
	for (size_t i = 0; i < builder->symbols.len && bytes < MANY_NAMES; i++)
		if (is_in(builder->file, builder->symbols.data[i].name))
			bytes += strlen(builder->symbols.data[i].name) + 1;
	if (bytes < MANY_NAMES)
		return;
	private->file = *builder->file;
	*builder->file = (struct mapping){0};
}

/* How long names may be: none is longer, unless somebody writes to the file later. In a hostile file all symbols can share one huge name:
 * then names are cut, and there are at most 4 GB of them. */
static size_t name_limit(const struct symbol_builder *builder)
{
	size_t total = 0, longest = 0, count = builder->symbols.len, limit = LONG_NAME;
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(builder->symbols.data[i].name);
		total += length + 1;
		longest = length > longest ? length : longest;
	}
	if (total <= UINT32_MAX && total / LONG_NAME <= count + LONG_NAME)
		return longest;
	while (limit && count > UINT32_MAX / (limit + 1))
		limit /= 2;
	return limit;
}

/* Copies the names that aren't in the file into one block. */
static void place_names(struct symtab_private *private, const struct symbol *symbols, size_t count)
{
	size_t total = 0, used = 0;
	for (size_t i = 0; i < count; i++)
		if (!is_in(&private->file, symbols[i].name))
			total += strnlen(symbols[i].name, private->name_limit) + 1;
	private->names = mem_alloc(total);
	for (size_t i = 0; i < count; i++) {
		struct packed_symbol *packed = &private->symbols[i];
		packed->in_file = is_in(&private->file, symbols[i].name);
		if (packed->in_file) {
			packed->name = (uint32_t)(symbols[i].name - (const char *)private->file.data);
			continue;
		}
		if (used == total) { /* the file has changed meanwhile */
			packed->name = (uint32_t)(total - 1);
			continue;
		}
		size_t len = strnlen(symbols[i].name, private->name_limit);
		len = len < total - used ? len : total - used - 1;
		packed->name = (uint32_t)used;
		memcpy(private->names + used, symbols[i].name, len);
		private->names[used + len] = '\0';
		used += len + 1;
	}
}

void symtab_pack(struct symtab_private *private, size_t index, const struct symbol *symbol)
{
	uint64_t size = symbol->end - symbol->start;
	bool large = size >= SIZE_IS_LARGE;
	private->symbols[index] = (struct packed_symbol){.size = large ? SIZE_IS_LARGE : (uint16_t)size,
							 .binding = symbol->binding & 15,
							 .type = symbol->type & 15,
							 .mangled = symbol->mangled,
							 .ifunc_alias = symbol->ifunc_alias};
	if (large)
		vec_push(&private->large_sizes, (struct large_size){(uint32_t)index, size});
}

static void pack_symbols(struct symtab_private *private, const struct symbol *symbols, size_t count)
{
	private->symbols = mem_alloc_array(count, sizeof(*private->symbols));
	for (size_t i = 0; i < count; i++)
		symtab_pack(private, i, &symbols[i]);
}

/* No two symbols begin at the same address, and an interval begins wherever one does, though it isn't its own where the symbol is empty. */
static void note_intervals(struct symtab_private *private, const uint64_t *starts, const struct symbol *symbols, size_t count)
{
	private->intervals = mem_alloc_array(count, sizeof(*private->intervals));
	for (size_t i = 0, interval = 0; i < count; i++) {
		while (interval + 1 < private->interval_count && starts[interval] < symbols[i].start)
			interval++;
		private->intervals[i] = (uint32_t)interval;
	}
}

static uint64_t interval_start(const struct symtab_private *private, size_t interval)
{
	return private->base + (private->far_starts ? private->far_starts[interval] : private->starts[interval]);
}

/* What the symbols cover. */
static void place_intervals(struct symtab_private *private, const struct symbol *symbols, size_t count)
{
	uint64_t *starts;
	uint32_t *owners;
	size_t intervals = private->interval_count = overlap_flatten(symbols, count, &starts, &owners);
	if (owners) {
		owners = mem_resize(owners, intervals * sizeof(*owners));
		note_intervals(private, starts, symbols, count);
	}
	private->owners = owners;
	private->base = intervals ? starts[0] : 0;
	if (intervals && starts[intervals - 1] - starts[0] > UINT32_MAX) {
		for (size_t i = 0; i < intervals; i++)
			starts[i] -= private->base;
		private->far_starts = starts;
		return;
	}
	private->starts = mem_alloc_array(intervals, sizeof(*private->starts));
	for (size_t i = 0; i < intervals; i++)
	private->starts[i] = (uint32_t)(starts[i] - private->base);
	free(starts);
}

/* About one bucket for some intervals. */
static void make_buckets(struct symtab_private *private)
{
	enum { SOME = 4 };
	size_t count = private->interval_count;
	if (!count)
		return;
	uint64_t span = interval_start(private, count - 1) - private->base;
	while (span >> private->bucket_shift > count / SOME + 1)
	private->bucket_shift++;
	size_t buckets = (size_t)(span >> private->bucket_shift) + 2, interval = 0;
	private->buckets = mem_alloc_array(buckets, sizeof(*private->buckets));
	for (size_t bucket = 0; bucket < buckets; bucket++) {
		while (interval + 1 < count && interval_start(private, interval + 1) - private->base <= (uint64_t)bucket
														<< private->bucket_shift)
			interval++;
		private->buckets[bucket] = (uint32_t)interval;
	}
	private->buckets[buckets - 1] = (uint32_t)(count - 1);
}

struct symtab *symtab_finish(struct symtab_private *private, size_t count, int source, const char *path)
{
	struct symtab *symtab = mem_zalloc(sizeof(*symtab));
	make_buckets(private);
	private->made = mem_zalloc_array(symtab_made_blocks(count), sizeof(*private->made));
	private->name_count = count;
	symtab->count = count;
	symtab->source = source;
	symtab->path = path ? mem_strdup(path) : NULL;
	symtab->private = private;
	return symtab;
}

struct symtab *symtab_build(struct symbol_builder *builder, int source, const char *path)
{
	struct symtab_private *private = mem_zalloc(sizeof(*private));
	const struct symbol *symbols = builder->symbols.data;
	size_t count = builder->symbols.len;
	private->name_limit = name_limit(builder);
	private->sparing = builder->sparing;
	take_file(private, builder);
	pack_symbols(private, symbols, count);
	place_names(private, symbols, count);
	place_intervals(private, symbols, count);
	symbol_builder_deinit(builder);
	if (private->sparing && private->file.data)
		mapping_forget(private->file.data, private->file.size);
	return symtab_finish(private, count, source, path);
}

/* ---- symbols that were looked up ---- */

static struct symbol *made_at(const struct symtab_private *private, size_t index)
{
	struct made_block *block = atomic_load_explicit(&private->made[index / MADE_BLOCK], memory_order_acquire);
	return block ? atomic_load_explicit(&block->symbols[index % MADE_BLOCK], memory_order_acquire) : NULL;
}

/* Where it is going to be. */
static struct symbol *_Atomic *place_to_make(const struct symtab_private *private, size_t index)
{
	struct made_block *_Atomic *place = &private->made[index / MADE_BLOCK];
	struct made_block *block = atomic_load_explicit(place, memory_order_acquire);
	if (!block) {
		struct made_block *fresh = mem_zalloc(sizeof(*fresh));
		if (atomic_compare_exchange_strong(place, &block, fresh))
			block = fresh;
		else
			free(fresh);
	}
	return &block->symbols[index % MADE_BLOCK];
}

static void prefetch_made(const struct symtab_private *private, size_t index)
{
	const struct symbol *made = made_at(private, index);
	if (made)
		__builtin_prefetch(made);
}

static void destroy_made(struct made_block *block)
{
	for (size_t i = 0; block && i < MADE_BLOCK; i++)
		free(block->symbols[i]);
	free(block);
}

size_t symtab_bytes(const struct symtab *symtab)
{
	enum { KEPT = 16, MADE = sizeof(struct symbol) + 64 };
	const struct packed_names *names = symtab->private->packed_names;
	size_t made = names ? packed_names_bytes(names) / MADE : 0;
	for (size_t i = 0; i < symtab->count; i++)
		made += made_at(symtab->private, i) != NULL;
	return sizeof(*symtab) + symtab->count * KEPT + made * MADE;
}

void symtab_destroy(struct symtab *symtab)
{
	if (!symtab)
		return;
	struct symtab_private *private = symtab->private;
	for (size_t i = 0; i < symtab_made_blocks(symtab->count); i++)
		destroy_made(private->made[i]);
	functions_destroy(private->functions);
	mapping_close(&private->file);
	vec_deinit(&private->large_sizes);
	free(private->made);
	free(private->symbols);
	free(private->intervals);
	free(private->starts);
	free(private->far_starts);
	free(private->buckets);
	free(private->owners);
	free(private->names);
	packed_names_destroy(private->packed_names);
	free(private);
	free(symtab->segments);
	free((char *)symtab->path);
	free(symtab);
}

/* ---- symbols of a table ---- */

static uint64_t start_at(const struct symtab_private *private, size_t index)
{
	return interval_start(private, private->intervals ? private->intervals[index] : index);
}

static uint64_t size_at(const struct symtab_private *private, size_t index)
{
	if (private->symbols[index].size != SIZE_IS_LARGE)
		return private->symbols[index].size;
	size_t place = partition_point(i, private->large_sizes.len, private->large_sizes.data[i].index < index);
	return private->large_sizes.data[place].size;
}

char *symtab_raw_name(const struct symtab *symtab, size_t index)
{
	const struct symtab_private *private = symtab->private;
	const struct packed_symbol *packed = &private->symbols[index];
	if (private->packed_names)
		return packed_names_get(private->packed_names, packed->name);
	if (!packed->in_file)
		return mem_strdup(private->names + packed->name);
	char *name = mem_strndup((const char *)private->file.data + packed->name, private->name_limit);
	/* All: with a page that is touched the kernel maps others around it, since Linux 6.18 up to 2 MB. */
	if (private->sparing &&
	    atomic_fetch_add_explicit(&symtab->private->names_read, 1, memory_order_relaxed) % NAMES_AT_ONCE == NAMES_AT_ONCE - 1)
		mapping_forget(private->file.data, private->file.size);
	return name;
}

/* The name that a symbol is shown with, freed by the caller; NULL: the one that is in the block. */
static char *readable_name_at(const struct symtab *symtab, size_t index)
{
	const struct packed_symbol *packed = &symtab->private->symbols[index];
	bool in_block = !packed->in_file && !symtab->private->packed_names;
	if (in_block && !(packed->mangled && demangle_candidate(symtab->private->names + packed->name)))
		return NULL;
	char *name = symtab_raw_name(symtab, index);
	char *readable = packed->mangled && demangle_candidate(name) ? demangle(name, demangle_limit(symtab->private->name_count)) : NULL;
	if (!readable)
		return name;
	free(name);
	return readable;
}

static struct symbol *make_symbol(const struct symtab *symtab, size_t index)
{
	const struct symtab_private *private = symtab->private;
	const struct packed_symbol *packed = &private->symbols[index];
	cleanup_free char *name = readable_name_at(symtab, index);
	size_t bytes = name ? strlen(name) + 1 : 0;
	struct symbol *symbol = mem_alloc(sizeof(*symbol) + bytes);
	char *behind = (char *)(symbol + 1);
	*symbol = (struct symbol){
		.start = start_at(private, index),
		.end = start_at(private, index) + size_at(private, index),
		.name = name ? memcpy(behind, name, bytes) : private->names + packed->name,
		.binding = packed->binding,
		.type = packed->type,
		.ifunc_alias = packed->ifunc_alias,
		.index = (uint32_t)index,
	};
	return symbol;
}

static const struct symbol *symbol_at(const struct symtab *symtab, size_t index)
{
	struct symbol *_Atomic *place = place_to_make(symtab->private, index);
	struct symbol *found = atomic_load_explicit(place, memory_order_acquire);
	if (found)
		return found;
	struct symbol *symbol = make_symbol(symtab, index);
	if (atomic_compare_exchange_strong(place, &found, symbol))
		return symbol;
	free(symbol);
	return found;
}

const struct symbol *symtab_at(const struct symtab *symtab, size_t index)
{
	return index < symtab->count ? symbol_at(symtab, index) : NULL;
}

bool symtab_bounds(const struct symtab *symtab, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct symtab_private *private = symtab->private;
	if (!symtab->count)
		return false;
	*ret_start = start_at(private, 0);
	*ret_end = start_at(private, symtab->count - 1) + size_at(private, symtab->count - 1);
	return true;
}

const struct symbol *symtab_by_name(const struct symtab *symtab, const char *name)
{
	const struct symtab_private *private = symtab->private;
	for (size_t i = 0; i < symtab->count; i++) {
		cleanup_free char *readable = readable_name_at(symtab, i);
		if (!strcmp(readable ? readable : private->names + private->symbols[i].name, name))
			return symbol_at(symtab, i);
	}
	return NULL;
}

/* ---- lookup ---- */

/* The last interval that starts at or before `addr`, plus one; 0 when none does. */
static size_t interval_after(const struct symtab_private *private, uint64_t addr)
{
	size_t count = private->interval_count;
	if (!count || addr < private->base)
		return 0;
	if (addr >= interval_start(private, count - 1))
		return count;
	const uint32_t *bucket = &private->buckets[(addr - private->base) >> private->bucket_shift];
	size_t at = bucket[0], left = bucket[1] - bucket[0] + 1;
	while (left > 1) {
		size_t half = left / 2;
		at = interval_start(private, at + half) <= addr ? at + half : at;
		left -= half;
	}
	return at + 1;
}

/* The number of the symbol that begins last before the address, or OVERLAP_NONE. */
static uint32_t owner_of(const struct symtab_private *private, uint64_t addr)
{
	size_t after = interval_after(private, addr);
	if (!after)
		return OVERLAP_NONE;
	return private->owners ? private->owners[after - 1] : (uint32_t)(after - 1);
}

static const struct symbol *symbol_if_covers(const struct symtab *symtab, uint32_t owner, uint64_t addr)
{
	if (owner == OVERLAP_NONE)
		return NULL;
	const struct symbol *made = made_at(symtab->private, owner);
	uint64_t start = made ? made->start : start_at(symtab->private, owner);
	uint64_t end = made ? made->end : start + size_at(symtab->private, owner);
	if (addr >= end && addr != start)
		return NULL;
	return made ? made : symbol_at(symtab, owner);
}

const struct symbol *symtab_find(const struct symtab *symtab, uint64_t addr)
{
	return symbol_if_covers(symtab, owner_of(symtab->private, addr), addr);
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

const struct symbol *symtab_find_around(const struct symtab *symtab, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct symtab_private *private = symtab->private;
	size_t after = interval_after(private, addr);
	uint64_t start = after ? interval_start(private, after - 1) : 0;
	uint64_t end = after < private->interval_count ? interval_start(private, after) : UINT64_MAX;
	uint32_t owner = owner_of(private, addr);
	const struct symbol *found = symbol_if_covers(symtab, owner, addr);
	if (owner != OVERLAP_NONE) {
		uint64_t symbol_start = start_at(private, owner), symbol_end = symbol_start + size_at(private, owner);
		symbol_end = greater(symbol_end, symbol_start + 1); /* without a size it covers its start */
		if (!found)
			start = greater(start, symbol_end);
		else if (symbol_end < end)
			end = symbol_end;
	}
	*ret_start = start;
	*ret_end = end;
	return found;
}

static void prefetch_bucket(const struct symtab_private *private, uint64_t addr)
{
	if (private->interval_count && addr >= private->base && addr < interval_start(private, private->interval_count - 1))
		__builtin_prefetch(&private->buckets[(addr - private->base) >> private->bucket_shift]);
}

void symtab_find_many(const struct symtab *symtab, const uint64_t *addrs, size_t count, const struct symbol **ret)
{
	uint32_t owners[SYMTAB_MANY];
	for (size_t i = 0; i < count; i++)
		prefetch_bucket(symtab->private, addrs[i]);
	for (size_t i = 0; i < count; i++) {
		owners[i] = owner_of(symtab->private, addrs[i]);
		if (owners[i] != OVERLAP_NONE)
			__builtin_prefetch(&symtab->private->made[owners[i] / MADE_BLOCK]);
	}
	for (size_t i = 0; i < count; i++)
		if (owners[i] != OVERLAP_NONE)
			prefetch_made(symtab->private, owners[i]);
	for (size_t i = 0; i < count; i++) {
		ret[i] = symbol_if_covers(symtab, owners[i], addrs[i]);
		if (ret[i])
			__builtin_prefetch(ret[i]->name);
	}
}

/* ---- the file behind it ---- */

static void set_functions(struct symtab *symtab, struct functions *functions)
{
	symtab->private->functions = functions;
	symtab->has_functions = true;
}

void symtab_set_segments(struct symtab *symtab, const struct elf_file *runtime, const struct elf_file *symbols)
{
	symtab->segments = mem_zalloc_array(runtime->segment_count + 1, sizeof(*symtab->segments));
	for (uint32_t i = 0; i < runtime->segment_count; i++) {
		const struct elf_segment *segment = &runtime->segments[i];
		if (segment->type == PT_LOAD)
			symtab->segments[symtab->segment_count++] =
				(struct symtab_segment){segment->offset, segment->filesz, segment->vaddr};
	}
	if (symtab->path && (elf_section(symbols, ".debug_info") || elf_section(symbols, ".zdebug_info")))
		set_functions(symtab, functions_create(symtab->path));
}

void symtab_set_relocation(struct symtab *symtab, uint64_t relocation)
{
	symtab->segments = mem_zalloc(sizeof(*symtab->segments));
	symtab->segments[0] = (struct symtab_segment){.size = UINT64_MAX, .vaddr = 0 - relocation};
	symtab->segment_count = 1;
	if (symtab->path)
		set_functions(symtab, functions_create(symtab->path));
}

void symtab_set_layout(struct symtab *symtab, const struct elf_file *module, const uint64_t *layout, uint64_t base)
{
	symtab->segments = mem_zalloc_array(module->section_count + 1, sizeof(*symtab->segments));
	for (uint32_t i = 0; i < module->section_count; i++)
		if (layout[i] != ELF_NOT_PLACED)
			symtab->segments[symtab->segment_count++] =
				(struct symtab_segment){base + layout[i], module->sections[i].size, debug_info_section_address(i, 0)};
	if (symtab->path)
		set_functions(symtab, functions_create(symtab->path));
}

void symtab_set_jitdump(struct symtab *symtab, const struct jitdump *dump)
{
	set_functions(symtab, functions_create_jitdump(dump));
}

void symtab_set_carried(struct symtab *symtab, const struct carried_file *file, bool demangle)
{
	for (size_t i = 0, k = 0; demangle && i < symtab->count; i++) {
		while (k < file->symbol_count && file->symbols[k].start < start_at(symtab->private, i))
			k++;
		symtab->private->symbols[i].mangled = k < file->symbol_count && file->symbols[k].mangled;
	}
	symtab->is_carried = true;
	symtab->private->name_count = file->of_count;
	symtab->segments = mem_zalloc_array(file->segment_count + 1, sizeof(*symtab->segments));
	for (size_t i = 0; i < file->segment_count; i++)
		symtab->segments[symtab->segment_count++] =
			(struct symtab_segment){file->segments[i].dso_addr, file->segments[i].size, file->segments[i].vaddr};
	if (file->has_functions)
		set_functions(symtab, functions_create_carried(file));
}

uint64_t symtab_vaddr(const struct symtab *symtab, uint64_t dso_addr)
{
	for (size_t i = 0; i < symtab->segment_count; i++) {
		const struct symtab_segment *segment = &symtab->segments[i];
		if (dso_addr >= segment->dso_addr && dso_addr - segment->dso_addr < segment->size)
			return dso_addr - segment->dso_addr + segment->vaddr;
	}
	return dso_addr;
}

size_t symtab_functions(const struct symtab *symtab, uint64_t dso_addr, const struct symbol *symbol, const struct code_function **ret)
{
	struct functions *functions = symtab->private->functions;
	return functions ? functions_at(functions, symtab_vaddr(symtab, dso_addr), symbol, ret) : 0;
}

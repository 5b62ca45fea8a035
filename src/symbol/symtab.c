/* Symbol tables: settling of raw symbol lists, and lookup.
 *
 * Settling follows the kernel's perf step by step, because which name an address gets is what people compare: symbols without a size are
 * stretched to the next one, then of all symbols with one address the best is kept. Both are done again after each table that was added.
 *
 * Lookup: starts of the intervals in one packed array (4 bytes each, so that a search touches few cache lines), and buckets of addresses
 * that say between which of them to search. Without overlaps interval i is symbol i; else `owners` says which symbol it is, and `intervals`
 * where a symbol begins.
 *
 * Most symbols are never looked up, so of each only what its file says of it is kept, in 12 bytes. Who first looks one up makes a struct
 * symbol of it and publishes that with release order; should another thread have done so meanwhile, his own goes. That is when a name is
 * demangled, which is slow (1 µs and more).
 *
 * Names: one block for all. Those of a file that has many of them are copied when they are looked up, out of the file, which stays mapped.
 */
#include "symbol/symtab.h"

#include "base/cleanup.h"
#include "base/radix.h"
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

/* A symbol as it is kept. */
struct packed_symbol {
	uint32_t name; /* where it begins in the block, or in the file */
	uint32_t size; /* SIZE_IS_LARGE: in `large_sizes` */
	uint8_t binding, type;
	bool mangled : 1, in_file : 1, ifunc_alias : 1;
};

#define SIZE_IS_LARGE UINT32_MAX

/* Names that are read from a file before it leaves our memory: each time costs a system call, and page faults afterwards. */
enum { NAMES_AT_ONCE = 64 };

struct large_size {
	uint32_t index; /* of the symbol */
	uint64_t size;
};

struct symtab_private {
	uint64_t base;	      /* where the first interval begins */
	uint32_t *starts;     /* of intervals, sorted: their distance from `base` */
	uint64_t *far_starts; /* instead where that would be too far; else NULL */
	uint32_t *owners;     /* symbol of each interval, or OVERLAP_NONE; NULL: interval i is symbol i */
	size_t interval_count;
	/* Bucket b is the interval that covers base + (b << bucket_shift): a binary search has only what lies between two buckets
	 * left. */
	uint32_t *buckets;
	unsigned int bucket_shift;
	struct packed_symbol *symbols;
	uint32_t *intervals;		    /* the first one of each symbol; NULL without overlaps */
	VEC(struct large_size) large_sizes; /* by index */
	struct symbol *_Atomic *made;	    /* of each symbol; NULL: nobody has looked it up */
	char *names;			    /* one block */
	struct mapping file;		    /* where the others are */
	size_t name_limit;		    /* bytes at which names are cut */
	bool sparing;
	atomic_uint names_read;	     /* from the file */
	struct functions *functions; /* NULL: the file has no debug information that fits */
	size_t name_count;	     /* symbols that the file has: how long a readable name may be depends on it */
};

void symbol_builder_deinit(struct symbol_builder *builder)
{
	vec_deinit(&builder->symbols);
	arena_deinit(&builder->names);
	free(take_pointer(builder->text));
}

/* The readable name of a symbol for comparing; *ret_owned is to be freed. */
static const char *readable_name(const struct symbol *symbol, char **ret_owned)
{
	*ret_owned = symbol->mangled && demangle_candidate(symbol->name) ? demangle(symbol->name, DEMANGLE_LIMIT) : NULL;
	return *ret_owned ? *ret_owned : symbol->name;
}

static bool name_preferred(const char *a, const char *b)
{
	if (strspn(a, "_") != strspn(b, "_"))
		return strspn(a, "_") < strspn(b, "_");
	if (strlen(a) != strlen(b))
		return strlen(a) > strlen(b);
	/* Kernels before 4.17 had "SyS_x" as aliases of "sys_x". */
	return strncmp(a, "SyS", 3) && strncmp(a, "compat_SyS", 10);
}

bool symbol_preferred(const struct symbol *a, const struct symbol *b)
{
	bool sized_a = a->end != a->start, sized_b = b->end != b->start;
	if (sized_a != sized_b)
		return sized_a;
	if (a->type != b->type && (a->type == STT_NOTYPE || b->type == STT_NOTYPE))
		return b->type == STT_NOTYPE;
	if ((a->binding == STB_WEAK) != (b->binding == STB_WEAK))
		return b->binding == STB_WEAK;
	if ((a->binding == STB_GLOBAL) != (b->binding == STB_GLOBAL))
		return a->binding == STB_GLOBAL;
	if (!strcmp(a->name, b->name))
		return true;
	char *owned_a, *owned_b;
	const char *name_a = readable_name(a, &owned_a), *name_b = readable_name(b, &owned_b);
	bool preferred = name_preferred(name_a, name_b);
	free(owned_a);
	free(owned_b);
	return preferred;
}

static uint64_t start_of(const void *context, uint32_t index)
{
	return ((const struct symbol *)context)[index].start;
}

/* Moves each symbol to its place, order[i] being where the one of place i is. Each cycle of the permutation is walked once: a copy would
 * double what the largest files take. */
static void put_in_order(struct symbol *symbols, uint32_t *order, size_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct symbol first = symbols[i];
		uint32_t place = i;
		while (order[place] != i) {
			uint32_t from = order[place];
			symbols[place] = symbols[from];
			order[place] = place;
			place = from;
		}
		symbols[place] = first;
		order[place] = place;
	}
}

/* Symbols of one address stay in the order of their addition. */
static void sort_by_start(struct symbol_builder *builder)
{
	struct symbol *symbols = builder->symbols.data;
	size_t count = builder->symbols.len, i = 1;
	while (i < count && symbols[i - 1].start <= symbols[i].start)
		i++;
	if (i >= count)
		return;
	cleanup_free uint32_t *order = mem_alloc_array(count, sizeof(*order));
	for (i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	radix_sort(order, count, start_of, symbols);
	put_in_order(symbols, order, count);
}

enum { PAGE = 4096 };

/* The end of the page behind the one that `address` is in, or begins. */
static uint64_t page_behind(uint64_t address)
{
	uint64_t last = UINT64_MAX & ~(uint64_t)(PAGE - 1);
	return address > last - PAGE ? UINT64_MAX : ((address + PAGE - 1) & ~(uint64_t)(PAGE - 1)) + PAGE;
}

/* Kernel and modules lie far from each other: the last symbol of each ends with its page. */
static uint64_t stretched_end(const struct symbol *symbol, const struct symbol *next, bool kallsyms)
{
	return kallsyms && symbol->index != next->index ? page_behind(symbol->end) : next->start;
}

static void stretch_unsized(struct symbol_builder *builder, bool kallsyms)
{
	struct symbol *symbols = builder->symbols.data;
	size_t count = builder->symbols.len;
	for (size_t i = 0; i + 1 < count; i++)
		if (symbols[i].end == symbols[i].start)
			symbols[i].end = stretched_end(&symbols[i], &symbols[i + 1], kallsyms);
	if (count && symbols[count - 1].end == symbols[count - 1].start)
		symbols[count - 1].end = page_behind(symbols[count - 1].start);
}

static void keep_one_of_each(struct symbol_builder *builder)
{
	struct symbol *symbols = builder->symbols.data;
	size_t kept = 0;
	for (size_t i = 0; i < builder->symbols.len; i++) {
		if (!kept || symbols[kept - 1].start != symbols[i].start) {
			symbols[kept++] = symbols[i];
			continue;
		}
		struct symbol *best = &symbols[kept - 1];
		bool ifunc = best->ifunc_alias || symbols[i].ifunc_alias;
		if (symbol_preferred(best, &symbols[i])) {
			best->ifunc_alias = ifunc || symbols[i].type == STT_GNU_IFUNC;
		} else {
			ifunc |= best->type == STT_GNU_IFUNC;
			*best = symbols[i];
			best->ifunc_alias = ifunc;
		}
	}
	builder->symbols.len = kept;
}

void symbol_builder_settle(struct symbol_builder *builder, bool kallsyms)
{
	for (size_t i = 0; builder->demangle && i < builder->symbols.len; i++)
		builder->symbols.data[i].mangled = true;
	sort_by_start(builder);
	stretch_unsized(builder, kallsyms);
	keep_one_of_each(builder);
}

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

static void pack_symbols(struct symtab_private *private, const struct symbol *symbols, size_t count)
{
	private->symbols = mem_alloc_array(count, sizeof(*private->symbols));
	for (size_t i = 0; i < count; i++) {
		uint64_t size = symbols[i].end - symbols[i].start;
		bool large = size >= SIZE_IS_LARGE;
		private->symbols[i] = (struct packed_symbol){.size = large ? SIZE_IS_LARGE : (uint32_t)size,
							     .binding = symbols[i].binding,
							     .type = symbols[i].type,
							     .mangled = symbols[i].mangled,
							     .ifunc_alias = symbols[i].ifunc_alias};
		if (large)
			vec_push(&private->large_sizes, (struct large_size){(uint32_t)i, size});
	}
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

struct symtab *symtab_build(struct symbol_builder *builder, int source, const char *path)
{
	struct symtab *symtab = mem_zalloc(sizeof(*symtab));
	struct symtab_private *private = mem_zalloc(sizeof(*private));
	const struct symbol *symbols = builder->symbols.data;
	size_t count = builder->symbols.len;
	private->name_limit = name_limit(builder);
	private->sparing = builder->sparing;
	private->made = mem_zalloc_array(count, sizeof(*private->made));
	take_file(private, builder);
	pack_symbols(private, symbols, count);
	place_names(private, symbols, count);
	place_intervals(private, symbols, count);
	make_buckets(private);
	symbol_builder_deinit(builder);
	if (private->sparing && private->file.data)
		mapping_forget(private->file.data, private->file.size);
	symtab->count = count;
	symtab->source = source;
	symtab->path = path ? mem_strdup(path) : NULL;
	symtab->private = private;
	private->name_count = count;
	return symtab;
}

size_t symtab_bytes(const struct symtab *symtab)
{
	enum { KEPT = 30, MADE = sizeof(struct symbol) + 64 };
	size_t made = 0;
	for (size_t i = 0; i < symtab->count; i++)
		made += atomic_load_explicit(&symtab->private->made[i], memory_order_relaxed) != NULL;
	return sizeof(*symtab) + symtab->count * KEPT + made * MADE;
}

void symtab_destroy(struct symtab *symtab)
{
	if (!symtab)
		return;
	struct symtab_private *private = symtab->private;
	for (size_t i = 0; i < symtab->count; i++)
		free(private->made[i]);
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
	if (!packed->in_file && !(packed->mangled && demangle_candidate(symtab->private->names + packed->name)))
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
	struct symbol *_Atomic *place = &symtab->private->made[index];
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
	const struct symbol *made = atomic_load_explicit(&symtab->private->made[owner], memory_order_acquire);
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
			__builtin_prefetch(&symtab->private->made[owners[i]]);
	}
	for (size_t i = 0; i < count; i++)
		if (owners[i] != OVERLAP_NONE)
			__builtin_prefetch(atomic_load_explicit(&symtab->private->made[owners[i]], memory_order_relaxed));
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

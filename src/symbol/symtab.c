/* Symbol tables: settling of raw symbol lists, and lookup.
 *
 * Settling follows the kernel's perf step by step, because which name an address gets is what people compare: symbols without a size are
 * stretched to the next one, then of all symbols with one address the best is kept. Both are done again after each table that was added.
 *
 * Lookup: starts of the intervals in one packed array (8 bytes each, so that a search touches few cache lines), and buckets of addresses
 * that say between which of them to search. Without overlaps interval i is symbol i; else `owners` says which symbol it is.
 *
 * Names: one block for all. Demangling is slow (1 µs and more) and most symbols are never looked up, so it is done when a lookup first
 * returns the symbol, by the thread that has claimed it; then its `mangled` is cleared with release order.
 */
#include "symbol/symtab.h"

#include "base/cleanup.h"
#include "base/radix.h"
#include "symbol/carried/carried.h"
#include "symbol/demangle.h"
#include "symbol/dwarf/debug_info.h"
#include "symbol/dwarf/functions.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/elf/overlap.h"

#include <elf.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* What symbol.mangled says. */
enum { NAME_READABLE, NAME_MANGLED, NAME_IN_WORK };

struct symtab_private {
	uint64_t *starts; /* of intervals, sorted */
	uint32_t *owners; /* symbol of each interval, or OVERLAP_NONE; NULL: interval i is symbol i */
	size_t interval_count;
	/* Bucket b is the interval that covers starts[0] + (b << bucket_shift): a binary search has only what lies between two buckets
	 * left. */
	uint32_t *buckets;
	unsigned int bucket_shift;
	char *names; /* one block, which may hold more than them */
	size_t name_bytes;
	struct functions *functions; /* NULL: the file has no debug information that fits */
	size_t name_count;	     /* symbols that the file has: how long a readable name may be depends on it */
};

void symbol_builder_deinit(struct symbol_builder *builder)
{
	vec_deinit(&builder->symbols);
	arena_deinit(&builder->names);
	free(builder->block);
	builder->block = NULL;
}

/* The readable name of a symbol for comparing; *ret_owned is to be freed. */
static const char *readable_name(const struct symbol *symbol, char **ret_owned)
{
	*ret_owned = symbol->mangled ? demangle(symbol->name, DEMANGLE_LIMIT) : NULL;
	return *ret_owned ? *ret_owned : symbol->name;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

static bool name_preferred(const char *a, const char *b)
{
	if (underscores(a) != underscores(b))
		return underscores(a) < underscores(b);
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

/* Symbols of one address stay in the order of their addition. */
static void sort_by_start(struct symbol_builder *builder)
{
	struct symbol *symbols = builder->symbols.data;
	size_t count = builder->symbols.len, i = 1;
	while (i < count && symbols[i - 1].start <= symbols[i].start)
		i++;
	if (i >= count)
		return;
	uint32_t *order = mem_alloc_array(count, sizeof(*order));
	for (i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	radix_sort(order, count, start_of, symbols);
	struct symbol *sorted = mem_alloc_array(count, sizeof(*sorted));
	for (i = 0; i < count; i++)
		sorted[i] = symbols[order[i]];
	free(order);
	free(symbols);
	builder->symbols.data = sorted;
	builder->symbols.cap = count;
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
	if (builder->demangle)
		for (size_t i = 0; i < builder->symbols.len; i++)
			builder->symbols.data[i].mangled = demangle_candidate(builder->symbols.data[i].name) ? NAME_MANGLED : NAME_READABLE;
	sort_by_start(builder);
	stretch_unsized(builder, kallsyms);
	keep_one_of_each(builder);
}

enum { LONG_NAME = 4096 };

/* Copies the names into one block. In a hostile file all symbols can share one huge name: then names are cut. */
static void gather_names(struct symtab_private *private, struct symbol *symbols, size_t count)
{
	size_t total = 0;
	for (size_t i = 0; i < count; i++)
		total += strlen(symbols[i].name) + 1;
	size_t limit = total / LONG_NAME <= count + LONG_NAME ? SIZE_MAX : LONG_NAME;
	if (limit == LONG_NAME)
		total = count * (LONG_NAME + 1);
	char *at = private->names = mem_alloc(total);
	for (size_t i = 0; i < count; i++) {
		size_t len = strnlen(symbols[i].name, limit);
		symbols[i].name = memcpy(at, symbols[i].name, len);
		at[len] = '\0';
		at += len + 1;
	}
	private->name_bytes = (size_t)(at - private->names);
}

/* About one bucket an interval. */
static void make_buckets(struct symtab_private *private)
{
	size_t count = private->interval_count;
	if (!count)
		return;
	const uint64_t *starts = private->starts;
	uint64_t span = starts[count - 1] - starts[0];
	while (span >> private->bucket_shift > count)
	private->bucket_shift++;
	size_t buckets = (size_t)(span >> private->bucket_shift) + 2, interval = 0;
	private->buckets = mem_alloc_array(buckets, sizeof(*private->buckets));
	for (size_t bucket = 0; bucket < buckets; bucket++) {
		while (interval + 1 < count && starts[interval + 1] - starts[0] <= (uint64_t)bucket << private->bucket_shift)
			interval++;
		private->buckets[bucket] = (uint32_t)interval;
	}
	private->buckets[buckets - 1] = (uint32_t)(count - 1);
}

struct symtab *symtab_build(struct symbol_builder *builder, int source, const char *path)
{
	struct symtab *symtab = mem_zalloc(sizeof(*symtab));
	struct symtab_private *private = mem_zalloc(sizeof(*private));
	size_t count = builder->symbols.len;
	struct symbol *symbols = count ? mem_resize(builder->symbols.data, count * sizeof(*symbols)) : NULL;
	builder->symbols.data = NULL;
	if (builder->block) {
		private->names = take_pointer(builder->block);
		private->name_bytes = builder->block_bytes;
	} else {
		gather_names(private, symbols, count);
	}
	symbol_builder_deinit(builder);
	for (size_t i = 0; i < count; i++)
		symbols[i].index = (uint32_t)i;
	private->interval_count = overlap_flatten(symbols, count, &private->starts, &private->owners);
	make_buckets(private);
	symtab->symbols = symbols;
	symtab->count = count;
	symtab->source = source;
	symtab->path = path ? mem_strdup(path) : NULL;
	symtab->private = private;
	private->name_count = count;
	return symtab;
}

static bool in_block(const struct symtab_private *private, const char *name)
{
	return name >= private->names && name < private->names + private->name_bytes;
}

void symtab_destroy(struct symtab *symtab)
{
	if (!symtab)
		return;
	for (size_t i = 0; i < symtab->count; i++)
		if (!in_block(symtab->private, symtab->symbols[i].name))
			free((char *)symtab->symbols[i].name);
	functions_destroy(symtab->private->functions);
	free(symtab->segments);
	free(symtab->private->starts);
	free(symtab->private->buckets);
	free(symtab->private->owners);
	free(symtab->private->names);
	free(symtab->private);
	free((void *)symtab->symbols);
	free((char *)symtab->path);
	free(symtab);
}

/* Makes the name readable. Of many threads at once the first one does so, and the others wait for it. */
static const struct symbol *with_readable_name(const struct symtab *symtab, size_t index)
{
	struct symbol *symbol = (struct symbol *)&symtab->symbols[index];
	uint8_t state = __atomic_load_n(&symbol->mangled, __ATOMIC_ACQUIRE);
	if (state == NAME_MANGLED &&
	    __atomic_compare_exchange_n(&symbol->mangled, &state, NAME_IN_WORK, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		char *readable = demangle(symbol->name, demangle_limit(symtab->private->name_count));
		if (readable)
			symbol->name = readable;
		__atomic_store_n(&symbol->mangled, NAME_READABLE, __ATOMIC_RELEASE);
		return symbol;
	}
	while (state != NAME_READABLE) {
		sched_yield();
		state = __atomic_load_n(&symbol->mangled, __ATOMIC_ACQUIRE);
	}
	return symbol;
}

const struct symbol *symtab_at(const struct symtab *symtab, size_t index)
{
	return index < symtab->count ? with_readable_name(symtab, index) : NULL;
}

const char **symtab_raw_names(const struct symtab *symtab)
{
	const char **names = mem_alloc_array(symtab->count + 1, sizeof(*names));
	const char *next = symtab->private->names;
	for (size_t i = 0; i < symtab->count; i++) {
		const char *name = symtab->symbols[i].name;
		/* In the place of a readable one is that behind the name before: such names are one behind the other in their block. */
		names[i] = in_block(symtab->private, name) ? name : next;
		next = names[i] + strlen(names[i]) + 1;
	}
	return names;
}

/* The last interval that starts at or before `addr`, plus one; 0 when none does. */
static size_t interval_after(const struct symtab_private *private, uint64_t addr)
{
	const uint64_t *starts = private->starts;
	size_t count = private->interval_count;
	if (!count || addr < starts[0])
		return 0;
	if (addr >= starts[count - 1])
		return count;
	const uint32_t *bucket = &private->buckets[(addr - starts[0]) >> private->bucket_shift];
	const uint64_t *base = starts + bucket[0];
	size_t left = bucket[1] - bucket[0] + 1;
	while (left > 1) {
		size_t half = left / 2;
		base = base[half] <= addr ? base + half : base;
		left -= half;
	}
	return (size_t)(base - starts) + 1;
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
	const struct symbol *symbol = &symtab->symbols[owner];
	if (addr >= symbol->end && addr != symbol->start)
		return NULL;
	return with_readable_name(symtab, owner);
}

const struct symbol *symtab_find(const struct symtab *symtab, uint64_t addr)
{
	return symbol_if_covers(symtab, owner_of(symtab->private, addr), addr);
}

static void prefetch_bucket(const struct symtab_private *private, uint64_t addr)
{
	if (private->interval_count && addr >= private->starts[0] && addr < private->starts[private->interval_count - 1])
		__builtin_prefetch(&private->buckets[(addr - private->starts[0]) >> private->bucket_shift]);
}

void symtab_find_many(const struct symtab *symtab, const uint64_t *addrs, size_t count, const struct symbol **ret)
{
	uint32_t owners[SYMTAB_MANY];
	for (size_t i = 0; i < count; i++)
		prefetch_bucket(symtab->private, addrs[i]);
	for (size_t i = 0; i < count; i++) {
		owners[i] = owner_of(symtab->private, addrs[i]);
		if (owners[i] != OVERLAP_NONE)
			__builtin_prefetch(&symtab->symbols[owners[i]]);
	}
	for (size_t i = 0; i < count; i++) {
		ret[i] = symbol_if_covers(symtab, owners[i], addrs[i]);
		if (ret[i])
			__builtin_prefetch(ret[i]->name);
	}
}

const struct symbol *symtab_by_name(const struct symtab *symtab, const char *name)
{
	for (size_t i = 0; i < symtab->count; i++) {
		const struct symbol *symbol = symtab_at(symtab, i);
		if (!strcmp(symbol->name, name))
			return symbol;
	}
	return NULL;
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
		struct symbol *symbol = (struct symbol *)&symtab->symbols[i];
		while (k < file->symbol_count && file->symbols[k].start < symbol->start)
			k++;
		symbol->mangled = k < file->symbol_count && file->symbols[k].mangled ? NAME_MANGLED : NAME_READABLE;
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

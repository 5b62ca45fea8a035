/* Settling of raw symbol lists.
 *
 * It follows the kernel's perf step by step, because which name an address gets is what people compare: symbols without a size are
 * stretched to the next one, then of all symbols with one address the best is kept. Both are done again after each table that was added.
 */
#include "symbol/symtab.h"

#include "base/cleanup.h"
#include "base/radix.h"
#include "symbol/demangle.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

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

uint64_t symbol_stretched_end(uint64_t address)
{
	uint64_t last = UINT64_MAX & ~(uint64_t)(PAGE - 1);
	return address > last - PAGE ? UINT64_MAX : ((address + PAGE - 1) & ~(uint64_t)(PAGE - 1)) + PAGE;
}

/* Kernel and modules lie far from each other: the last symbol of each ends with its page. */
static uint64_t stretched_end(const struct symbol *symbol, const struct symbol *next, bool kallsyms)
{
	return kallsyms && symbol->index != next->index ? symbol_stretched_end(symbol->end) : next->start;
}

static void stretch_unsized(struct symbol_builder *builder, bool kallsyms)
{
	struct symbol *symbols = builder->symbols.data;
	size_t count = builder->symbols.len;
	for (size_t i = 0; i + 1 < count; i++)
		if (symbols[i].end == symbols[i].start)
			symbols[i].end = stretched_end(&symbols[i], &symbols[i + 1], kallsyms);
	if (count && symbols[count - 1].end == symbols[count - 1].start)
		symbols[count - 1].end = symbol_stretched_end(symbols[count - 1].start);
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

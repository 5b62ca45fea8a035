/* Names of functions, straight from symbol tables. */
#include "symbol/dwarf/function_names.h"

#include "base/text.h"
#include "symbol/demangle.h"
#include "symbol/kernel/kallsyms.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

void function_names_deinit(struct function_names *names)
{
	vec_deinit(&names->items);
	arena_deinit(&names->arena);
}

static int compare(const void *a, const void *b)
{
	const struct function_name *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void finish(struct function_names *names)
{
	size_t to = 0;

	if (!names->items.len)
		return;
	qsort(names->items.data, names->items.len, sizeof(*names->items.data), compare);
	for (size_t i = 1; i < names->items.len; i++)
		if (compare(&names->items.data[to], &names->items.data[i]))
			names->items.data[++to] = names->items.data[i];
	names->items.len = to + 1;
}

static void add_table(const struct elf_file *elf, uint32_t type, bool readable, struct function_names *ret)
{
	struct elf_symbol symbol;

	for (uint32_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *table = &elf->sections[i];
		if (table->type != type)
			continue;
		size_t limit = demangle_limit(elf_symbol_count(elf, table));
		for (uint64_t at = 0; elf_symbol_at(elf, table, at, &symbol); at++) {
			unsigned int kind = symbol.info & 0xf;
			if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || symbol.section == SHN_UNDEF || !*symbol.name)
				continue;
			char *name = readable && demangle_candidate(symbol.name) ? demangle(symbol.name, limit) : NULL;
			const char *linked = arena_strdup(&ret->arena, symbol.name);
			vec_push(&ret->items, (struct function_name){.name = name ? arena_strdup(&ret->arena, name) : linked,
								     .linked = linked,
								     .address = symbol.value,
								     .size = symbol.size,
								     .indirect = kind == STT_GNU_IFUNC});
			free(name);
		}
	}
}

void function_names_of_program(const struct symbol_files *files, bool demangle, struct function_names *ret)
{
	*ret = (struct function_names){0};
	if (files->symbols) {
		add_table(files->symbols, SHT_SYMTAB, demangle, ret);
		add_table(files->symbols, SHT_DYNSYM, demangle, ret);
	}
	if (files->runtime && files->runtime != files->symbols)
		add_table(files->runtime, SHT_DYNSYM, demangle, ret);
	finish(ret);
}

struct kernel_search {
	const char *module;
	struct function_names *names;
	uint64_t any_address;
};

static bool add_line(void *context, uint64_t address, char type, const char *name, const char *module)
{
	struct kernel_search *search = context;
	bool same = search->module ? module && !strcmp(module, search->module) : !module;

	search->any_address |= address;
	if (!same || !strchr("tTwW", type))
		return true;
	const char *copy = arena_strdup(&search->names->arena, name);
	vec_push(&search->names->items, (struct function_name){.name = copy, .linked = copy, .module = search->module, .address = address});
	return true;
}

struct error *function_names_of_kernel(const char *kallsyms, const char *module, struct function_names *ret)
{
	*ret = (struct function_names){0};
	struct kernel_search search = {module, ret, 0};
	struct error *error = kallsyms_visit(kallsyms, add_line, &search);

	if (error) {
		function_names_deinit(ret);
		return error;
	}
	finish(ret);
	return NULL;
}

/* The whole name, or its end from a "::" on. */
static bool matches(const char *pattern, bool qualified, const char *name)
{
	if (str_glob_match(pattern, name))
		return true;
	for (const char *at = qualified ? strstr(name, "::") : NULL; at; at = strstr(at, "::"))
		if (str_glob_match(pattern, at += 2))
			return true;
	return false;
}

const struct function_name *function_names_next(const struct function_names *names, const char *pattern, size_t *at)
{
	bool qualified = strstr(pattern, "::");

	while (*at < names->items.len) {
		const struct function_name *one = &names->items.data[(*at)++];
		if (matches(pattern, qualified, one->name) || !strcmp(pattern, one->linked))
			return one;
	}
	return NULL;
}

const struct function_name *function_names_at(const struct function_names *names, uint64_t address)
{
	const struct function_name *best = NULL;

	for (size_t i = 0; i < names->items.len; i++) {
		const struct function_name *one = &names->items.data[i];
		if (one->address <= address && (!best || one->address > best->address))
			best = one;
	}
	return best && (!best->size || address < best->address + best->size || address == best->address) ? best : NULL;
}

/* Procedure linkage tables: code that jumps to functions of other files.
 *
 * Entry n of .plt belongs to relocation n of .rela.plt (behind a header entry). The x86 tables .plt.sec and .plt.got are not in any order:
 * there each entry's "jmp *slot(%rip)" is decoded, and the relocation of that slot names the function.
 */
#include "symbol/elf/plt.h"

#include "base/mem.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct plt_shape {
	uint64_t header_size, entry_size;
};

static struct plt_shape plt_shape(const struct elf_file *elf, const struct elf_section *plt)
{
	const struct arch *arch = elf_arch(elf);
	if (arch && arch->code.plt_entry)
		return (struct plt_shape){arch->code.plt_header, arch->code.plt_entry};
	return (struct plt_shape){plt->entsize, plt->entsize};
}

static void add_entry(const struct elf_file *elf, const struct elf_section *dynsym, uint64_t symbol_index, uint64_t start, uint64_t size,
		      struct symbol_builder *builder)
{
	struct elf_symbol symbol;
	if (!elf_symbol_at(elf, dynsym, symbol_index, &symbol))
		symbol.name = "";
	const char *name = arena_printf(&builder->names, "%s@plt", symbol.name);
	symbol_builder_add(builder, start, size, STB_GLOBAL, STT_FUNC, name);
}

static void add_ordered(const struct elf_file *elf, const struct elf_section *dynsym, struct symbol_builder *builder)
{
	const struct elf_section *plt = elf_section(elf, ".plt");
	const struct elf_section *relocations = elf_section(elf, ".rela.plt");
	if (!relocations)
		relocations = elf_section(elf, ".rel.plt");
	if (!plt || !relocations || relocations->link >= elf->section_count || &elf->sections[relocations->link] != dynsym)
		return;
	struct plt_shape shape = plt_shape(elf, plt);
	struct elf_relocation relocation;
	uint64_t at = shape.header_size;
	for (uint64_t i = 0; at < plt->size && shape.entry_size && elf_relocation_at(elf, relocations, i, &relocation); i++) {
		add_entry(elf, dynsym, relocation.symbol, plt->offset + at, shape.entry_size, builder);
		at += shape.entry_size;
	}
}

static int compare_relocations(const void *a, const void *b)
{
	const struct elf_relocation *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

struct relocation_list {
	VEC(struct elf_relocation) entries; /* sorted by slot */
};

/* `own`: also those that put an address of the file itself somewhere. */
static void gather_relocations(const struct elf_file *elf, bool own, struct relocation_list *list)
{
	static const char *const names[] = {".rela.plt", ".rela.dyn", ".rel.plt", ".rel.dyn"};
	struct elf_relocation relocation;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct elf_section *section = elf_section(elf, names[i]);
		for (uint64_t k = 0; section && elf_relocation_at(elf, section, k, &relocation); k++)
			if (relocation.symbol || (own && relocation.addend))
				vec_push(&list->entries, relocation);
	}
	if (list->entries.len)
		qsort(list->entries.data, list->entries.len, sizeof(relocation), compare_relocations);
}

static const struct elf_relocation *find_relocation(const struct relocation_list *list, uint64_t slot)
{
	const struct elf_relocation key = {.offset = slot};
	return list->entries.len ? bsearch(&key, list->entries.data, list->entries.len, sizeof(key), compare_relocations) : NULL;
}

static void add_by_jump(const struct elf_file *elf, const struct elf_section *dynsym, const struct elf_section *plt,
			const struct relocation_list *list, struct symbol_builder *builder)
{
	uint64_t step = plt->entsize == 8 ? 8 : 16;
	const struct arch *arch = elf_arch(elf);
	const uint8_t *code = elf_section_data(elf, plt);
	for (uint64_t at = 0; code && at + 8 <= plt->size; at += step) {
		uint64_t slot, left = plt->size - at;
		if (!arch->code.plt_slot(code + at, left < step ? left : step, plt->addr + at, &slot))
			continue;
		const struct elf_relocation *found = find_relocation(list, slot);
		if (found)
			add_entry(elf, dynsym, found->symbol, plt->offset + at, step, builder);
	}
}

void plt_symbols_add(const struct elf_file *elf, struct symbol_builder *builder)
{
	const struct elf_section *dynsym = elf_section(elf, ".dynsym");
	if (!dynsym || dynsym->type != SHT_DYNSYM)
		return;
	size_t before = builder->symbols.len;
	add_ordered(elf, dynsym, builder);
	const struct arch *arch = elf_arch(elf);
	if (arch && arch->code.plt_slot) {
		const struct elf_section *sec = elf_section(elf, ".plt.sec"), *got = elf_section(elf, ".plt.got");
		struct relocation_list list = {0};
		if (sec || got)
			gather_relocations(elf, false, &list);
		if (sec && list.entries.len)
			add_by_jump(elf, dynsym, sec, &list, builder);
		if (got && list.entries.len)
			add_by_jump(elf, dynsym, got, &list, builder);
		vec_deinit(&list.entries);
	}
	if (builder->symbols.len != before)
		symbol_builder_settle(builder, false);
}

struct plt_slots {
	const struct elf_file *elf;
	const struct elf_section *dynsym; /* NULL = no slots */
	struct relocation_list list;
};

struct plt_slots *plt_slots_create(const struct elf_file *elf)
{
	struct plt_slots *slots = mem_zalloc(sizeof(*slots));
	const struct elf_section *dynsym = elf_section(elf, ".dynsym");
	slots->elf = elf;
	slots->dynsym = dynsym && dynsym->type == SHT_DYNSYM ? dynsym : NULL;
	if (slots->dynsym)
		gather_relocations(elf, true, &slots->list);
	return slots;
}

void plt_slots_destroy(struct plt_slots *slots)
{
	if (!slots)
		return;
	vec_deinit(&slots->list.entries);
	free(slots);
}

const char *plt_slot_name(const struct plt_slots *slots, uint64_t address)
{
	const struct elf_relocation *found = find_relocation(&slots->list, address);
	struct elf_symbol symbol;
	return found && elf_symbol_at(slots->elf, slots->dynsym, found->symbol, &symbol) && *symbol.name ? symbol.name : NULL;
}

bool plt_slot_target(const struct plt_slots *slots, uint64_t address, uint64_t *ret)
{
	const struct elf_relocation *found = find_relocation(&slots->list, address);
	if (!found || found->symbol)
		return false;
	*ret = found->addend;
	return true;
}

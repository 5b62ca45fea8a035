/* Which ELF symbols count, and where they are.
 *
 * Functions, indirect functions, objects, and labels (no type) in sections that have "text" or "data" in their name; not undefined,
 * absolute, in sections that are not loaded, or ARM's mapping symbols ($a, $d, …). The same choice as the kernel's perf makes.
 */
#include "symbol/elf/elf_symbols.h"

#include "base/mem.h"
#include "base/text.h"
#include "symbol/elf/go_table.h"
#include "symbol/elf/plt.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

bool elf_has_symtab(const struct elf_file *elf)
{
	const struct elf_section *section = elf_section(elf, ".symtab");
	return section && section->type == SHT_SYMTAB;
}

bool elf_has_dynsym(const struct elf_file *elf)
{
	const struct elf_section *section = elf_section(elf, ".dynsym");
	return section && section->type == SHT_DYNSYM;
}

struct reading {
	const struct elf_file *symbols, *runtime;
	const struct elf_symbols_options *options;
	uint64_t *places; /* of a module's sections, ELF_NOT_PLACED for those that aren't in its text; NULL for other files */
};

static bool is_label(const struct elf_symbol *symbol)
{
	unsigned int visibility = ELF64_ST_VISIBILITY(symbol->other);
	return ELF64_ST_TYPE(symbol->info) == STT_NOTYPE && symbol->section != SHN_ABS && visibility != STV_HIDDEN &&
	       visibility != STV_INTERNAL;
}

static bool is_mapping_symbol(const struct elf_file *elf, const char *name)
{
	if (name[0] != '$' || !name[1] || (name[2] && name[2] != '.'))
		return false;
	const struct arch *arch = elf_arch(elf);
	return arch && arch->code.markers && strchr(arch->code.markers, name[1]);
}

static bool wanted(const struct reading *reading, const struct elf_symbol *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->info);
	if (!symbol->name[0] || symbol->section == SHN_UNDEF || symbol->section == SHN_ABS)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT && !is_label(symbol))
		return false;
	return !is_mapping_symbol(reading->symbols, symbol->name);
}

/* The section as it is in the file that runs: a debug file's own has no contents and so no true offset. */
static const struct elf_section *section_of(const struct reading *reading, const struct elf_symbol *symbol)
{
	if (symbol->section >= reading->symbols->section_count)
		return NULL;
	const struct elf_section *section = &reading->symbols->sections[symbol->section];
	if (!(section->flags & SHF_ALLOC))
		return NULL;
	if (section->type == SHT_NOBITS && symbol->section < reading->runtime->section_count)
		section = &reading->runtime->sections[symbol->section];
	if (reading->places && reading->places[symbol->section] == ELF_NOT_PLACED)
		return NULL;
	return section;
}

static uint64_t dso_address(const struct reading *reading, const struct elf_section *section, const struct elf_symbol *symbol)
{
	uint64_t value = symbol->value;
	const struct elf_symbols_options *options = reading->options;
	if (options->addressing == ELF_VIRTUAL)
		return value + options->relocation;
	if (options->addressing == ELF_MODULE)
		return value + reading->places[symbol->section] + options->relocation;
	const struct elf_segment *segment = elf_segment_of(reading->runtime, value);
	return segment ? value - segment->vaddr + segment->offset : value - section->addr + section->offset;
}

static void add_table(const struct reading *reading, const char *name, uint32_t type, struct symbol_builder *builder)
{
	const struct elf_file *elf = reading->symbols;
	const struct elf_section *table = elf_section(elf, name);
	if (!table || table->type != type)
		return;
	uint64_t count = elf_symbol_count(elf, table);
	const struct arch *arch = elf_arch(elf);
	struct elf_symbol symbol;
	for (uint64_t i = 0; i < count && elf_symbol_at(elf, table, i, &symbol); i++) {
		if (!wanted(reading, &symbol))
			continue;
		const struct elf_section *section = section_of(reading, &symbol);
		if (!section || (is_label(&symbol) && !strstr(section->name, "text") && !strstr(section->name, "data")))
			continue;
		if (arch && ELF64_ST_TYPE(symbol.info) == STT_FUNC)
			symbol.value &= ~(uint64_t)arch->code.function_flags;
		symbol_builder_add(builder, dso_address(reading, section, &symbol), symbol.size, ELF64_ST_BIND(symbol.info),
				   ELF64_ST_TYPE(symbol.info), symbol.name);
	}
	if (builder->sparing && elf->mapping.data)
		mapping_forget(elf_section_data(elf, table), table->size);
	symbol_builder_settle(builder, false);
}

/* Where the kernel's loader puts the sections with code: one behind the other in the order of the file, aligned, but for those of the
 * initialisation, which go elsewhere and away. Source: layout_sections() in kernel/module/main.c. */
uint64_t *elf_module_layout(const struct elf_file *elf)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	uint64_t *places = mem_alloc_array(elf->section_count + 1, sizeof(*places)), end = 0;
	for (uint32_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];
		places[i] = ELF_NOT_PLACED;
		if ((section->flags & code) != code || str_starts_with(section->name, ".init"))
			continue;
		uint64_t align = section->align ? section->align : 1;
		places[i] = (end + align - 1) / align * align;
		end = places[i] + section->size;
	}
	return places;
}

static struct reading reading_init(const struct elf_file *symbols, const struct elf_file *runtime,
				   const struct elf_symbols_options *options)
{
	struct reading reading = {.symbols = symbols, .runtime = runtime, .options = options};
	if (options->addressing == ELF_MODULE)
		reading.places = elf_module_layout(symbols);
	return reading;
}

void elf_symbols_add_table(const struct elf_file *symbols, const struct elf_file *runtime, const struct elf_symbols_options *options,
			   struct symbol_builder *builder)
{
	struct reading reading = reading_init(symbols, runtime, options);
	builder->demangle = options->demangle;
	add_table(&reading, ".symtab", SHT_SYMTAB, builder);
	free(reading.places);
}

bool elf_has_go_functions(const struct elf_file *elf)
{
	struct go_table table;

	return go_table_open(elf, &table);
}

/* What a program of Go knows of itself, where its symbols were stripped. */
static void add_go_functions(const struct reading *reading, struct symbol_builder *builder)
{
	struct go_function function;
	struct go_table table;

	if (!go_table_open(reading->runtime, &table))
		return;
	for (uint64_t i = 0; i < table.count; i++) {
		const struct elf_segment *segment =
			go_table_function(&table, i, &function) ? elf_segment_of(reading->runtime, function.start) : NULL;
		if (segment)
			symbol_builder_add(builder, function.start - segment->vaddr + segment->offset, function.end - function.start,
					   STB_LOCAL, STT_FUNC, function.name);
	}
	symbol_builder_settle(builder, false);
}

void elf_symbols_add(const struct elf_file *symbols, const struct elf_file *runtime, const struct elf_symbols_options *options,
		     struct symbol_builder *builder)
{
	struct reading reading = reading_init(symbols, runtime, options);
	elf_symbols_add_table(symbols, runtime, options, builder);
	add_table(&reading, ".dynsym", SHT_DYNSYM, builder);
	free(reading.places);
	if (options->addressing == ELF_FILE_OFFSET && !elf_has_symtab(symbols))
		add_go_functions(&reading, builder);
	if (options->addressing == ELF_FILE_OFFSET)
		plt_symbols_add(runtime, builder);
}

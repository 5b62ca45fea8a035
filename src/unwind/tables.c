/* Finding a file's call frame information: .eh_frame of the mapped file, .debug_frame of it or of its debug file. */
#include "unwind/tables.h"

#include "base/mem.h"
#include "symbol/vdso.h"

#include <elf.h>
#include <stdlib.h>

static void open_eh_frame(struct unwind_tables *tables)
{
	const struct elf_file *elf = &tables->runtime;
	const struct elf_section *section = elf_section(elf, ".eh_frame");
	const uint8_t *data = section ? elf_section_data(elf, section) : NULL;
	if (data)
		cfi_section_init(&tables->sections[0], elf, data, section->size, section->addr, true);
}

static void open_debug_frame(struct unwind_tables *tables, const struct elf_file *elf)
{
	const struct elf_section *section = elf ? elf_section(elf, ".debug_frame") : NULL;
	size_t size;
	const uint8_t *data = section ? elf_section_inflate(elf, section, &size, &tables->inflated) : NULL;
	if (data)
		cfi_section_init(&tables->sections[1], elf, data, size, 0, false);
}

/* A run-time compiler writes one section for each function. */
static void open_dump(struct unwind_tables *tables, const struct jitdump *dump)
{
	const struct elf_file form = {.is_64bit = true, .swap = dump->swap, .machine = dump->machine};
	tables->dump = dump;
	tables->codes = mem_zalloc_array(dump->codes.len + 1, sizeof(*tables->codes));
	for (size_t i = 0; i < dump->codes.len; i++) {
		size_t size;
		uint64_t address;
		const uint8_t *data = jitdump_eh_frame(dump, &dump->codes.data[i], &size, &address);
		if (data)
			cfi_section_init(&tables->codes[i], &form, data, size, address, true);
	}
}

void *unwind_tables_make(const struct symbol_options *options, const struct dso *dso)
{
	struct unwind_tables *tables = mem_zalloc(sizeof(*tables));
	if (dso->kind == DSO_VDSO && options->same_machine && vdso_open(&dso->build_id, &tables->runtime)) {
		open_eh_frame(tables);
		return tables;
	}
	if (dso->jitdump)
		open_dump(tables, dso->jitdump);
	if (dso->kind != DSO_FILE && dso->kind != DSO_VDSO)
		return tables;
	if (runtime_file_open(options, dso, &tables->runtime))
		open_eh_frame(tables);
	symbol_files_find(options, dso, &tables->files);
	if (tables->runtime.data && elf_section(&tables->runtime, ".debug_frame"))
		open_debug_frame(tables, &tables->runtime);
	else
		open_debug_frame(tables, tables->files.symbols);
	if (!tables->sections[1].count)
		symbol_files_close(&tables->files);
	return tables;
}

void unwind_tables_destroy(void *attachment)
{
	struct unwind_tables *tables = attachment;
	cfi_section_deinit(&tables->sections[0]);
	cfi_section_deinit(&tables->sections[1]);
	for (size_t i = 0; tables->dump && i < tables->dump->codes.len; i++)
		cfi_section_deinit(&tables->codes[i]);
	free(tables->codes);
	free(tables->inflated);
	symbol_files_close(&tables->files);
	elf_close(&tables->runtime);
	free(tables);
}

bool unwind_tables_vaddr(const struct unwind_tables *tables, uint64_t dso_addr, uint64_t *ret)
{
	const struct elf_file *elf = &tables->runtime;
	bool found = tables->dump != NULL;
	*ret = dso_addr;
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		if (segment->type != PT_LOAD || dso_addr < segment->offset || dso_addr - segment->offset >= segment->filesz)
			continue;
		*ret = dso_addr - segment->offset + segment->vaddr;
		if (segment->flags & PF_X)
			return true;
		found = true;
	}
	return found;
}

bool unwind_tables_row(const struct unwind_tables *tables, uint64_t vaddr, struct cfi_row *ret)
{
	const struct jitdump_code *code = tables->dump ? jitdump_find(tables->dump, vaddr) : NULL;
	if (code)
		return cfi_section_row(&tables->codes[code - tables->dump->codes.data], vaddr, ret);
	return cfi_section_row(&tables->sections[0], vaddr, ret) || cfi_section_row(&tables->sections[1], vaddr, ret);
}

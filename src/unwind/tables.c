/* Finding a file's call frame information: .eh_frame of the mapped file, .debug_frame of it or of its debug file, or what a program of Go
 * says instead. */
#include "unwind/tables.h"

#include "base/mem.h"
#include "symbol/carried/carried.h"
#include "symbol/elf/vdso.h"
#include "unwind/go_frames.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *unwind_section_name(enum unwind_section section)
{
	static const char *const names[UNWIND_SECTIONS] = {".eh_frame", ".bolt.org.eh_frame", ".debug_frame"};
	return names[section];
}

/* Its table's name follows from its own; what a recording carries has none. */
static void open_frames(struct unwind_tables *tables, enum unwind_section which)
{
	const struct elf_file *elf = &tables->runtime;
	char name[32];
	const struct elf_section *section = elf_section(elf, unwind_section_name(which));
	const uint8_t *data = section ? elf_section_data(elf, section) : NULL;
	if (!data)
		return;
	snprintf(name, sizeof(name), "%s_hdr", unwind_section_name(which));
	const struct elf_section *header = elf_section(elf, name);
	const struct cfi_table table = {.data = header ? elf_section_data(elf, header) : NULL,
					.size = header ? header->size : 0,
					.address = header ? header->addr : 0};
	if (!table.data || !cfi_section_init_sorted(&tables->sections[which], elf, data, section->size, section->addr, &table))
		cfi_section_init(&tables->sections[which], elf, data, section->size, section->addr, true);
}

static void open_eh_frame(struct unwind_tables *tables)
{
	open_frames(tables, UNWIND_EH_FRAME);
	open_frames(tables, UNWIND_UNMOVED);
}

static void open_debug_frame(struct unwind_tables *tables, const struct elf_file *elf)
{
	const struct elf_section *section = elf ? elf_section(elf, ".debug_frame") : NULL;
	size_t size;
	const uint8_t *data = section ? elf_section_inflate(elf, section, &size, &tables->inflated) : NULL;
	if (data)
		cfi_section_init(&tables->sections[UNWIND_DEBUG_FRAME], elf, data, size, 0, false);
}

static void open_go_frames(struct unwind_tables *tables)
{
	const struct elf_file *elf = &tables->runtime;
	size_t size;
	uint8_t *data = elf->data && !tables->inflated ? go_frames_make(elf, &size) : NULL;
	if (!data)
		return;
	tables->inflated = data;
	cfi_section_init(&tables->sections[UNWIND_DEBUG_FRAME], elf, data, size, 0, false);
}

/* The sections behind each other, as if they were the file. */
static void take_carried(const struct carried_unwind *carried, struct elf_file *elf)
{
	size_t size = 0;
	*elf = (struct elf_file){
		.is_64bit = carried->is_64bit,
		.swap = carried->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		.machine = carried->machine,
		.entry = carried->entry,
		.sections = mem_zalloc_array(carried->section_count + 1, sizeof(*elf->sections)),
		.segments = mem_zalloc_array(carried->load_count + 1, sizeof(*elf->segments)),
		.section_count = (uint32_t)carried->section_count,
		.segment_count = (uint32_t)carried->load_count,
	};
	for (size_t i = 0; i < carried->load_count; i++) {
		const struct carried_load *load = &carried->loads[i];
		elf->segments[i] = (struct elf_segment){
			.type = PT_LOAD, .flags = load->flags, .offset = load->offset, .vaddr = load->vaddr, .filesz = load->size};
	}
	for (size_t i = 0; i < carried->section_count; i++) {
		const struct carried_section *section = &carried->sections[i];
		elf->sections[i] = (struct elf_section){
			.name = section->name, .type = SHT_PROGBITS, .addr = section->vaddr, .offset = size, .size = section->size};
		size += section->size;
	}
	uint8_t *data = elf->owned = mem_zalloc(size + 1);
	for (size_t i = 0; i < carried->section_count; i++)
		for (size_t k = 0; k < carried->sections[i].piece_count; k++) {
			const struct carried_piece *piece = &carried->sections[i].pieces[k];
			if (piece->size)
				memcpy(data + elf->sections[i].offset + piece->offset, piece->bytes, piece->size);
		}
	elf->data = data;
	elf->size = size;
}

static bool open_carried(struct unwind_tables *tables, const struct symbol_options *options, const struct dso *dso)
{
	const struct carried_file *file = carried_find(options->carried, dso);
	if (!file || !file->unwind.section_count)
		return false;
	take_carried(&file->unwind, &tables->runtime);
	tables->is_carried = true;
	open_eh_frame(tables);
	open_debug_frame(tables, &tables->runtime);
	return true;
}

/* A run-time compiler writes one section for each function. */
static void open_dump(struct unwind_tables *tables, const struct jitdump *dump)
{
	const struct elf_file form = {.is_64bit = true, .swap = dump->swap, .machine = dump->machine};
	tables->dump = dump;
	tables->codes = mem_zalloc_array(dump->codes.len + 1, sizeof(*tables->codes));
	for (size_t i = 0; i < dump->codes.len; i++) {
		struct jitdump_unwind unwind;
		if (jitdump_unwind(dump, &dump->codes.data[i], &unwind))
			cfi_section_init(&tables->codes[i], &form, unwind.eh_frame, unwind.size, unwind.address, true);
	}
}

void *unwind_tables_make(const struct symbol_options *options, const struct dso *dso)
{
	struct unwind_tables *tables = mem_zalloc(sizeof(*tables));
	if (open_carried(tables, options, dso))
		return tables;
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
	tables->switch_count = tables->runtime.data ? goroutine_switches(&tables->runtime, tables->switches) : 0;
	symbol_files_find(options, dso, &tables->files);
	if (tables->runtime.data && elf_section(&tables->runtime, ".debug_frame"))
		open_debug_frame(tables, &tables->runtime);
	else
		open_debug_frame(tables, tables->files.symbols);
	if (!tables->sections[UNWIND_DEBUG_FRAME].count) {
		symbol_files_close(&tables->files);
		open_go_frames(tables);
	}
	return tables;
}

void unwind_tables_destroy(void *attachment)
{
	struct unwind_tables *tables = attachment;
	for (int i = 0; i < UNWIND_SECTIONS; i++)
		cfi_section_deinit(&tables->sections[i]);
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
	for (int i = 0; i < UNWIND_SECTIONS; i++)
		if (cfi_section_row(&tables->sections[i], vaddr, ret))
			return true;
	return false;
}

bool unwind_section_is_known(const struct elf_section *section)
{
	return !strncmp(section->name, ".plt", 4) || !strcmp(section->name, ".init") || !strcmp(section->name, ".fini");
}

/* Of linkage stubs only the first instruction: the return address is where the call has put it. */
static int pushed_at(const struct arch *arch, const struct elf_section *section, const uint8_t *data, uint64_t at)
{
	if (section->name[1] != 'p')
		return arch->code.init_pushed ? arch->code.init_pushed(data, section->size, at) : -1;
	return arch->code.begins_stub && arch->code.begins_stub(data + at, section->size - at) ? 0 : -1;
}

/* Code that has no rules: linkage stubs of static programs, and of some linkers; .init and .fini, of which nearly no C library tells. */
static struct packed_row known_row(const struct elf_file *elf, uint64_t vaddr)
{
	const struct packed_row nothing = {.base = PACKED_NONE};
	const struct elf_section *section = NULL;
	for (uint32_t i = 0; i < elf->section_count && !section; i++)
		if (unwind_section_is_known(&elf->sections[i]) && vaddr >= elf->sections[i].addr &&
		    vaddr - elf->sections[i].addr < elf->sections[i].size)
			section = &elf->sections[i];
	const uint8_t *data = section ? elf_section_data(elf, section) : NULL;
	const struct arch *arch = elf_arch(elf);
	if (!data || !arch)
		return nothing;
	if (arch->frames.link)
		return section->name[1] == 'p' ? (struct packed_row){.base = PACKED_SP, .fp = PACKED_SAME, .ip = PACKED_SAME} : nothing;
	int word = elf->is_64bit ? 8 : 4, pushed = pushed_at(arch, section, data, vaddr - section->addr);
	if (pushed < 0)
		return nothing;
	return (struct packed_row){.base = PACKED_SP,
				   .cfa = (int16_t)((pushed + word) / PACKED_UNIT),
				   .fp = PACKED_SAME,
				   .ip = (int16_t)(-word / PACKED_UNIT)};
}

struct packed_row unwind_tables_packed(const struct unwind_tables *tables, uint64_t vaddr)
{
	const struct jitdump_code *code = tables->dump ? jitdump_find(tables->dump, vaddr) : NULL;
	if (code)
		return packed_row_at(&tables->codes[code - tables->dump->codes.data], vaddr);
	struct packed_row row = {.base = PACKED_NONE};
	for (int i = 0; i < UNWIND_SECTIONS && row.base == PACKED_NONE; i++)
		row = packed_row_at(&tables->sections[i], vaddr);
	return row.base == PACKED_NONE ? known_row(&tables->runtime, vaddr) : row;
}

const struct packed_row *unwind_tables_function(const struct unwind_tables *tables, uint64_t vaddr, size_t *ret_count)
{
	const struct jitdump_code *code = tables->dump ? jitdump_find(tables->dump, vaddr) : NULL;
	if (code)
		return packed_rows_of(&tables->codes[code - tables->dump->codes.data], vaddr, ret_count);
	const struct packed_row *rows = NULL;
	for (int i = 0; i < UNWIND_SECTIONS && !rows; i++)
		rows = packed_rows_of(&tables->sections[i], vaddr, ret_count);
	return rows;
}

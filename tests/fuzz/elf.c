/* ELF files: sections, notes, symbols with their linkage stubs and mini debug information, and the call frame information of every
 * function, as it is or made from what a program of Go says. */
#include "symbol/elf/elf_symbols.h"
#include "symbol/elf/minidebug.h"
#include "unwind/cfi.h"
#include "unwind/go_frames.h"
#include "unwind/packed.h"

#include <stdlib.h>
#include <string.h>

static void read_symbols(const struct elf_file *elf)
{
	for (int addressing = ELF_FILE_OFFSET; addressing <= ELF_MODULE; addressing++) {
		struct symbol_builder builder = {0};
		struct elf_symbols_options options = {.addressing = (enum elf_addressing)addressing, .demangle = true};
		elf_symbols_add(elf, elf, &options, &builder);
		struct symtab *symtab = symtab_build(&builder, 0, "fuzz");
		for (size_t i = 0; i < symtab->count && i < 200; i++) {
			const struct symbol *symbol = symtab_at(symtab, i);
			const struct symbol *found = symtab_find(symtab, symbol->start);
			if (!found || found->start != symbol->start)
				abort();
			symtab_find(symtab, symbol->end);
		}
		symtab_destroy(symtab);
	}
}

static void read_rows(struct cfi_section *frames)
{
	struct cfi_row row;
	for (size_t i = 0; i < frames->count && i < 200; i++) {
		const struct cfi_entry entry = cfi_section_at(frames, i);
		cfi_section_row(frames, entry.start, &row);
		cfi_section_row(frames, cfi_entry_end(frames, &entry) - 1, &row);
		packed_row_at(frames, entry.start);
	}
	cfi_section_deinit(frames);
}

static void read_frames(const struct elf_file *elf, const char *name, bool eh_frame)
{
	const struct elf_section *section = elf_section(elf, name);
	struct cfi_section frames;
	size_t size;
	void *owned = NULL;
	const uint8_t *data = section ? elf_section_inflate(elf, section, &size, &owned) : NULL;
	if (data) {
		cfi_section_init(&frames, elf, data, size, section->addr, eh_frame);
		read_rows(&frames);
		const struct elf_section *header = elf_section(elf, ".eh_frame_hdr");
		const struct cfi_table table = {header ? elf_section_data(elf, header) : NULL, header ? header->size : 0,
						header ? header->addr : 0};
		if (table.data && cfi_section_init_sorted(&frames, elf, data, size, section->addr, &table))
			read_rows(&frames);
	}
	free(owned);
}

static void read_go_frames(const struct elf_file *elf)
{
	struct cfi_section frames;
	size_t size;
	uint8_t *data = go_frames_make(elf, &size);
	if (data) {
		cfi_section_init(&frames, elf, data, size, 0, false);
		read_rows(&frames);
	}
	free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file elf = {0}, mini = {0};
	void *copy = malloc(size ? size : 1);
	memcpy(copy, data, size);
	struct error *error = elf_open_memory(copy, size, "fuzz", &elf);
	if (error) {
		error_free(error);
		return 0;
	}
	elf_debuglink(&elf);
	read_symbols(&elf);
	if (minidebug_open(&elf, &mini)) {
		read_symbols(&mini);
		elf_close(&mini);
	}
	read_frames(&elf, ".eh_frame", true);
	read_frames(&elf, ".debug_frame", false);
	read_go_frames(&elf);
	elf_close(&elf);
	return 0;
}

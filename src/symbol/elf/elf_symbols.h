/* The symbols of an ELF file, as the kernel's perf chooses them. */
#pragma once

#include "symbol/elf/elf.h"
#include "symbol/symtab.h"

#include <stdbool.h>
#include <stdint.h>

/* How a symbol's value becomes the dso address that lookups use. */
enum elf_addressing {
	ELF_FILE_OFFSET, /* user files: offset in the file, by the loadable segments (what mmap events tell) */
	ELF_VIRTUAL,	 /* vmlinux: as linked, plus `relocation` */
	ELF_MODULE,	 /* .ko: only code that stays, placed as the kernel's loader does, `relocation` is where it begins */
};

struct elf_symbols_options {
	enum elf_addressing addressing;
	uint64_t relocation;
	bool demangle;
};

/* Where the kernel's loader puts the sections of a module: one element for each section, its distance from the module's beginning, or
 * ELF_NOT_PLACED for those that aren't code that stays. Freed by the caller. */
#define ELF_NOT_PLACED UINT64_MAX
uint64_t *elf_module_layout(const struct elf_file *elf);

bool elf_has_symtab(const struct elf_file *elf);
bool elf_has_dynsym(const struct elf_file *elf);
/* Whether it tells its functions as programs of Go do (go_table.h). */
bool elf_has_go_functions(const struct elf_file *elf);
/* Adds the symbols of `symbols` (.symtab, then .dynsym; of a program of Go without the former its own table), then the names of procedure
 * linkage table entries of `runtime`, the file that was mapped; both may be the same. A debug file keeps no contents, so offsets come from
 * `runtime`. Names point into the files' bytes. */
void elf_symbols_add(const struct elf_file *symbols, const struct elf_file *runtime, const struct elf_symbols_options *options,
		     struct symbol_builder *builder);
/* Only its .symtab: for mini debug information, which adds to the file's own tables. */
void elf_symbols_add_table(const struct elf_file *symbols, const struct elf_file *runtime, const struct elf_symbols_options *options,
			   struct symbol_builder *builder);

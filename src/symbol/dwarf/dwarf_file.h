/* An ELF file with DWARF, opened by libdw. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>

struct dwarf_file {
	int fd;
	Dwfl *dwfl; /* of relocatable files, else NULL */
	Elf *elf;   /* the same */
	Dwarf *dwarf;
};

/* False when there is no such file, or no debug information in it. */
bool dwarf_file_open(const char *path, struct dwarf_file *ret);
void dwarf_file_close(struct dwarf_file *file);
/* The unit after *cu, NULL = the first; the split one where the file has only a skeleton. False at the end. */
bool dwarf_file_next_unit(const struct dwarf_file *file, Dwarf_CU **cu, Dwarf_Die *ret);

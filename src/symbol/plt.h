/* Names for the entries of the procedure linkage table: "puts@plt". */
#pragma once

#include "symbol/elf.h"
#include "symbol/symtab.h"

/* Adds them at their file offsets. Their names are owned by the builder. */
void plt_symbols_add(const struct elf_file *elf, struct symbol_builder *builder);

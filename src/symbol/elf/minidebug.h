/* Mini debug information: a small, xz-compressed ELF file with .symtab in the section .gnu_debugdata of a stripped file (Fedora and
 * others). */
#pragma once

#include "symbol/elf/elf.h"

#include <stdbool.h>

/* Unpacks it; false when there is none. */
bool minidebug_open(const struct elf_file *elf, struct elf_file *ret);

/* Source lines of a unit's code: its part of .debug_line (a program that makes a table), as sorted rows. */
#pragma once

#include "base/arena.h"
#include "symbol/dwarf/dwarf_unit.h"

#include <stdint.h>

struct dwarf_lines;

/* For a unit that is open; never NULL, but maybe empty. Names of files are put together in `arena`, which must outlive it. */
struct dwarf_lines *dwarf_lines_create(const struct dwarf_unit *unit, struct arena *arena);
void dwarf_lines_destroy(struct dwarf_lines *lines);
/* The row for a virtual address; false when there is none. *ret_file as in dwarf_lines_file(). */
bool dwarf_lines_find(const struct dwarf_lines *lines, uint64_t address, uint32_t *ret_line, uint32_t *ret_file);
/* A file by its number, as entries have it too (DW_AT_call_file): with its directories, as far as they are known; NULL = no such file.
 * Changes the table: one thread at a time. */
const char *dwarf_lines_file(struct dwarf_lines *lines, uint64_t number);

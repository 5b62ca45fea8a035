/* Split DWARF: where the greater part of a unit's debug information is, when it was left out of the program (-gsplit-dwarf). */
#pragma once

#include "symbol/dwarf/dwarf_unit.h"

/* The files of one program. Thread-safe. */
struct dwarf_split;
struct dwarf_split *dwarf_split_create(const char *path);
void dwarf_split_destroy(struct dwarf_split *split);
/* The split unit of an open skeleton, which it refers to: from PATH.dwp or the .dwo file that the skeleton names. NULL when it isn't found.
 * The caller's to keep, for as long as `split`. */
struct dwarf_unit *dwarf_split_find(struct dwarf_split *split, const struct dwarf_unit *skeleton);

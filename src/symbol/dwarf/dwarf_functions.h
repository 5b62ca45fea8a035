/* The functions of a unit that have code, inlined ones too, as sorted ranges. */
#pragma once

#include "base/arena.h"
#include "symbol/dwarf/dwarf_unit.h"

#include <stdint.h>

enum { DWARF_NO_FUNCTION = -1 };

struct dwarf_function {
	uint64_t entry;			   /* its offset in the unit's file */
	int32_t parent;			   /* the function around it, DWARF_NO_FUNCTION = none */
	uint32_t first_range, range_count; /* in dwarf_functions.unsorted */
	bool inlined;
	uint64_t call_file;
	uint32_t call_line;
	const char *name; /* "" = it has none; NULL until dwarf_function_name() */
};

struct dwarf_functions {
	VEC(struct dwarf_function) list;
	struct dwarf_range_list unsorted, sorted;
	struct map64 names; /* entry that has the name → the text */
};

/* Walks an open unit. */
void dwarf_functions_read(const struct dwarf_unit *unit, struct dwarf_functions *ret);
void dwarf_functions_deinit(struct dwarf_functions *functions);
/* The innermost one at a virtual address, by its number, or DWARF_NO_FUNCTION. */
int32_t dwarf_functions_find(const struct dwarf_functions *functions, uint64_t address);
/* Its readable name, NULL when it has none. Kept in `arena` and for the next time: one thread at a time. */
const char *dwarf_function_name(struct dwarf_functions *functions, const struct dwarf_unit *unit, struct dwarf_function *function,
				struct arena *arena);

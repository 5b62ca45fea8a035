/* Shared by the files that answer for debug_program.h. */
#pragma once

#include "base/arena.h"
#include "symbol/dwarf/debug_program.h"
#include "symbol/dwarf/debug_types.h"
#include "symbol/dwarf/dwarf_file.h"
#include "symbol/dwarf/fetch.h"

#include <dwarf.h>

enum { SCOPES_MAX = 64 };

struct debug_program {
	struct dwarf_file file;
	struct dwarf_file runtime;	  /* only fd and elf */
	Dwarf_CFI *frames, *debug_frames; /* of .eh_frame (not ours) and .debug_frame; NULL = none */
	bool kernel;
	const struct arch *arch; /* NULL = unknown */
	Dwarf_Die unit;		 /* that was asked for last; addr NULL = none */
	struct arena arena;
};

/* The unit of an address and what is around it in the unit: functions, inlined ones, blocks; outermost first. Returns how many. */
size_t debug_scopes(struct debug_program *program, uint64_t address, Dwarf_Die *ret_unit, Dwarf_Die ret[SCOPES_MAX]);
void debug_describe_function(struct debug_program *program, Dwarf_Die *die, struct debug_function *ret);
bool debug_is_function(int tag);

/* By a variable's location at an address; a sentence says why there is none. */
struct error *debug_locate(struct debug_program *program, Dwarf_Die *variable, Dwarf_Die *function, uint64_t address, struct fetch *ret);

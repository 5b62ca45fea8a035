/* The functions at an address, inlined ones too, as symbols: what debug information adds to a symbol table. */
#pragma once

#include "symbol/symtab.h"

#include <stddef.h>
#include <stdint.h>

/* One function at an address. */
struct code_function {
	const struct symbol
		*symbol;  /* the table's own, or one made for an inlined function: `inlined` is set, it spans the table's symbol */
	const char *file; /* where execution is in this function: for all but the innermost, the call; NULL = unknown */
	unsigned int line;
};

struct functions;
/* For the file at `path`, which is opened on first use. */
struct functions *functions_create(const char *path);
/* For generated code: lines by the jitdump, which is asked with offsets in it. */
struct functions *functions_create_jitdump(const struct jitdump *dump);
/* For a file of which the recording carries what is known. */
struct carried_file;
struct functions *functions_create_carried(const struct carried_file *file);
void functions_destroy(struct functions *functions);
/* Those at virtual address `vaddr` of the file, innermost first. `symbol` is the table's for this address: the one for the same address
 * must be given each time; NULL when it has none, then only the line is told. Returns how many, 0 when there is no debug information; they
 * live as long as `functions`. Thread-safe. */
size_t functions_at(struct functions *functions, uint64_t vaddr, const struct symbol *symbol, const struct code_function **ret);

/* Symbol table of one dso: sorted, without overlaps, immutable once published. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct symbol {
	uint64_t start, end; /* dso addresses as map_to_dso() gives them, end exclusive */
	const char *name;    /* demangled, made safe to print? no: as it is; views make it safe */
	uint8_t binding;     /* STB_LOCAL, STB_GLOBAL, STB_WEAK */
	uint8_t type;	     /* STT_FUNC, STT_OBJECT, … */
	uint32_t index;	     /* in its table */
};

struct symtab {
	const struct symbol *symbols;
	size_t count;
	struct dso *dso;
	int source;	  /* enum symbol_source */
	const char *path; /* file it was read from, or NULL */
	struct symtab_private *private;
};

/* The symbol that covers `addr`, or NULL. */
const struct symbol *symtab_find(const struct symtab *symtab, uint64_t addr);
/* By name; NULL when there is none. */
const struct symbol *symtab_by_name(const struct symtab *symtab, const char *name);

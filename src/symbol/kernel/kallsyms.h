/* The kernel's own list of its symbols: /proc/kallsyms, or a copy of it. */
#pragma once

#include "base/error.h"
#include "symbol/symtab.h"

#include <stdbool.h>
#include <stdint.h>

/* A whole list, read and settled once; the tables of the kernel and of its modules are picked from it. Read by several threads at once. */
struct kallsyms {
	char *text;			   /* the names are in it */
	struct symbol_builder settled;	   /* all symbols; their `index` is that of their module */
	VEC(const char *) modules;	   /* modules.data[0] is NULL: the kernel itself */
	uint64_t text_start, stext, etext; /* addresses of _text, _stext, _etext; 0 = not listed */
	bool restricted;		   /* all addresses are 0: kptr_restrict or missing privileges */
};

/* Reads the file ("/proc/kallsyms" is not a regular file: its size is only known at the end), and parses it while it comes. Symbols of
 * types T, W, D and B count, as for the kernel's perf. */
struct error *kallsyms_open(const char *path, struct kallsyms *ret);
void kallsyms_close(struct kallsyms *kallsyms);

/* The address of the kernel's symbol of that name; false when there is none. Only _text, _stext and _etext are sure to be found: of other
 * names of one address one was kept. */
bool kallsyms_address(const struct kallsyms *kallsyms, const char *name, uint64_t *ret);
/* Adds the symbols of one module (kernel_module_name()), each moved by `delta`. Names point into `kallsyms`. */
void kallsyms_pick(const struct kallsyms *kallsyms, const char *module, uint64_t delta, struct symbol_builder *builder);
/* Closes the list, of which the builder, empty before, gets the kernel's own symbols, each moved by `delta`, and the names: nothing is
 * copied. */
void kallsyms_give(struct kallsyms *kallsyms, uint64_t delta, struct symbol_builder *builder);
/* The address of one symbol of the kernel, read without the rest of the list: quick for those at its beginning (_text, _stext). False when
 * there is none, or its address is hidden. */
bool kallsyms_read_address(const char *path, const char *name, uint64_t *ret);

/* Every line of the file, data and aliases as well, in its order, until visit returns false; what is behind isn't read. Strings live
 * during the call; `module` is NULL for the kernel itself. */
typedef bool (*kallsyms_visitor)(void *context, uint64_t address, char type, const char *name, const char *module);
struct error *kallsyms_visit(const char *path, kallsyms_visitor visit, void *context);
/* The symbol of a line, without a size; false where it doesn't count. */
bool kallsyms_symbol(uint64_t address, char type, const char *name, struct symbol *ret);

/* The table of the kernel's own symbols, of a list that was not cut off: the same as from kallsyms_give(), but read one block after the
 * other, for those to whom memory is worth more than the second thread. `text_symbol` (_text, _stext) is at `recorded` where symbols shall
 * lie; 0: they stay where the list has them. NULL: there is no list, its addresses are hidden, or it isn't in order. */
struct symtab *kallsyms_packed(const char *path, const char *text_symbol, uint64_t recorded, int source);

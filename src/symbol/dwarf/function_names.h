/* All names of the functions of a program or of the kernel, aliases too (a symbol table keeps one name for each address). */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "symbol/debugfile.h"

#include <stdbool.h>
#include <stdint.h>

struct function_name {
	const char *name;   /* readable */
	const char *linked; /* as in the file */
	const char *module; /* of the kernel; NULL = the kernel itself */
	uint64_t address;   /* virtual; of the kernel: where it is now */
	uint64_t size;	    /* 0 = unknown */
	bool indirect;	    /* its code is chosen when the program is loaded; here is what chooses */
};

struct function_names {
	struct arena arena;
	VEC(struct function_name) items; /* by name, then address */
};

void function_names_of_program(const struct symbol_files *files, bool demangle, struct function_names *ret);
/* By a list like /proc/kallsyms. `module` NULL: only the kernel's own. */
struct error *function_names_of_kernel(const char *kallsyms, const char *module, struct function_names *ret);
void function_names_deinit(struct function_names *names);

/* The first one whose readable or linked name matches, from index *at on, which is moved behind it; NULL when there is no further one. The
 * pattern may have
 * * and ?; with "::" the end of a qualified name will do. */
const struct function_name *function_names_next(const struct function_names *names, const char *pattern, size_t *at);
/* The function around an address; NULL when none is. */
const struct function_name *function_names_at(const struct function_names *names, uint64_t address);

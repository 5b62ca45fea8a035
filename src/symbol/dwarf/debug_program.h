/* What debug information (DWARF) says to somebody who wants to stop at a place in a program: which functions there are, where lines begin,
 * and how the value of a variable is found there. Addresses are virtual, as in the file. One thread at a time. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debug_program;

/* `debug_path`: the file with the debug information; `runtime_path`: the one that runs, which has the unwind tables; may be the same.
 * `kernel`: the value of a variable of the kernel is asked for by its name. NULL when there is no debug information. */
struct debug_program *debug_program_open(const char *debug_path, const char *runtime_path, bool kernel);
void debug_program_close(struct debug_program *program);

/* ---- functions ---- */

/* A function with code of its own, or a place where its code stands for a call. Strings live as long as the program. */
struct debug_function {
	const char *name;   /* "add" */
	const char *linked; /* "_ZN4shop6basket3addEiPKc", or NULL */
	const char *file;   /* where it was declared, or NULL */
	uint32_t line;
	uint64_t entry, end; /* `end`: the end of its last range */
	bool inlined;
	uint64_t die; /* offset in the debug information */
};
struct debug_functions {
	VEC(struct debug_function) items;
};

/* Those whose name matches: the short, the readable ("shop::basket::add" or its end "basket::add") or the linked one; may have * and ?.
 * `file` NULL or a path, of which the end is enough. Functions with code of their own come first. */
void debug_program_functions(struct debug_program *program, const char *pattern, const char *file, struct debug_functions *ret);
/* The function around an address, of inlined ones the innermost; false when there is none. */
bool debug_program_function_at(struct debug_program *program, uint64_t address, struct debug_function *ret);
/* The function with code of its own around an address. */
bool debug_program_outer_function(struct debug_program *program, uint64_t address, struct debug_function *ret);
bool debug_function_contains(struct debug_program *program, const struct debug_function *function, uint64_t address);
/* Was the function compiled with optimisation? The compiler noted its options, or a parameter changes its place. */
bool debug_program_optimised(struct debug_program *program, const struct debug_function *function);
/* Is a path of debug information meant by `wanted`: the same, or its end from a slash on? */
bool debug_path_matches(const char *path, const char *wanted);

/* ---- lines ---- */

struct debug_row {
	const char *file;
	uint32_t line;
	uint64_t address;
};
struct debug_rows {
	VEC(struct debug_row) items; /* in order of the addresses; each once */
};
/* Where statements begin in lines `first` to `last` of `file`; with `within` only those of that function, not of those inlined in it. */
void debug_program_rows(struct debug_program *program, const char *file, uint32_t first, uint32_t last, const struct debug_function *within,
			struct debug_rows *ret);
/* The one line that an address stands for: of a function's entry the line of its declaration, else of
 * the first statement that begins there. 0 = none. */
uint32_t debug_program_line_at(struct debug_program *program, uint64_t address);
/* The address behind the code that sets up the stack frame, where variables are in their places; the entry when it isn't known. */
uint64_t debug_program_body(struct debug_program *program, const struct debug_function *function);

/* ---- variables ---- */

/* From a variable to a part of it. */
struct debug_step {
	const char *member; /* NULL: an index */
	bool arrow;
	int64_t index;
};

struct debug_fetch_query {
	const char *name;
	const struct debug_step *steps;
	size_t step_count;
	const char *cast; /* NULL = by the variable's type */
	/* What the kernel adds to a place in the file to find it in memory is the same as for the code of the probe; so a static variable
	 * is told to it by how far it is from there: address + this. Not for the kernel's. */
	uint64_t static_delta;
};

/* Adds what the kernel's probes take, "+8(%di):s32", for a variable at an address. The error tells in a sentence why there is none. */
struct error *debug_program_fetch(struct debug_program *program, uint64_t address, const struct debug_fetch_query *query,
				  struct strbuf *out);

struct debug_variable {
	char *type; /* "struct item*"; const and volatile left out */
	const char *name;
	bool parameter;
	bool external;	/* of the file or the program, not of the function */
	bool available; /* has a value at the address that a probe can fetch */
	char *ranges;	/* "0-77,77-99": where it has one, in bytes from the function's entry; NULL = everywhere */
};
struct debug_variables {
	VEC(struct debug_variable) items;
};
/* Variables that can be seen at an address, innermost first; `externals`: also those outside of functions, of the same file. */
void debug_program_variables(struct debug_program *program, uint64_t address, bool externals, struct debug_variables *ret);
void debug_variables_deinit(struct debug_variables *variables);

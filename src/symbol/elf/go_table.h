/* Functions of a program of Go, by the table that its runtime has of them for its own tracebacks (.gopclntab): names, places, and how far
 * the stack pointer has moved at each instruction. It is there when symbols and debug information were stripped (-ldflags=-s -w). */
#pragma once

#include "symbol/elf/elf.h"

#include <stdbool.h>
#include <stdint.h>

struct go_table {
	const uint8_t *data; /* points into the file's bytes */
	size_t size;
	uint64_t text; /* virtual address that functions are counted from */
	uint64_t count;
	uint64_t functions, names, numbers; /* places of parts in it */
	uint64_t names_end;		    /* place of the last 0 there: each name before it ends */
	uint8_t entry_size;		    /* of an address or a distance in it, in bytes */
	uint8_t flags;			    /* place of them in what is said of a function */
	uint8_t quantum;		    /* instructions have multiples of so many bytes */
};

struct go_function {
	uint64_t start, end; /* virtual addresses */
	const char *name;
	bool outermost; /* nobody calls it */
	uint64_t place; /* what else the table says of it */
};

/* False when the file isn't a program of Go, or of a version before 1.16, or for another byte order or size of addresses than ours. */
bool go_table_open(const struct elf_file *elf, struct go_table *ret);
/* Function `index` < count, in the order of addresses. False: it is damaged. */
bool go_table_function(const struct go_table *table, uint64_t index, struct go_function *ret);

/* Where the stack pointer is in a function: from `start` to `end` it is `moved` bytes below where it was when the function was called. */
struct go_stack {
	uint64_t start, end;
	int32_t moved;
};
/* Calls visit for each piece of the function, in order, until that says false. False as well: it is damaged, or has none. */
bool go_table_stack(const struct go_table *table, const struct go_function *function,
		    bool (*visit)(void *context, const struct go_stack *stack), void *context);

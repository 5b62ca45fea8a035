/* Where the variables of a program are, by its debug information: in registers, in the stack frame of their function, at addresses. The
 * address in all questions is virtual, of code. One thread at a time.
 *
 * A file is hostile: entries are looked at as often as an honest file of its size needs; then there are no further answers. */
#pragma once

#include "base/vec.h"
#include "symbol/data/effort.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

struct data_file;
/* NULL when there is no debug information that speaks of addresses in memory; that of kernel modules counts from their sections.
 * `effort` must outlive it. */
struct data_file *data_file_open(const char *path, size_t *effort);
void data_file_close(struct data_file *file);

enum variable_kind {
	VARIABLE_VALUE,	  /* the register has its value plus `offset` */
	VARIABLE_BASED,	  /* it is in memory at the register's value plus `offset` */
	VARIABLE_FRAME,	  /* in memory at the canonical frame address plus `offset` */
	VARIABLE_ADDRESS, /* in memory at the address `offset` */
};

struct variable {
	uint64_t low, high; /* code for which this holds, high exclusive */
	uint64_t size;	    /* bytes; 0 = unknown */
	enum variable_kind kind;
	uint32_t reg;	/* DWARF's number */
	uint32_t depth; /* of its block: larger is further inside */
	int64_t offset;
	Dwarf_Die type; /* typedefs stay */
};

/* A function with all variables in it, those of functions that were inlined into it too. */
struct data_function {
	uint64_t entry;
	VEC(struct variable) variables; /* sorted by kind, register, low */
	size_t *effort;			/* that looking for them takes */
};

struct data_unit;
/* The unit that an address belongs to; NULL = none. */
struct data_unit *data_file_unit(struct data_file *file, uint64_t address);
/* The function in it; NULL = none. Valid until the next call. */
const struct data_function *data_unit_function(struct data_file *file, struct data_unit *unit, uint64_t address);
/* A variable outside of functions. By address; by name, also one that another unit has. */
bool data_unit_variable_at(struct data_file *file, struct data_unit *unit, uint64_t address, struct variable *ret);
bool data_unit_variable(struct data_file *file, struct data_unit *unit, const char *name, struct variable *ret);
/* By address in any unit; only in files that aren't too large to be looked through. */
bool data_file_variable_at(struct data_file *file, uint64_t address, struct variable *ret);
/* What the pointer that a function of this name gives back leads to; false where it gives back something else, or nobody has declared
 * it. */
bool data_unit_result(struct data_file *file, struct data_unit *unit, const char *name, Dwarf_Die *ret);

/* The first of a function's variables of this kind and register, whatever code it is for, NULL = none; and the next one. */
const struct variable *data_function_first(const struct data_function *function, enum variable_kind kind, uint32_t reg, uint64_t address);
const struct variable *data_function_next(const struct data_function *function, const struct variable *variable, uint64_t address);

/* Offsets and addresses are of the file's choice: a sum goes around where there is no room. */
static inline int64_t data_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t data_distance(int64_t from, int64_t to)
{
	return (int64_t)((uint64_t)to - (uint64_t)from);
}

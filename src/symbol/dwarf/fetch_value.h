/* A variable on its way to one of its parts: "item->list[3].name". Steps, their errors and the type that the kernel is told are the same
 * whoever describes the types: debug information (debug_variables.c) or the kernel's BTF (kernel_types.c). */
#pragma once

#include "symbol/dwarf/debug_program.h"
#include "symbol/dwarf/fetch.h"

enum fetch_kind { FETCH_OTHER, FETCH_POINTER, FETCH_ARRAY, FETCH_STRUCTURE };

struct fetch_types;

/* What the owner's structure begins with, which has the type of the part that the way has reached. */
struct fetch_value {
	const struct fetch_types *types;
	struct fetch fetch;
	const char *name;	    /* of that part, for errors; borrowed */
	uint32_t bits, bit_at, box; /* of a bit-field: its width, where it begins in a box of so many bits; bits 0 = none */
};

/* Who describes the types. All are asked of the value's present type. */
struct fetch_types {
	enum fetch_kind (*kind)(struct fetch_value *value);
	uint64_t (*size)(struct fetch_value *value); /* bytes; 0 = unknown: the kernel is told no type */
	bool (*is_signed)(struct fetch_value *value);
	/* Of a pointer or an array: are they characters of one byte? */
	bool (*has_characters)(struct fetch_value *value);
	/* The type becomes that of what a pointer leads to, of an array's elements. False when nobody knows it. */
	bool (*go_to_target)(struct fetch_value *value);
	/* The type becomes a member's, whose offset in the structure is *ret_offset, in bytes; sets the bit-field, too. The error says that
	 * there is no such member. */
	struct error *(*go_to_member)(struct fetch_value *value, const char *name, uint64_t *ret_offset);
};

/* Takes the query's steps; what is fetched as a string becomes its characters. The error names the part where the way ends. */
struct error *fetch_value_walk(struct fetch_value *value, const struct debug_fetch_query *query);
/* Adds what the kernel is to take the value for: ":s32", ":b3@1/32", or the query's cast. */
void fetch_value_add_type(struct fetch_value *value, const struct debug_fetch_query *query, struct strbuf *out);

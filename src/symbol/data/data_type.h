/* Types of data as plain data: a name, a size and, of structures and unions, their members. Equal ones, by name and size, are one
 * object. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* Members stand in a list, each before those within it. */
struct data_member {
	const char *name;      /* "" = it has none */
	const char *type;      /* "struct item*" */
	uint64_t offset, size; /* in the outermost structure */
	uint32_t depth;	       /* 0: of the outermost structure */
	uint32_t after;	       /* number of the next one that isn't within it */
};

struct data_type {
	const char *name; /* "struct item"; like members' names as the file has them, so with unsafe bytes */
	uint64_t size;
	const struct data_member *members;
	uint32_t member_count;
};

/* What stands for data without a type. */
extern const struct data_type data_type_unknown, data_type_stack, data_type_canary;
/* Whether it is one of them. */
bool data_type_is_special(const struct data_type *type);
/* Adds the members at an offset, the outermost first: "at.x"; nothing where there are none. */
void data_type_add_path(const struct data_type *type, uint64_t offset, struct strbuf *out);

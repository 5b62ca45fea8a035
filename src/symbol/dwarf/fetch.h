/* What a probe of the kernel can fetch: a register or a constant, then memory that is read at its value plus an offset, then at what was
 * read there, … */
#pragma once

#include "arch/arch.h"
#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEREFS_MAX = 16 };

struct fetch {
	enum fetch_base { FETCH_REGISTER, FETCH_CONSTANT, FETCH_STATIC } base;
	uint64_t number; /* the DWARF number of the register, the constant, the address */
	int64_t offsets[DEREFS_MAX];
	unsigned int count;
	unsigned int bit; /* in a register: where a part of it begins */
};

/* Moves the place that the value is at; false when it is in no memory. */
bool fetch_add_offset(struct fetch *fetch, int64_t offset);
/* The value becomes what is read at it. False when there are too many reads. */
bool fetch_dereference(struct fetch *fetch, int64_t offset);

struct fetch_form {
	const char *reg;	 /* the name of the register; NULL = by its number */
	const struct arch *arch; /* whose register numbers; NULL = unknown: none has a name */
	bool kernel;		 /* static variables by `symbol`, else by address and delta */
	const char *symbol;
	uint64_t static_delta;
};
/* Adds "+8(%di)". The error says that a register can't be read by probes. */
struct error *fetch_add_text(const struct fetch *fetch, const struct fetch_form *form, struct strbuf *out);

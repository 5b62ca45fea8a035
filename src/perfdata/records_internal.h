/* Within perfdata: the table of record types. */
#pragma once

#include "perfdata/records.h"

struct record_kind {
	const char *name;
	uint16_t least_size;  /* bytes that each record of the type has */
	uint16_t text_offset; /* where its NUL-terminated name begins; 0 = none */
};

/* NULL for a type that isn't known. */
const struct record_kind *record_kind(uint32_t type);
/* NULL when sizes and name are in order, else what is wrong (a literal). `header` is native, and its size lies within the data. */
const char *record_check(const struct record_kind *kind, const struct record_header *header);

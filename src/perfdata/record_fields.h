/* The table of record types that perfdata/records.def describes. */
#pragma once

#include "perfdata/records.h"

#include <stdbool.h>
#include <stddef.h>

enum record_field_kind {
	FIELD_END,
	FIELD_NUMBER,
	FIELD_SIGNED,
	FIELD_BYTES,
	FIELD_TEXT,
	FIELD_REST,
	FIELD_WORDS,
	FIELD_CPUS,
	/* These say something of the fields that follow; record_walk_next() never returns them. */
	FIELD_OPTIONAL,
	FIELD_LIST,
	FIELD_EITHER,
	FIELD_OTHER,
	FIELD_JOINED,
};

struct record_field {
	const char *name;
	uint16_t size; /* in bytes; of those that go on up to the end: of the part that is always there; FIELD_EITHER: the bit of misc */
	uint8_t kind;  /* enum record_field_kind */
};

struct record_kind {
	const char *name;
	const char *const *texts;	   /* for the dump and for script */
	const struct record_field *fields; /* as in the row, up to a FIELD_END */
	uint16_t least_size;		   /* bytes that each record of the type has */
	uint16_t text_offset;		   /* where its NUL-terminated name begins; 0 = none */
	bool any_order;			   /* its reader takes both byte orders */
};

/* NULL for a type that isn't known. */
const struct record_kind *record_kind(uint32_t type);
/* What a record says behind its name (record_text_add()); NULL: its row has none. The dump's ends with a newline, script's may. */
const char *record_dump_text(const struct record_kind *kind);
const char *record_script_text(const struct record_kind *kind);
/* NULL when sizes and name are in order, else what is wrong (a literal). `header` is native, and its size lies within the data. */
const char *record_check(const struct record_kind *kind, const struct record_header *header);

/* Where the fields of one record are, first to last. */
struct record_walk {
	const struct record_field *next, *list;
	size_t offset, end;
	uint16_t misc;
};

/* `end`: of the fields, from the record's beginning; without the trailer. */
struct record_walk record_walk(const struct record_kind *kind, const struct record_header *header, size_t end);
/* The next field and where it begins, counted from the record's beginning: there are at least `size` bytes. Fields of a list come as often
 * as they fit. NULL at the end, or where a field doesn't fit. */
const struct record_field *record_walk_next(struct record_walk *walk, size_t *ret_offset);
/* The first field of that name (`length` bytes) and where it begins; NULL: there is none. */
const struct record_field *record_find(const struct record_header *header, size_t end, const char *name, size_t length, size_t *ret_offset);
/* The value of a number of the record by its name; false: there is no such field, or it doesn't fit. `end` as above. */
bool record_number(const struct record_header *header, size_t end, const char *name, uint64_t *ret);

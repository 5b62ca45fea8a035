/* Units of debug information (.debug_info), and entries in them: their abbreviations, attributes, names and ranges of addresses.
 *
 * An entry ("DIE") is the number of an abbreviation, which says its tag and which attributes follow in which form, and their values.
 * Offsets of entries are those in the file's .debug_info. */
#pragma once

#include "base/cursor.h"
#include "base/vec.h"
#include "symbol/dwarf/dwarf_source.h"

#include <stdbool.h>
#include <stdint.h>

struct dwarf_attribute {
	uint16_t name, form; /* DW_AT_*, DW_FORM_* */
	int64_t implicit;    /* the value, with DW_FORM_implicit_const */
};

struct dwarf_abbrev {
	uint16_t tag; /* DW_TAG_* */
	bool children;
	int32_t size;	       /* bytes of all values; -1 = it differs */
	uint32_t first, count; /* in dwarf_abbrevs.attributes */
};

struct dwarf_abbrevs;

struct dwarf_unit {
	struct dwarf_source *file;
	uint64_t offset, first, end; /* in .debug_info: of its header, its first entry, behind its last */
	uint16_t version;
	uint8_t type;	      /* DW_UT_*; before version 5 DW_UT_compile */
	uint8_t address_size; /* 2, 4, 8 */
	uint8_t offset_size;  /* 4, 8 */
	uint64_t abbrev_offset;
	struct dwarf_abbrevs *abbrevs; /* NULL until dwarf_unit_abbrevs(), which all threads may call */
	/* By the first entry, dwarf_unit_open(). Of a split unit the tables of its skeleton. */
	uint64_t low_pc;
	uint64_t address_base, string_offsets_base, ranges_base, range_lists_base;
	uint64_t lines;				   /* offset in .debug_line, UINT64_MAX = none */
	uint64_t id;				   /* of a skeleton and its split unit */
	const char *directory, *name, *split_name; /* NULL = unknown, no split unit */
	const struct dwarf_unit *skeleton;	   /* of a split unit, else NULL: it has the addresses */
};

/* Finds the units' headers; what doesn't look like one ends the list. */
void dwarf_units_read(struct dwarf_source *file);
void dwarf_units_free(struct dwarf_source *file);
/* The unit that an entry is in, or NULL. */
struct dwarf_unit *dwarf_unit_at(const struct dwarf_source *file, uint64_t offset);
/* Reads what the first entry says. False when it is broken or of another kind than a compiled unit. */
struct dwarf_entry;
bool dwarf_unit_open(struct dwarf_unit *unit, struct dwarf_entry *ret);
/* The header of the unit at an offset. Its end is within the section; whether its version and sizes are known isn't checked. */
bool dwarf_unit_header(struct dwarf_source *file, uint64_t offset, struct dwarf_unit *ret);
/* An offset in a section, by the unit's size of offsets. */
uint64_t dwarf_offset_read(struct cursor *at, unsigned int size);
/* The length that headers begin with; fails when there aren't that many bytes. */
uint64_t dwarf_length_read(struct cursor *at, uint8_t *ret_offset_size);

/* ---- entries ---- */

enum dwarf_class {
	DWARF_NOTHING, /* a form that isn't known, or bytes that nobody here needs */
	DWARF_ADDRESS,
	DWARF_CONSTANT, /* and offsets in other sections */
	DWARF_TEXT,
	DWARF_REFERENCE,	    /* an entry of this file */
	DWARF_SUPPLEMENT_REFERENCE, /* of the supplementary one */
	DWARF_RANGE_LIST,	    /* number of a list of ranges */
};

struct dwarf_value {
	enum dwarf_class class;
	uint64_t number;
	const char *text; /* lives as long as the file; may be NULL */
};

struct dwarf_abbrevs *dwarf_unit_abbrevs(struct dwarf_unit *unit);
/* NULL when there is none of that number. */
const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *abbrevs, uint64_t code);
/* Frees those of all units. */
void dwarf_abbrevs_free(struct dwarf_source *file);
const struct dwarf_attribute *dwarf_abbrev_attributes(const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev);
/* Reads a value; a form that isn't known makes the cursor fail. */
struct dwarf_value dwarf_value_read(const struct dwarf_unit *unit, struct cursor *at, const struct dwarf_attribute *attribute);
/* Goes on without it. */
void dwarf_value_skip(const struct dwarf_unit *unit, struct cursor *at, const struct dwarf_attribute *attribute);
void dwarf_values_skip(const struct dwarf_unit *unit, struct cursor *at, const struct dwarf_abbrev *abbrev);

/* What an entry has of these. */
struct dwarf_entry {
	uint16_t tag;
	struct dwarf_value low, high, ranges; /* high: an address, or a constant to add to the low one */
	struct dwarf_value origin;	      /* the entry that this is a copy or the definition of */
	const char *name, *linkage_name;
	uint64_t call_file, call_line;
};
void dwarf_entry_read(const struct dwarf_unit *unit, struct cursor *at, const struct dwarf_abbrev *abbrev, struct dwarf_entry *ret);
/* The entry at an offset of `file`; false when there is none. `hint`: a unit that it may be in, or NULL; one of a split file must be given.
 */
bool dwarf_entry_at(const struct dwarf_source *file, const struct dwarf_unit *hint, uint64_t offset, struct dwarf_entry *ret);

/* Address `index` of the unit's part of .debug_addr; false when there is none. */
bool dwarf_indexed_address(const struct dwarf_unit *unit, uint64_t index, uint64_t *ret);

struct dwarf_range {
	uint64_t low, high; /* virtual addresses, high exclusive */
	uint32_t owner;	    /* whatever the caller wants to know */
	uint32_t depth;	    /* sorts ranges with the same beginning: deeper is further inside */
};
struct dwarf_range_list { /* a VEC (base/vec.h) */
	struct dwarf_range *data;
	size_t len, cap;
};

/* Adds the ranges of an entry, with `owner` and `depth`. Empty ones, and those of code that the linker has dropped, are left out. */
void dwarf_entry_ranges(const struct dwarf_unit *unit, const struct dwarf_entry *entry, uint32_t owner, uint32_t depth,
			struct dwarf_range_list *list);
void dwarf_ranges_sort(struct dwarf_range_list *list);
/* The last range that starts at or before the address, or NULL. */
const struct dwarf_range *dwarf_ranges_find(const struct dwarf_range_list *list, uint64_t address);

/* The sections of a file that debug information is in (DWARF 2 to 5), ready to be read: inflated, and relocated in relocatable files.
 *
 * One program's debug information can be spread over several files: what dwz has taken out of many of them is in one more ("supplementary",
 * named in .gnu_debugaltlink), and with split DWARF most of it stays in .dwo files, or in one .dwp file made of these. */
#pragma once

#include "base/hash.h"
#include "symbol/elf/elf.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_LINE,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_ARANGES,
	DWARF_CU_INDEX,
	DWARF_SECTIONS,
};

struct dwarf_bytes {
	const uint8_t *data; /* NULL when there are none */
	size_t size;
};

struct dwarf_unit;

struct dwarf_source {
	char *path;
	struct elf_file elf;
	bool split; /* a .dwo or .dwp file */
	/* What was asked for so far: dwarf_section_bytes(). */
	pthread_mutex_t load_lock; /* guards the three */
	bool loaded[DWARF_SECTIONS];
	struct dwarf_bytes sections[DWARF_SECTIONS];
	void *owned[DWARF_SECTIONS];
	struct dwarf_unit *units; /* by offset; dwarf_unit.h makes and destroys them */
	size_t unit_count;
	struct dwarf_source *supplement; /* shared by all that refer to it; NULL = none */
	uint64_t attribute_count;	 /* in all of `abbrevs` */
	pthread_mutex_t abbrev_lock;	 /* guards `abbrevs` */
	struct map64 abbrevs;		 /* place and sizes → struct dwarf_abbrevs *; of those that were read so far */
};

/* Opens the file and its supplementary one. `split`: a .dwo or .dwp file. NULL when it has no debug information. */
struct dwarf_source *dwarf_source_open(const char *path, bool split);
void dwarf_source_close(struct dwarf_source *file);

/* The bytes of a section, which is inflated when it is first asked for. They live as long as the file. Thread-safe. */
struct dwarf_bytes dwarf_section_bytes(const struct dwarf_source *file, enum dwarf_section which);
/* A cursor from `offset` to the end of a section; a failed one when that is outside. */
struct cursor dwarf_cursor(const struct dwarf_source *file, enum dwarf_section section, uint64_t offset);
/* The string at an offset of DWARF_STR or DWARF_LINE_STR, NULL when there is none. Lives as long as the file. */
const char *dwarf_string(const struct dwarf_source *file, enum dwarf_section section, uint64_t offset);

/* Finished lines of stacks' frames, by address: what a line says depends on the place in its file and on the fields, not on the sample.
 * Bounded; one owner. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct script_line_key {
	uint64_t address; /* in the file */
	uint64_t shown;	  /* as the line has it: that, or where it was in memory */
	uint32_t file;	  /* its number + 1, 0 = none */
	uint32_t look;	  /* all else that the line depends on */
};

struct script_lines;

struct script_lines *script_lines_create(void);
void script_lines_destroy(struct script_lines *lines);

/* Adds the key's text if it is known. */
bool script_lines_add(const struct script_lines *lines, const struct script_line_key *key, struct strbuf *out);
/* Remembers its text. */
void script_lines_keep(struct script_lines *lines, const struct script_line_key *key, const char *text, size_t length);

/* Copies go in pieces of this many bytes, and up to one too far at both places: there is room for as much behind all text that is copied
 * so. */
enum { SCRIPT_WIDE = 32 };

static inline char *script_put_wide(char *to, const char *from, size_t length)
{
	char *end = to + length;
	for (; to < end; to += SCRIPT_WIDE, from += SCRIPT_WIDE)
		memcpy(to, from, SCRIPT_WIDE);
	return end;
}

static inline void script_add_wide(struct strbuf *out, const char *text, size_t length)
{
	script_put_wide(strbuf_reserve(out, length + SCRIPT_WIDE), text, length);
	strbuf_advance(out, length);
}

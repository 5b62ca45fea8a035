/* An ELF file of functions that have names and source lines, but no code: where chains have places of their own for what an interpreter
 * runs, any reader finds the names by it. */
#pragma once

#include "base/buildid.h"
#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

/* Each function has this much room, a byte for each of its lines; the first begins here. */
enum { NAMES_IMAGE_STRIDE = 1 << 16, NAMES_IMAGE_BEGIN = 0x80 };

struct names_image_function {
	const char *name, *file;
	uint32_t first_line;
	const uint32_t *lines; /* further ones, as distances from the first, sorted */
	size_t line_count;
};

/* Adds the bytes of the file. The build-id is made of them. `machine`: EM_*. */
void names_image_make(const struct names_image_function *functions, size_t count, uint16_t machine, struct strbuf *out,
		      struct buildid *ret_id);

/* The fixed parts of the file format: file header, attributes and their byte order. Used within perfdata by reader and writer.
 * Source of the facts: tools/perf/Documentation/perf.data-file-format.txt. */
#pragma once

#include "base/error.h"
#include "event/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEADER_MAGIC_V1 0x454c494646524550ull /* "PERFFILE" */
#define HEADER_MAGIC_V2 0x32454c4946524550ull /* "PERFILE2" */

struct file_section {
	uint64_t offset;
	uint64_t size;
};

struct file_header {
	uint64_t magic;
	uint64_t size;	    /* of this header: tells file form (≥ 72) from pipe form (16) */
	uint64_t attr_size; /* bytes of one entry of `attrs`: the attribute and the section of its ids */
	struct file_section attrs;
	struct file_section data;
	struct file_section event_types; /* names in v1 files */
	uint64_t features[4];
};

enum { FILE_HEADER_SIZE = 104, FILE_HEADER_SIZE_OLD = 72 /* without features */, PIPE_HEADER_SIZE = 16 };

_Static_assert(sizeof(struct file_header) == FILE_HEADER_SIZE, "file format");

/* What kind of file begins with these bytes. */
struct header_kind {
	bool v1;
	bool swapped;
	bool pipe;
};
/* False when it is no perf.data. */
bool header_detect(const void *data, size_t size, struct header_kind *ret);

/* Reads the header of the file form. `size` is what there is of the file: every section is cut down to what lies in it. */
struct error *header_read(const void *data, size_t size, struct header_kind kind, struct file_header *ret);

/* Reads an attribute of any size into the form of today: missing parts are 0, newer parts are left out. `ret_size` is what it takes in
 * the file. False when it doesn't fit into `size` bytes. */
bool attr_read(const void *data, size_t size, bool swap, struct event_attr *ret, size_t *ret_size);

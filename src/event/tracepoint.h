/* Formats of tracepoints: where the fields are and how a record is printed. Behind it: libtraceevent (printing), own offsets (speed). */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All formats known: read from a recording's header or from tracefs. Immutable after loading, so shared between threads; printing is not
 * (lock inside). */
struct tracepoint_formats;

enum tracepoint_field_flag {
	TRACEPOINT_FIELD_SIGNED = 1 << 0,
	TRACEPOINT_FIELD_STRING = 1 << 1,
	TRACEPOINT_FIELD_ARRAY = 1 << 2,
	TRACEPOINT_FIELD_DYNAMIC = 1 << 3,  /* __data_loc: the 4 bytes hold offset | length << 16 */
	TRACEPOINT_FIELD_RELATIVE = 1 << 4, /* __rel_loc */
	TRACEPOINT_FIELD_POINTER = 1 << 5,
	TRACEPOINT_FIELD_COMMON = 1 << 6, /* one of common_type, common_flags, … */
};

struct tracepoint_field {
	const char *name;
	const char *type; /* as in the format */
	uint32_t offset;
	uint32_t size;
	uint32_t element_size;
	uint32_t flags;
};

struct tracepoint {
	int id;
	const char *system;
	const char *name;
	const struct tracepoint_field *fields; /* in the format's order, common ones first */
	size_t field_count;
	const char *print_format;
	void *tep_event; /* struct tep_event *, for printing */
	struct tracepoint_formats *formats;
};

/* From the TRACING_DATA section of a recording (`swap` is found out from the data itself). Damaged data gives an error; what was read
 * before it stays usable. */
struct error *tracepoint_formats_load_data(const void *data, size_t size, struct tracepoint_formats **ret);
struct tracepoint_formats *tracepoint_formats_create(void);
void tracepoint_formats_destroy(struct tracepoint_formats *formats);
/* Adds one format file's text. */
struct error *tracepoint_formats_add(struct tracepoint_formats *formats, const char *system, const char *text, size_t size);
const struct tracepoint *tracepoint_by_id(const struct tracepoint_formats *formats, int id);
const struct tracepoint *tracepoint_by_name(const struct tracepoint_formats *formats, const char *system, const char *name);
const struct tracepoint_field *tracepoint_field(const struct tracepoint *tracepoint, const char *name);

/* An integer field of a raw record (native byte order), sign-extended as its type says; 0 when the record is too short. */
uint64_t tracepoint_read(const struct tracepoint_field *field, const void *raw, size_t size);
/* A string field, static or dynamic; "" when damaged. The string ends at *ret_len at the latest. */
const char *tracepoint_read_string(const struct tracepoint_field *field, const void *raw, size_t size, size_t *ret_len);

/* What `perf script` prints behind the event's name: the print format applied to the record. Unsafe bytes are escaped by the caller's
 * text_add_safe(). */
void tracepoint_print(const struct tracepoint *tracepoint, const void *raw, size_t size, struct strbuf *out);

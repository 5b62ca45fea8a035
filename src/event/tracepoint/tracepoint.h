/* Formats of tracepoints: where the fields are and how a record is printed.
 *
 * The kernel's print format is compiled, at the first record of a tracepoint, into a short program; one that isn't understood lists all
 * fields.
 *
 * Raw records are bytes as recorded: integers are in the byte order of the machine that recorded them, which the formats know.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/untrusted.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All formats known: read from a recording's header or from tracefs. Immutable after loading, so shared between threads (a printer is made
 * under a lock when first needed). */
struct tracepoint_formats;

enum tracepoint_field_flag {
	TRACEPOINT_FIELD_SIGNED = 1 << 0,
	TRACEPOINT_FIELD_STRING = 1 << 1,
	TRACEPOINT_FIELD_ARRAY = 1 << 2,
	TRACEPOINT_FIELD_DYNAMIC = 1 << 3,  /* __data_loc: the 4 bytes hold offset | length << 16 */
	TRACEPOINT_FIELD_RELATIVE = 1 << 4, /* __rel_loc: the offset counts from the field's end */
	TRACEPOINT_FIELD_POINTER = 1 << 5,
	TRACEPOINT_FIELD_COMMON = 1 << 6,  /* one of common_type, common_flags, … */
	TRACEPOINT_FIELD_SWAPPED = 1 << 7, /* recorded in the other byte order */
};

struct tracepoint_field {
	const char *name;
	const char *type; /* as in the format, the array's brackets at its end: "char[16]" */
	uint32_t offset;
	uint32_t size;
	uint32_t element_size; /* of arrays; else `size` */
	uint32_t flags;
};

struct tracepoint {
	int id;
	const char *system;
	const char *name;
	const struct tracepoint_field *fields; /* in the format's order, common ones first */
	size_t field_count;
	const char *print_format; /* what stands behind "print fmt:" */
	struct tracepoint_formats *formats;
	struct tracepoint_private *private;
};

/* From the TRACING_DATA section of a recording, whose byte order is found out from the data itself. Damaged data gives an error; what was
 * read before the damage is in *ret all the same (never NULL). Formats are copied. */
struct error *tracepoint_formats_load_data(const void *data, size_t size, struct tracepoint_formats **ret);
/* An empty set, for formats of this machine. */
struct tracepoint_formats *tracepoint_formats_create(void);
void tracepoint_formats_destroy(struct tracepoint_formats *formats);
/* Adds one format file's text. */
struct error *tracepoint_formats_add(struct tracepoint_formats *formats, const char *system, const char *text, size_t size);
/* The one that was added as number `index`, from 0; there must be so many. */
const struct tracepoint *tracepoint_by_index(const struct tracepoint_formats *formats, size_t index);
const struct tracepoint *tracepoint_by_id(const struct tracepoint_formats *formats, int id);
const struct tracepoint *tracepoint_by_name(const struct tracepoint_formats *formats, const char *system, const char *name);
/* Bytes of a page of memory of the machine that recorded; where that isn't known or makes no sense, 4096. */
uint32_t tracepoint_page_size(const struct tracepoint *tracepoint);
const struct tracepoint_field *tracepoint_field(const struct tracepoint *tracepoint, const char *name);

/* Who names kernel functions (%ps, %pS): returns the symbol that covers `address`, its start and its module (NULL: the kernel itself), or
 * NULL. It must be safe to call from several threads. Without one, the names come from the recording's own table, which newer recorders
 * leave empty. */
typedef const char *(*tracepoint_resolver)(void *context, uint64_t address, uint64_t *ret_start, const char **ret_module);
void tracepoint_formats_set_resolver(struct tracepoint_formats *formats, tracepoint_resolver resolver, void *context);

/* An integer field of a raw record, sign-extended as its type says; 0 when the record is too short. Of an array: its first element. */
uint64_t tracepoint_read(const struct tracepoint_field *field, const void *raw, size_t size);
/* The bytes of a field: of a dynamic one, what it points to. NULL and 0 when they aren't inside the record. */
const void *tracepoint_read_bytes(const struct tracepoint_field *field, const void *raw, size_t size, size_t *ret_len);
/* A string field, static or dynamic; "" when damaged. The string ends at *ret_len at the latest and need not have a NUL. */
const struct untrusted *tracepoint_read_string(const struct tracepoint_field *field, const void *raw, size_t size, size_t *ret_len);

/* A field as recorded: text, a number (pointers and longs in hexadecimal, but signed ones of 64 bits), or "ARRAY[0a, 00]". Safe for a
 * terminal. */
void tracepoint_print_field(const struct tracepoint_field *field, const void *raw, size_t size, struct strbuf *out);
/* All that aren't common to all tracepoints: " name=value" each. */
void tracepoint_print_fields(const struct tracepoint *tracepoint, const void *raw, size_t size, struct strbuf *out);

/* What `perf script` prints behind the event's name: the print format applied to the record. The text is safe for a terminal (base/text.h),
 * but for tabs and newlines that the format itself has. */
void tracepoint_print(const struct tracepoint *tracepoint, const void *raw, size_t size, struct strbuf *out);

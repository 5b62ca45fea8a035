/* What is known of each record type, made of perfdata/records.def: its name, the least size it can have, where its text is, its fields. The
 * reader checks by it. */
#include "perfdata/records.h"
#include "base/files/mapping.h"
#include "perfdata/record_fields.h"

#include <string.h>

/* The bytes that each record of a row has: LEAST_mmap, … */
enum {
#define U8(field) +1
#define U16(field) +2
#define U32(field) +4
#define U64(field) +8
#define S32(field) +4
#define BYTES(field, size) +size
#define OPTIONAL(fields)
#define EITHER(bit, fields, other) other
#define TEXT(field)
#define REST(field)
#define WORDS(field)
#define LIST(field, fields)
#define CPUS(field) +2
#define RECORD(type, name, number, title, fields, dump, script) LEAST_##name = sizeof(struct record_header) fields,
#include "perfdata/records.def"
};

/* Whether they end with a text: TEXT_mmap, … */
enum {
#define U8(field)
#define U16(field)
#define U32(field)
#define U64(field)
#define S32(field)
#define BYTES(field, size)
#define OPTIONAL(fields)
#define EITHER(bit, fields, other)
#define TEXT(field) +1
#define REST(field)
#define WORDS(field)
#define LIST(field, fields)
#define CPUS(field)
#define RECORD(type, name, number, title, fields, dump, script) TEXT_##name = 0 fields,
#include "perfdata/records.def"
};

#define NUMBER(field, size) {#field, size, FIELD_NUMBER},
#define U8(field) NUMBER(field, 1)
#define U16(field) NUMBER(field, 2)
#define U32(field) NUMBER(field, 4)
#define U64(field) NUMBER(field, 8)
#define S32(field) {#field, 4, FIELD_SIGNED},
#define BYTES(field, size) {#field, size, FIELD_BYTES},
#define OPTIONAL(...) {NULL, 0, FIELD_OPTIONAL}, __VA_ARGS__
#define EITHER(bit, fields, other) {NULL, bit, FIELD_EITHER}, fields{NULL, 0, FIELD_OTHER}, other{NULL, 0, FIELD_JOINED},
#define TEXT(field) {#field, 0, FIELD_TEXT},
#define REST(field) {#field, 0, FIELD_REST},
#define WORDS(field) {#field, 0, FIELD_WORDS},
#define LIST(field, fields) {#field, 0, FIELD_LIST}, fields
#define CPUS(field) {#field, 2, FIELD_CPUS},
#define RECORD(type, name, number, title, fields, dump, script) \
	static const struct record_field name##_record_fields[] = {fields{NULL, 0, FIELD_END}};
#define HEADER(type, name, number, title, fields, dump, script) \
	static const struct record_field name##_record_fields[] = {fields{NULL, 0, FIELD_END}};
#include "perfdata/records.def"

static const char same_text[] = "";
#define NONE NULL
#define SAME same_text
#define RECORD(type, name, number, title, fields, dump, script) static const char *const name##_texts[] = {dump, script};
#include "perfdata/records.def"

#define ROW(type, name, title, any_order)                                                                    \
	[RECORD_##type] = {"PERF_RECORD_" title,	   name##_texts, name##_record_fields, LEAST_##name, \
			   TEXT_##name ? LEAST_##name : 0, any_order},

static const struct record_kind kinds[RECORD_USER_MAX] = {
#define RECORD(type, name, number, title, ...) ROW(type, name, title, false)
#define HEADER(type, name, number, title, ...) ROW(type, name, title, true)
#define ALIKE(type, name, number, title) ROW(type, name, title, false)
#include "perfdata/records.def"
};

const struct record_kind *record_kind(uint32_t type)
{
	return type < RECORD_USER_MAX && kinds[type].name ? &kinds[type] : NULL;
}

const char *record_type_name(uint32_t type)
{
	const struct record_kind *kind = record_kind(type);
	return kind ? kind->name : "UNKNOWN";
}

const char *record_dump_text(const struct record_kind *kind)
{
	return kind->texts[0];
}

const char *record_script_text(const struct record_kind *kind)
{
	return kind->texts[1] == same_text ? kind->texts[0] : kind->texts[1];
}

const char *record_check(const struct record_kind *kind, const struct record_header *header)
{
	uint16_t size = mapping_u16(&header->size);
	if (size < kind->least_size)
		return "record too short for its type";
	if (header->type < RECORD_USER_START && size % 8)
		return "size is not a multiple of 8";
	if (kind->text_offset && !memchr((const uint8_t *)header + kind->text_offset, 0, (size_t)size - kind->text_offset))
		return "unterminated name";
	return NULL;
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Of file systems without generations of inodes the zeros behind a short one say nothing; but then it begins with the minor number of a
 * device, which is smaller than nearly all of what hashes begin with. */
static bool looks_like_device(const struct record_mmap2 *record)
{
	enum { LEAST = 8, SHORT = 12, MINORS = 1 << 20 };
	uint32_t minor;

	memcpy(&minor, record->build_id, sizeof(minor));
	return record->build_id_size < LEAST || (record->build_id_size <= SHORT && (minor < MINORS || __builtin_bswap32(minor) < MINORS));
}

bool record_has_build_id(const struct record_header *header)
{
	const struct record_mmap2 *record = (const void *)header;

	if (header->type != RECORD_MMAP2 || !(header->misc & RECORD_MISC_MMAP_BUILD_ID) || header->size < sizeof(*record) ||
	    record->build_id_size > sizeof(record->build_id) || looks_like_device(record))
		return false;
	return all_zero(record->reserved, sizeof(record->reserved)) &&
	       all_zero(record->build_id + record->build_id_size, sizeof(record->build_id) - record->build_id_size);
}

struct record_walk record_walk(const struct record_kind *kind, const struct record_header *header, size_t end)
{
	uint16_t misc = header->misc;
	if (header->type == RECORD_MMAP2 && !record_has_build_id(header))
		misc &= (uint16_t)~RECORD_MISC_MMAP_BUILD_ID;
	return (struct record_walk){.next = kind->fields, .offset = sizeof(*header), .end = end, .misc = misc};
}

/* The field behind the next one of this kind. */
static const struct record_field *behind(const struct record_field *field, enum record_field_kind kind)
{
	while (field->kind != kind)
		field++;
	return field + 1;
}

/* Steps over what isn't a field itself. */
static const struct record_field *pass_marks(struct record_walk *walk, const struct record_field *field)
{
	for (;;) {
		switch (field->kind) {
		case FIELD_EITHER:
			field = walk->misc & field->size ? field + 1 : behind(field, FIELD_OTHER);
			break;
		case FIELD_OTHER:
			field = behind(field, FIELD_JOINED);
			break;
		case FIELD_LIST:
			walk->list = ++field;
			break;
		case FIELD_OPTIONAL:
		case FIELD_JOINED:
			field++;
			break;
		default:
			return field;
		}
	}
}

const struct record_field *record_walk_next(struct record_walk *walk, size_t *ret_offset)
{
	const struct record_field *field = pass_marks(walk, walk->next);
	if (field->kind == FIELD_END && walk->list)
		field = walk->list;
	if (field->kind == FIELD_END || walk->offset > walk->end || walk->end - walk->offset < field->size)
		return NULL;
	*ret_offset = walk->offset;
	walk->offset += field->size;
	walk->next = field + 1;
	return field;
}

const struct record_field *record_find(const struct record_header *header, size_t end, const char *name, size_t length, size_t *ret_offset)
{
	const struct record_kind *kind = record_kind(header->type);
	const struct record_field *field = NULL;
	struct record_walk walk = {0};
	if (kind)
		walk = record_walk(kind, header, end);
	while (kind && (field = record_walk_next(&walk, ret_offset)))
		if (*field->name == *name && !strncmp(field->name, name, length) && !field->name[length])
			break;
	return field;
}

bool record_number(const struct record_header *header, size_t end, const char *name, uint64_t *ret)
{
	size_t offset;
	const struct record_field *field = record_find(header, end, name, strlen(name), &offset);
	if (!field || field->size > sizeof(*ret))
		return false;
	*ret = 0;
	memcpy(ret, (const uint8_t *)header + offset, field->size);
	return true;
}

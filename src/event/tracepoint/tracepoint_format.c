/* Reading a format file of tracefs (events/SYSTEM/EVENT/format):
 *
 *	name: sched_switch
 *	ID: 314
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		…
 *		(empty line)
 *		field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *		…
 *	print fmt: "prev_comm=%s …", REC->prev_comm, …
 *
 * Lines that are something else are skipped: kernels add some. The print format is not looked into here. */
#include "event/tracepoint/tracepoint_internal.h"

#include "base/number.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The number behind `key` in the line [at, end); false when there is none. */
static bool line_number(const char *at, const char *end, const char *key, uint32_t *ret)
{
	size_t len = strlen(key);

	for (; at + len < end; at++) {
		if (memcmp(at, key, len))
			continue;
		/* a copy, since no NUL ends the line */
		char digits[24] = "", *after;
		size_t left = (size_t)(end - at) - len;
		memcpy(digits, at + len, left < sizeof(digits) - 1 ? left : sizeof(digits) - 1);
		unsigned long value = strtoul(digits, &after, 10);
		if (after == digits || value > UINT32_MAX)
			return false;
		*ret = (uint32_t)value;
		return true;
	}
	return false;
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
		    !(isalnum((unsigned char)at[len]) || at[len] == '_'))
			return true;
	return false;
}

/* Size of an element of a dynamic array by its type; 4 for types that aren't known. */
static uint32_t element_size(const char *type, uint32_t long_size)
{
	static const struct {
		const char *word;
		uint32_t size;
	} sizes[] = {
		{"char", 1},  {"u8", 1},  {"s8", 1},  {"__u8", 1},  {"bool", 1}, {"short", 2}, {"u16", 2},   {"s16", 2},
		{"__u16", 2}, {"u64", 8}, {"s64", 8}, {"__u64", 8}, {"u32", 4},	 {"s32", 4},   {"__u32", 4}, {"int", 4},
	};

	if (has_word(type, "long"))
		return strstr(type, "long long") ? 8 : long_size;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (has_word(type, sizes[i].word))
			return sizes[i].size;
	return 4;
}

/* Splits "unsigned long args[6]" into the type "unsigned long[6]" and the name "args". False when there is no name. */
static bool split_declaration(struct arena *arena, const char *begin, const char *end, struct tracepoint_field *ret, uint32_t *ret_length)
{
	const char *name_end = end;

	while (name_end > begin && isspace((unsigned char)name_end[-1]))
		name_end--;
	const char *bracket = name_end;
	*ret_length = 0;
	if (name_end > begin && name_end[-1] == ']') {
		while (bracket > begin && *bracket != '[')
			bracket--;
		*ret_length = (uint32_t)strtoul(bracket + 1, NULL, 0);
		ret->flags |= TRACEPOINT_FIELD_ARRAY;
		end = name_end;
		name_end = bracket;
	}
	const char *name = name_end;
	while (name > begin && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
		name--;
	if (name == name_end)
		return false;
	const char *type_end = name;
	while (type_end > begin && isspace((unsigned char)type_end[-1]))
		type_end--;
	ret->name = arena_strndup(arena, name, (size_t)(name_end - name));
	ret->type = ret->flags & TRACEPOINT_FIELD_ARRAY
			    ? arena_printf(arena, "%.*s%.*s", (int)(type_end - begin), begin, (int)(end - bracket), bracket)
			    : arena_strndup(arena, begin, (size_t)(type_end - begin));
	return true;
}

static void set_flags(struct tracepoint_field *field, bool is_signed, bool swap, uint32_t length)
{
	const char *type = field->type;

	field->flags |= (is_signed ? TRACEPOINT_FIELD_SIGNED : 0) | (swap ? TRACEPOINT_FIELD_SWAPPED : 0);
	if (str_starts_with(type, "__data_loc"))
		field->flags |= TRACEPOINT_FIELD_DYNAMIC | TRACEPOINT_FIELD_ARRAY;
	if (str_starts_with(type, "__rel_loc"))
		field->flags |= TRACEPOINT_FIELD_DYNAMIC | TRACEPOINT_FIELD_RELATIVE | TRACEPOINT_FIELD_ARRAY;
	if (strchr(type, '*'))
		field->flags |= TRACEPOINT_FIELD_POINTER;
	if ((field->flags & TRACEPOINT_FIELD_ARRAY) && (strstr(type, "char") || strstr(type, "u8") || strstr(type, "s8")))
		field->flags |= TRACEPOINT_FIELD_STRING;
	if (str_starts_with(field->name, "common_"))
		field->flags |= TRACEPOINT_FIELD_COMMON;
	field->element_size = field->size;
	if (field->flags & TRACEPOINT_FIELD_DYNAMIC)
		field->element_size = element_size(type, 8);
	else if (length)
		field->element_size = field->size / length;
	else if (field->flags & TRACEPOINT_FIELD_ARRAY)
		field->element_size = element_size(type, 8);
	if (!field->element_size)
		field->element_size = 1;
}

/* One "field:" line, [at, end) behind the colon. */
static bool parse_field(struct arena *arena, const char *at, const char *end, bool swap, struct tracepoint_field *ret)
{
	const char *semicolon = memchr(at, ';', (size_t)(end - at));
	uint32_t length, is_signed = 0;

	*ret = (struct tracepoint_field){0};
	if (!semicolon || !split_declaration(arena, at, semicolon, ret, &length))
		return false;
	if (!line_number(semicolon, end, "offset:", &ret->offset) || !line_number(semicolon, end, "size:", &ret->size))
		return false;
	line_number(semicolon, end, "signed:", &is_signed);
	set_flags(ret, is_signed, swap, length);
	return true;
}

struct error *tracepoint_parse_format(struct arena *arena, const char *text, size_t size, bool swap, struct tracepoint *ret)
{
	VEC(struct tracepoint_field) fields = {0};
	const char *end = text + size;
	bool have_id = false;

	*ret = (struct tracepoint){.print_format = ""};
	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line)), *line_end = newline ? newline : end;
		const char *at = line;
		while (at < line_end && isspace((unsigned char)*at))
			at++;
		size_t left = (size_t)(line_end - at);
		uint32_t id;
		struct tracepoint_field field;
		if (left > 6 && !memcmp(at, "field:", 6) && parse_field(arena, at + 6, line_end, swap, &field)) {
			vec_push(&fields, field);
		} else if (left > 6 && !memcmp(at, "name: ", 6)) {
			ret->name = arena_strndup(arena, at + 6, left - 6);
		} else if (left > 3 && !memcmp(at, "ID:", 3) && line_number(at, line_end, "ID:", &id) && id <= INT32_MAX) {
			ret->id = (int)id;
			have_id = true;
		} else if (left > 10 && !memcmp(at, "print fmt:", 10)) {
			for (at += 10; at < end && *at == ' ';)
				at++;
			ret->print_format = arena_strndup(arena, at, (size_t)(end - at));
			break;
		}
		line = line_end + 1;
	}
	ret->fields = arena_copy(arena, fields.data, fields.len * sizeof(*fields.data));
	ret->field_count = fields.len;
	vec_deinit(&fields);
	if (!ret->name || !have_id)
		return error_new_kind(ERROR_FORMAT, "a tracepoint's format has no %s", ret->name ? "id" : "name");
	return NULL;
}

/* The TRACING_DATA section of a recording:
 *
 *	17 08 44 "tracing"   magic
 *	"0.6\0"              version
 *	u8 big_endian, u8 long_size, u32 page_size
 *	"header_page\0"  u64 size, text
 *	"header_event\0" u64 size, text
 *	u32 count, count × { u64 size, text }                                    formats of ftrace's own records
 *	u32 count, count × { name\0, u32 count, count × { u64 size, text } }     formats by system
 *	u32 size, text       kallsyms
 *	u32 size, text       printk formats
 *	u64 size, text       saved command lines (version 0.6 and above)
 *
 * Source of the facts: tools/perf/util/trace-event-info.c of the kernel. */
#include "event/tracepoint/tracepoint_internal.h"

#include "base/cursor.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* A text with a size in front; NULL sets the cursor's failure. */
static const char *sized_text(struct cursor *cursor, uint64_t size, size_t *ret_size)
{
	*ret_size = 0;
	if (size > cursor_left(cursor)) {
		cursor->failed = true;
		return NULL;
	}
	*ret_size = (size_t)size;
	return cursor_bytes(cursor, (size_t)size);
}

static bool skip_named_text(struct cursor *cursor, const char *name)
{
	size_t len = strlen(name) + 1, size;
	const char *text = cursor_bytes(cursor, len);

	if (!text || memcmp(text, name, len)) {
		cursor->failed = true;
		return false;
	}
	return sized_text(cursor, cursor_u64(cursor), &size);
}

/* `count` formats of one system. A format that cannot be read is left out: the first such error is kept. */
static void load_system(struct cursor *cursor, struct tracepoint_formats *formats, const char *system, struct error **error)
{
	uint32_t count = cursor_u32(cursor);

	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		size_t size;
		const char *text = sized_text(cursor, cursor_u64(cursor), &size);
		struct error *failed = text ? tracepoint_formats_add(formats, system, text, size) : NULL;
		if (*error)
			error_free(failed);
		else
			*error = failed;
	}
}

static void load_formats(struct cursor *cursor, struct tracepoint_formats *formats, struct error **error)
{
	if (!skip_named_text(cursor, "header_page") || !skip_named_text(cursor, "header_event"))
		return;
	load_system(cursor, formats, "ftrace", error);
	uint32_t systems = cursor_u32(cursor);
	for (uint32_t i = 0; i < systems && !cursor->failed; i++) {
		const char *system = cursor_string(cursor);
		if (system)
			load_system(cursor, formats, system, error);
	}
}

/* One line of the printk formats: 0xffffffff81234567 : "text\n" */
static void add_printk(struct tracepoint_formats *formats, const char *line, size_t len)
{
	char *colon;
	uint64_t address = strtoull(line, &colon, 16);
	const char *text = colon + strspn(colon, " "), *end = line + len;

	if (colon == line || text >= end || *text != ':')
		return;
	text += 1 + (text[1] == ' ');
	text += text < end && *text == '"';
	end -= end > text && end[-1] == '"';
	if (end - text >= 2 && end[-2] == '\\' && end[-1] == 'n')
		end -= 2;
	if (end >= text)
		*map64_insert(&formats->printk_by_address, address, NULL) =
			(uintptr_t)arena_strndup(&formats->arena, text, (size_t)(end - text));
}

static void load_printk(struct cursor *cursor, struct tracepoint_formats *formats)
{
	size_t size;
	const char *text = sized_text(cursor, cursor_u32(cursor), &size);
	char *copy = text ? mem_strndup(text, size) : NULL;

	for (const char *line = copy; line && *line;) {
		size_t len = strcspn(line, "\n");
		add_printk(formats, line, len);
		line += len + (line[len] == '\n');
	}
	free(copy);
}

struct error *tracepoint_formats_load_data(const void *data, size_t size, struct tracepoint_formats **ret)
{
	static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	struct tracepoint_formats *formats = *ret = tracepoint_formats_create();
	struct cursor cursor = cursor_init(data, size, false);
	const uint8_t *start = cursor_bytes(&cursor, sizeof(magic));
	struct error *error = NULL;

	if (!start || memcmp(start, magic, sizeof(magic)))
		return error_new_kind(ERROR_FORMAT, "the tracing data has an invalid header");
	cursor_string(&cursor); /* the version: what it adds comes behind what is read here */
	formats->big_endian = cursor_u8(&cursor);
	formats->swap = formats->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	cursor.swap = formats->swap;
	formats->long_size = cursor_u8(&cursor);
	formats->page_size = cursor_u32(&cursor);
	load_formats(&cursor, formats, &error);
	size_t kallsyms;
	sized_text(&cursor, cursor_u32(&cursor), &kallsyms);
	load_printk(&cursor, formats);
	if (!error && cursor.failed)
		error = error_new_kind(ERROR_FORMAT, "the tracing data is truncated after %zu tracepoints", formats->tracepoints.len);
	return error;
}

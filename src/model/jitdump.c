/* Reading jitdumps. Records are read in the order of the file; code is told apart by where its bytes are in the file, which stays the same
 * when it is moved in memory. Lines come in a record before the code that they are about. Everything is checked: the file is another
 * program's. */
#include "model/jitdump.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"

#include <string.h>

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE, CODE_UNWINDING_INFO };
enum { HEADER_SIZE = 40, RECORD_HEADER_SIZE = 16, FLAG_CPU_CLOCK = 1, ELF_HEADER_SIZE = 64 };

#define MAGIC 0x4a695444u
#define MAGIC_SWAPPED 0x4454694au
#define V8_PADDING 0xdeadbeefu
#define HEADER_DISTANCE_NS 10000000000u

struct record_head {
	uint32_t id, size;
	uint64_t time;
};

struct reading {
	struct jitdump *dump;
	uint64_t debug_info, unwind_info; /* of the code that is to come */
	struct map64 by_index;		  /* the compiler's number → number in codes + 1 */
};

static struct cursor cursor_at(const struct jitdump *dump, uint64_t offset, uint64_t size)
{
	if (offset > dump->mapping.size || size > dump->mapping.size - offset)
		return (struct cursor){.failed = true};
	return cursor_init(dump->mapping.data + offset, size, dump->swap);
}

static struct error *read_header(struct jitdump *dump)
{
	struct cursor at = cursor_at(dump, 0, HEADER_SIZE);
	uint32_t magic = cursor_u32(&at);
	if (magic != MAGIC && magic != MAGIC_SWAPPED)
		return error_new_kind(ERROR_FORMAT, "%s: not a jitdump", dump->path);
	at.swap = dump->swap = magic == MAGIC_SWAPPED;
	cursor_u32(&at); /* version */
	uint32_t size = cursor_u32(&at);
	dump->machine = (uint16_t)cursor_u32(&at);
	dump->shifted_lines = cursor_u32(&at) == V8_PADDING;
	cursor_u32(&at); /* the pid, as the process itself sees it */
	dump->time = cursor_u64(&at);
	dump->cpu_clock = cursor_u64(&at) & FLAG_CPU_CLOCK;
	dump->end = size < HEADER_SIZE ? HEADER_SIZE : size;
	return at.failed ? error_new_kind(ERROR_FORMAT, "%s: the header of the jitdump is truncated", dump->path) : NULL;
}

static void read_load(struct reading *reading, struct cursor at, uint64_t time)
{
	struct jitdump *dump = reading->dump;
	struct jitdump_code code = {.debug_info = reading->debug_info, .unwind_info = reading->unwind_info};
	reading->debug_info = reading->unwind_info = 0;
	cursor_u64(&at); /* pid and tid, as the process itself sees them */
	cursor_u64(&at); /* the same address once more */
	code.address = cursor_u64(&at);
	code.size = cursor_u64(&at);
	code.index = cursor_u64(&at);
	const uint8_t *end = at.failed ? NULL : memchr(at.at, 0, cursor_left(&at));
	if (!end || !code.size || code.size > (uint64_t)(at.end - end) - 1)
		return;
	code.name = (const char *)at.at;
	code.offset = (uint64_t)(end + 1 - dump->mapping.data);
	vec_push(&dump->codes, code);
	*map64_insert(&reading->by_index, code.index, NULL) = dump->codes.len;
	vec_push(&dump->events, (struct jitdump_event){time, (uint32_t)dump->codes.len - 1, code.address});
}

static void read_move(struct reading *reading, struct cursor at, uint64_t time)
{
	cursor_u64(&at);
	cursor_u64(&at);
	cursor_u64(&at); /* where it was */
	uint64_t address = cursor_u64(&at);
	cursor_u64(&at); /* its size */
	const uint64_t *slot = map64_find(&reading->by_index, cursor_u64(&at));
	if (!at.failed && slot)
		vec_push(&reading->dump->events, (struct jitdump_event){time, (uint32_t)*slot - 1, address});
}

/* The record at an offset, its header passed over; failed when it isn't whole. */
static struct cursor record_at(const struct jitdump *dump, uint64_t offset, struct record_head *ret)
{
	struct cursor at = cursor_at(dump, offset, RECORD_HEADER_SIZE);
	ret->id = cursor_u32(&at);
	ret->size = cursor_u32(&at);
	ret->time = cursor_u64(&at);
	struct cursor record = at.failed ? at : cursor_at(dump, offset, ret->size);
	cursor_bytes(&record, RECORD_HEADER_SIZE);
	return record;
}

static void read_records(struct jitdump *dump)
{
	struct reading reading = {.dump = dump};
	struct record_head head;
	for (struct cursor at; !(at = record_at(dump, dump->end, &head)).failed && head.id != CODE_CLOSE; dump->end += head.size) {
		if (head.id == CODE_LOAD)
			read_load(&reading, at, head.time);
		else if (head.id == CODE_MOVE)
			read_move(&reading, at, head.time);
		else if (head.id == CODE_DEBUG_INFO)
			reading.debug_info = dump->end;
		else if (head.id == CODE_UNWINDING_INFO)
			reading.unwind_info = dump->end;
	}
	map64_deinit(&reading.by_index);
}

/* V8 and CPython put the time of day into the header, in microseconds. */
static void settle_time(struct jitdump *dump)
{
	struct record_head first;
	if (record_at(dump, dump->end, &first).failed)
		return;
	if (first.time < dump->time || first.time - dump->time > HEADER_DISTANCE_NS)
		dump->time = first.time;
}

struct error *jitdump_open(int fd, const char *path, uint64_t from, struct jitdump **ret)
{
	struct jitdump *dump = mem_zalloc(sizeof(*dump));
	dump->path = mem_strdup(path);
	struct error *error = mapping_open_fd(fd, path, &dump->mapping);
	if (!error)
		error = read_header(dump);
	if (error) {
		jitdump_close(dump);
		return error;
	}
	if (from)
		dump->end = from;
	settle_time(dump);
	read_records(dump);
	*ret = dump;
	return NULL;
}

void jitdump_close(struct jitdump *dump)
{
	if (!dump)
		return;
	vec_deinit(&dump->codes);
	vec_deinit(&dump->events);
	mapping_close(&dump->mapping);
	free(dump->path);
	free(dump);
}

/* ---- asking ---- */

const struct jitdump_code *jitdump_find(const struct jitdump *dump, uint64_t offset)
{
	size_t after = partition_point(i, dump->codes.len, dump->codes.data[i].offset <= offset);
	const struct jitdump_code *code = after ? &dump->codes.data[after - 1] : NULL;
	return code && offset - code->offset < code->size ? code : NULL;
}

void jitdump_lines_begin(const struct jitdump *dump, const struct jitdump_code *code, struct jitdump_lines *lines)
{
	struct record_head head;
	*lines = (struct jitdump_lines){0};
	if (!code->debug_info)
		return;
	lines->at = record_at(dump, code->debug_info, &head);
	lines->base = cursor_u64(&lines->at) + (dump->shifted_lines ? ELF_HEADER_SIZE : 0);
	lines->left = cursor_u64(&lines->at);
}

/* Lines are entries (address, line, discriminator, name), sorted by address; the name "\xff" is the one before once more. */
bool jitdump_lines_next(struct jitdump_lines *lines)
{
	if (!lines->left || lines->at.failed)
		return false;
	lines->left--;
	uint64_t address = cursor_u64(&lines->at);
	lines->line = cursor_u32(&lines->at);
	cursor_u32(&lines->at); /* discriminator, or column */
	const char *name = cursor_string(&lines->at);
	if (!name || address < lines->base)
		return false;
	lines->distance = address - lines->base;
	lines->file = !strcmp(name, "\xff") ? lines->file : name;
	return true;
}

bool jitdump_line(const struct jitdump *dump, const struct jitdump_code *code, uint64_t distance, const char **ret_file, uint32_t *ret_line)
{
	struct jitdump_lines lines;
	const char *file = NULL;
	jitdump_lines_begin(dump, code, &lines);
	while (jitdump_lines_next(&lines) && lines.distance <= distance) {
		file = lines.file;
		*ret_line = lines.line;
	}
	*ret_file = file;
	return file && *file;
}

/* The section lies behind the code, at the next multiple of 8; its table for binary search is behind it. */
bool jitdump_unwind(const struct jitdump *dump, const struct jitdump_code *code, struct jitdump_unwind *ret)
{
	struct record_head head;
	struct cursor at = code->unwind_info ? record_at(dump, code->unwind_info, &head) : (struct cursor){.failed = true};
	uint64_t size = cursor_u64(&at), table_size = cursor_u64(&at), mapped_size = cursor_u64(&at);
	if (at.failed || table_size >= size || size > cursor_left(&at))
		return false;
	*ret = (struct jitdump_unwind){
		.eh_frame = at.at,
		.size = size - table_size,
		.table_size = table_size,
		.mapped_size = mapped_size < size ? mapped_size : size,
		.address = code->offset + ((code->size + 7) & ~(uint64_t)7),
	};
	return true;
}

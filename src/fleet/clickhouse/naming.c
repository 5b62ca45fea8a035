/* Questions and rows of naming.h. */
#include "fleet/clickhouse/naming.h"

#include "base/cursor.h"
#include "fleet/clickhouse/row_binary.h"
#include "result/calltree.h"
#include "view/export/gzip.h"

#include <inttypes.h>
#include <string.h>

enum { ANSWER_MAX = 1 << 30 };

void unnamed_deinit(struct unnamed *unnamed)
{
	vec_deinit(&unnamed->files);
	vec_deinit(&unnamed->frames);
	arena_deinit(&unnamed->arena);
}

static struct error *damaged(void)
{
	return error_new_kind(ERROR_FORMAT, "the engine's answer (frames without names) is not as it should be");
}

/* Nobody else's words go into a question. */
static bool is_build_id(const char *text, size_t length)
{
	return length && length <= 40 && strspn(text, "0123456789abcdef") >= length;
}

static bool read_file(struct cursor *cursor, struct unnamed *unnamed)
{
	struct unnamed_file file = {0};
	size_t id_length, length;
	const char *id = row_text(cursor, &id_length), *name = row_text(cursor, &length);
	file.file = arena_strndup(&unnamed->arena, name, length);
	file.frames = cursor_u64(cursor);
	if (cursor->failed || !is_build_id(id, id_length))
		return false;
	memcpy(file.build_id, id, id_length);
	vec_push(&unnamed->files, file);
	return true;
}

static bool read_frame(struct cursor *cursor, struct unnamed *unnamed)
{
	struct unnamed_frame frame = {.id = cursor_u64(cursor), .address = cursor_u64(cursor)};
	frame.day = cursor_u16(cursor);
	frame.kind = cursor_u8(cursor);
	frame.inlined = cursor_u8(cursor);
	vec_push(&unnamed->frames, frame);
	return !cursor->failed;
}

static struct error *ask(struct clickhouse *clickhouse, const struct strbuf *sql, bool (*read)(struct cursor *, struct unnamed *),
			 struct unnamed *ret)
{
	struct strbuf answer = {0};
	struct error *error = clickhouse_ask(clickhouse, strbuf_str(sql), "", ANSWER_MAX, &answer);
	struct cursor cursor = cursor_init(strbuf_str(&answer), answer.len, false);
	while (!error && cursor_left(&cursor))
		error = read(&cursor, ret) ? NULL : damaged();
	strbuf_deinit(&answer);
	return error;
}

/* A frame is there several times, of different days and from different shards. */
#define WITHOUT_NAME " GROUP BY id HAVING argMax(function, version) = ''"

struct error *clickhouse_ask_unnamed_files(struct clickhouse *clickhouse, struct unnamed *ret)
{
	struct strbuf sql = {0};
	strbuf_printf(&sql,
		      "SELECT b, any(f), count() AS c FROM (SELECT id, any(build_id) AS b, any(file) AS f FROM frames"
		      " WHERE build_id != '' AND kind != %d" WITHOUT_NAME ") GROUP BY b ORDER BY c DESC, b FORMAT RowBinary",
		      FRAME_KERNEL);
	struct error *error = ask(clickhouse, &sql, read_file, ret);
	strbuf_deinit(&sql);
	return error;
}

struct error *clickhouse_ask_unnamed_frames(struct clickhouse *clickhouse, const struct unnamed_file *file, struct unnamed *ret)
{
	struct strbuf sql = {0};
	ret->frames.len = 0;
	strbuf_printf(
		&sql,
		"SELECT id, any(address), toUInt16(max(day)), any(kind), any(inlined) FROM frames WHERE build_id = '%s' AND kind != %d" WITHOUT_NAME
		" FORMAT RowBinary",
		file->build_id, FRAME_KERNEL);
	struct error *error = ask(clickhouse, &sql, read_frame, ret);
	strbuf_deinit(&sql);
	return error;
}

struct error *clickhouse_name_frames(struct clickhouse *clickhouse, const struct unnamed_file *file, const struct unnamed *unnamed)
{
	static const char statement[] =
		"INSERT INTO frames (id, day, version, build_id, address, file, function, source, line, kind, inlined) "
		"FORMAT RowBinary";
	struct strbuf rows = {0}, packed = {0};
	enum clickhouse_failure failure;
	for (size_t i = 0; i < unnamed->frames.len; i++) {
		const struct unnamed_frame *frame = &unnamed->frames.data[i];
		if (!frame->function)
			continue;
		row_add_u64(&rows, frame->id);
		row_add_u16(&rows, frame->day);
		row_add_u32(&rows, frame->day + (uint32_t)CLICKHOUSE_NAMED);
		row_add_text(&rows, file->build_id);
		row_add_u64(&rows, frame->address);
		row_add_text(&rows, file->file);
		row_add_text(&rows, frame->function);
		row_add_text(&rows, "");
		row_add_u32(&rows, 0);
		row_add_u8(&rows, frame->kind);
		row_add_u8(&rows, frame->inlined);
	}
	if (!rows.len)
		return NULL;
	const struct sink out = sink_to_text(&packed);
	struct sink in;
	struct gzip *gzip = gzip_begin(&out, &in);
	sink_move(&in, &rows);
	gzip_end(gzip);
	struct error *error = clickhouse_insert(clickhouse, statement, "", packed.data, packed.len, &failure);
	strbuf_deinit(&rows);
	strbuf_deinit(&packed);
	return error;
}

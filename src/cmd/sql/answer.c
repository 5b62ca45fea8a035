/* Rows of a statement. CSV and JSON are written as they come; a table has to be seen as a whole first. */
#include "cmd/sql/answer.h"

#include "base/json.h"
#include "base/text.h"
#include "result/table.h"
#include "view/sql/sqlite_library.h"
#include "view/view.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 1 << 16 };

static const char *text_of(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite()->column_text(statement, column);
	return text ? text : "";
}

/* ---- lines ---- */

static void add_csv_names(sqlite3_stmt *statement, struct strbuf *out)
{
	for (int i = 0; i < sqlite()->column_count(statement); i++) {
		const char *name = sqlite()->column_name(statement, i);
		strbuf_add_str(out, i ? "," : "");
		text_add_csv(out, name, strlen(name), ",");
	}
	strbuf_add_char(out, '\n');
}

static void add_csv_row(sqlite3_stmt *statement, struct strbuf *out)
{
	for (int i = 0; i < sqlite()->column_count(statement); i++) {
		const char *text = text_of(statement, i);
		strbuf_add_str(out, i ? "," : "");
		text_add_csv(out, text, strlen(text), ",");
	}
	strbuf_add_char(out, '\n');
}

static void add_json_value(sqlite3_stmt *statement, int column, struct json *json)
{
	switch (sqlite()->column_type(statement, column)) {
	case SQLITE_NULL:
		json_value(json, "null");
		break;
	case SQLITE_FLOAT: /* JSON has no infinity */
		json_value(json, "%s", isfinite(sqlite()->column_double(statement, column)) ? text_of(statement, column) : "null");
		break;
	case SQLITE_INTEGER:
		json_value(json, "%s", text_of(statement, column));
		break;
	default:
		json_string(json, text_of(statement, column));
	}
}

static void add_json_row(sqlite3_stmt *statement, struct strbuf *out)
{
	struct json json = {.out = out};
	json_begin_object(&json);
	for (int i = 0; i < sqlite()->column_count(statement); i++) {
		json_name(&json, sqlite()->column_name(statement, i));
		add_json_value(statement, i, &json);
	}
	json_end_object(&json);
	strbuf_add_char(out, '\n');
}

static int write_lines(sqlite3_stmt *statement, bool as_json, const struct sink *out)
{
	struct strbuf text = {0};
	int status;
	if (!as_json)
		add_csv_names(statement, &text);
	while ((status = sqlite()->step(statement)) == SQLITE_ROW) {
		if (as_json)
			add_json_row(statement, &text);
		else
			add_csv_row(statement, &text);
		if (text.len > BLOCK)
			sink_move(out, &text);
	}
	sink_move(out, &text);
	strbuf_deinit(&text);
	return status;
}

/* ---- a table ---- */

static void add_columns(sqlite3_stmt *statement, struct table *table)
{
	for (int i = 0; i < sqlite()->column_count(statement); i++) {
		const char *name = arena_strdup(&table->arena, sqlite()->column_name(statement, i));
		vec_push(&table->columns, (struct column){.id = name, .title = name, .kind = COLUMN_TEXT});
	}
}

static void add_table_row(sqlite3_stmt *statement, struct table *table)
{
	int count = sqlite()->column_count(statement);
	union cell *cells = arena_alloc(&table->arena, (size_t)count * sizeof(*cells));
	for (int i = 0; i < count; i++) {
		int type = sqlite()->column_type(statement, i);
		cells[i].text = arena_strdup(&table->arena, text_of(statement, i));
		if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
			table->columns.data[i].align = ALIGN_RIGHT;
	}
	table_add_row(table, cells);
}

static int write_table(sqlite3_stmt *statement, const struct sink *out, struct error **ret_error)
{
	const struct view_options options = {.header = true};
	struct table *table = table_create();
	int status;
	table->id = "answer";
	add_columns(statement, table);
	while ((status = sqlite()->step(statement)) == SQLITE_ROW)
		add_table_row(statement, table);
	if (status == SQLITE_DONE)
		*ret_error = view_write_one(view_find("stdio"), (struct result){RESULT_TABLE, .table = table}, &options, out);
	table_destroy(table);
	return status;
}

/* ---- statements ---- */

/* What doesn't have columns has no rows either. */
static int run_statement(sqlite3_stmt *statement, enum answer_form form, const struct sink *out, struct error **ret_error)
{
	if (!sqlite()->column_count(statement))
		return sqlite()->step(statement);
	return form == ANSWER_TABLE ? write_table(statement, out, ret_error) : write_lines(statement, form == ANSWER_JSON, out);
}

struct error *answer_write(const struct sql *sql, const char *statements, enum answer_form form, const struct sink *out)
{
	struct error *error = NULL;
	while (*statements && !error) {
		sqlite3_stmt *statement;
		if (sqlite()->prepare_v2(sql_database(sql), statements, -1, &statement, &statements) != SQLITE_OK)
			return sql_error(sql, "statement");
		int status = statement ? run_statement(statement, form, out, &error) : SQLITE_DONE;
		if (!error && status != SQLITE_DONE)
			error = sql_error(sql, "statement");
		sqlite()->finalize(statement);
	}
	int failed = sink_flush(out);
	return error || !failed ? error : error_system(failed, "output");
}

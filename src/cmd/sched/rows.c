/* Rows for programs, written in portions (rows.h). */
#include "cmd/sched/rows.h"

#include "view/view.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { PORTION = 4096 };

void sched_rows_column(struct sched_rows *rows, const char *id, enum column_kind kind)
{
	assert(rows->column_count < SCHED_ROWS_COLUMNS);
	rows->columns[rows->column_count++] = (struct column){.id = id, .title = id, .kind = kind, .decimals = 2};
}

void sched_rows_begin(struct sched_rows *rows)
{
	rows->table = table_create_columns(rows->id, rows->columns, rows->column_count);
	if (rows->names_table) {
		rows->table->subject_id = "table";
		rows->table->subject = rows->table->id;
	}
	rows->row_count = 0;
}

static void write_rows(struct sched_rows *rows)
{
	const struct view_options options = {.header = !rows->has_header};
	const struct sink out = sink_to_file(stdout);
	if (!rows->error)
		rows->error = view_write_one(view_find(rows->format), (struct result){RESULT_TABLE, .table = rows->table}, &options, &out);
	rows->has_header = true;
	table_destroy(rows->table);
	rows->table = NULL;
}

static void add_cell(struct sched_rows *rows, union cell cell)
{
	assert(rows->cell_count < rows->column_count);
	rows->cells[rows->cell_count++] = cell;
}

void sched_rows_number(struct sched_rows *rows, uint64_t number)
{
	add_cell(rows, (union cell){.integer = number});
}

void sched_rows_real(struct sched_rows *rows, double number)
{
	add_cell(rows, (union cell){.real = number});
}

void sched_rows_text(struct sched_rows *rows, const char *text)
{
	add_cell(rows, (union cell){.text = text ? arena_strdup(&rows->table->arena, text) : NULL});
}

void sched_rows_bytes(struct sched_rows *rows, const char *text, size_t length)
{
	add_cell(rows, (union cell){.text = arena_strndup(&rows->table->arena, text, length)});
}

void sched_rows_end_row(struct sched_rows *rows)
{
	assert(rows->cell_count == rows->column_count);
	table_add_row(rows->table, rows->cells);
	rows->cell_count = 0;
	if (++rows->row_count < PORTION)
		return;
	write_rows(rows);
	sched_rows_begin(rows);
}

struct error *sched_rows_finish(struct sched_rows *rows)
{
	if (rows->table)
		write_rows(rows);
	return rows->error;
}

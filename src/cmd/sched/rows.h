/* Rows for programs, as many as there are: they are written as they come, so that few of them are kept.
 *
 *	struct sched_rows rows = {.format = "json", .id = "map"};
 *	sched_rows_column(&rows, "time", COLUMN_NANOSECONDS); …
 *	sched_rows_begin(&rows);	// then cells are added in the order of the columns
 *	sched_rows_number(&rows, line->time); …
 *	sched_rows_end_row(&rows);
 *	error = sched_rows_finish(&rows);
 */
#pragma once

#include "base/error.h"
#include "result/table.h"

enum { SCHED_ROWS_COLUMNS = 24 };

struct sched_rows {
	const char *format, *id;
	bool names_table; /* "table": each row says its id, where there are several kinds of rows */
	struct column columns[SCHED_ROWS_COLUMNS];
	union cell cells[SCHED_ROWS_COLUMNS]; /* of the row that is made */
	size_t column_count, cell_count;
	struct table *table; /* rows that were not written yet */
	size_t row_count;
	bool has_header;
	struct error *error; /* the first one */
};

void sched_rows_column(struct sched_rows *rows, const char *id, enum column_kind kind);
void sched_rows_begin(struct sched_rows *rows);
void sched_rows_number(struct sched_rows *rows, uint64_t number);
void sched_rows_real(struct sched_rows *rows, double number);
/* The text is copied; NULL = none. */
void sched_rows_text(struct sched_rows *rows, const char *text);
void sched_rows_bytes(struct sched_rows *rows, const char *text, size_t length);
void sched_rows_end_row(struct sched_rows *rows);
/* Writes the rest; frees all. */
struct error *sched_rows_finish(struct sched_rows *rows);

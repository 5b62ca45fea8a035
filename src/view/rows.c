/* Rows of raw values: text is collected and written in blocks, so that tables of any length need little memory. */
#include "view/rows.h"

#include <math.h>

enum { BLOCK = 1 << 16 };

void rows_write(const struct table *table, struct strbuf *out, const struct sink *output,
		void (*add)(const struct table *table, const struct row *row, const void *context, struct strbuf *out), const void *context)
{
	struct row made;
	struct row_scratch scratch;
	row_scratch_init(&scratch, table);
	for (size_t i = 0; i < table_row_count(table); i++) {
		add(table, table_row(table, i, &scratch, &made), context, out);
		if (out->len > BLOCK)
			sink_move(output, out);
	}
	sink_move(output, out);
	row_scratch_deinit(&scratch);
}

const char *rows_text(union cell cell)
{
	const char *text = cell.text ? cell.text : "";
	while (*text == ' ')
		text++;
	return text;
}

void rows_add_number(const struct column *column, union cell cell, struct strbuf *out)
{
	if (column->kind == COLUMN_PERCENT || column->kind == COLUMN_REAL)
		strbuf_printf(out, "%.*f", (int)column->decimals + 2, isfinite(cell.real) ? cell.real : 0);
	else
		strbuf_add_u64(out, cell.integer, 0);
}

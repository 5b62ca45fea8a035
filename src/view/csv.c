/* Tables as comma-separated values: the columns' ids, then raw values. */
#include "base/text.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

static void add_cell(const struct column *column, union cell cell, char separator, struct strbuf *out)
{
	switch (column->kind) {
	case COLUMN_TEXT: {
		struct strbuf text = {0};
		if (cell.text)
			text_add_safe(&text, cell.text, strlen(cell.text));
		const char *begin = strbuf_str(&text);
		while (*begin == ' ')
			begin++;
		text_add_csv(out, begin, strlen(begin), separator);
		strbuf_deinit(&text);
		break;
	}
	case COLUMN_PERCENT:
	case COLUMN_REAL:
		strbuf_printf(out, "%.*f", (int)column->decimals + 2, cell.real);
		break;
	case COLUMN_ADDRESS:
		strbuf_printf(out, "0x%lx", cell.integer);
		break;
	default:
		strbuf_add_u64(out, cell.integer, 0);
	}
}

static struct error *csv_table(const struct table *table, const struct view_options *options, FILE *file)
{
	char separator = options->separator ? options->separator : ',';
	struct strbuf out = {0};
	/* The event is a column, so that several tables can be read as one. */
	if (options->header) {
		strbuf_add_str(&out, "event");
		for (size_t i = 0; i < table->columns.len; i++) {
			strbuf_add_char(&out, separator);
			text_add_csv(&out, table->columns.data[i].id, strlen(table->columns.data[i].id), separator);
		}
		strbuf_add_char(&out, '\n');
	}
	struct row made;
	struct row_scratch scratch;
	row_scratch_init(&scratch, table);
	for (size_t r = 0; r < table_row_count(table); r++) {
		const struct row *row = table_row(table, r, &scratch, &made);
		text_add_csv(&out, table->title ? table->title : "", table->title ? strlen(table->title) : 0, separator);
		for (size_t i = 0; i < table->columns.len; i++) {
			strbuf_add_char(&out, separator);
			add_cell(&table->columns.data[i], row->cells[i], separator, &out);
		}
		strbuf_add_char(&out, '\n');
		if (out.len > 1 << 16) {
			fwrite(out.data, 1, out.len, file);
			strbuf_clear(&out);
		}
	}
	fwrite(strbuf_str(&out), 1, out.len, file);
	row_scratch_deinit(&scratch);
	strbuf_deinit(&out);
	return NULL;
}

const struct view_ops view_csv = {.name = "csv", .summary = "comma-separated values", .table = csv_table};

/* Tables as comma-separated values: the columns' ids, then raw values. */
#include "base/text.h"
#include "view/counting/counting_internal.h"
#include "view/export/csv_samples.h"
#include "view/rows.h"
#include "view/view.h"

#include <string.h>

static void add_cell(const struct column *column, union cell cell, const char *separator, struct strbuf *out)
{
	if (column->kind == COLUMN_TEXT) {
		struct strbuf text = {0};
		text_add_safe(&text, rows_text(cell), strlen(rows_text(cell)));
		text_add_csv(out, strbuf_str(&text), text.len, separator);
		strbuf_deinit(&text);
	} else if (column->kind == COLUMN_ADDRESS) {
		strbuf_printf(out, "0x%lx", cell.integer);
	} else {
		rows_add_number(column, cell, out);
	}
}

/* What the table is about is a column, so that several tables can be read as one. */
static void add_row(const struct table *table, const struct row *row, const void *context, struct strbuf *out)
{
	const char *separator = context;
	if (table->subject)
		text_add_csv(out, table->subject, strlen(table->subject), separator);
	for (size_t i = 0; i < table->columns.len; i++) {
		strbuf_add_str(out, i || table->subject ? separator : "");
		add_cell(&table->columns.data[i], row->cells[i], separator, out);
	}
	strbuf_add_char(out, '\n');
}

static struct error *csv_table(const struct table *table, const struct view_options *options, const struct sink *output)
{
	const char separator[] = {options->separator ? options->separator : ',', '\0'};
	struct strbuf out = {0};
	if (options->header) {
		strbuf_add_str(&out, table->subject ? table->subject_id : "");
		for (size_t i = 0; i < table->columns.len; i++) {
			strbuf_add_str(&out, i || table->subject ? separator : "");
			text_add_csv(&out, table->columns.data[i].id, strlen(table->columns.data[i].id), separator);
		}
		strbuf_add_char(&out, '\n');
	}
	rows_write(table, &out, output, add_row, separator);
	strbuf_deinit(&out);
	return NULL;
}

const struct view_ops view_csv = {.name = "csv",
				  .summary = "comma-separated values",
				  .for_programs = true,
				  .table = csv_table,
				  .counting = csv_counting,
				  .samples = csv_samples,
				  .samples_summary = "a line of comma-separated values for each sample",
				  .detail = SAMPLES_APART | SAMPLES_STACKS | SAMPLES_ADDRESSES};

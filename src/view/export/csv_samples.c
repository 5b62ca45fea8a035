/* Samples as comma-separated values: the columns of lines.h, and the names of the stack, outermost first, between semicolons. */
#include "view/export/csv_samples.h"

#include "base/text.h"
#include "view/export/lines.h"
#include "view/export/streaming.h"

#include <string.h>

static void add_value(const struct line_value *value, const char *separator, struct strbuf *out)
{
	if (value->kind == LINE_TEXT) {
		text_add_csv(out, value->text, strlen(value->text), separator);
	} else if (value->kind == LINE_NUMBER) {
		strbuf_add_u64(out, value->number, 0);
	} else if (value->kind == LINE_ADDRESS) {
		strbuf_add_str(out, "0x");
		strbuf_add_hex(out, value->number, 0);
	}
}

struct error *csv_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	const char separator[] = {options->separator ? options->separator : ',', '\0'};
	struct strbuf text = {0}, stack = {0};
	struct line_names names;
	samples_path path = {0};
	line_names_init(&names, samples, line_add_frame);
	for (const struct line_column *column = line_columns; column->id && options->header; column++)
		strbuf_printf(&text, "%s%s", column->id, separator);
	strbuf_add_str(&text, options->header ? "stack\n" : "");
	for (size_t i = 0; i < samples->rows.len; i++) {
		const struct samples_row *row = &samples->rows.data[i];
		for (const struct line_column *column = line_columns; column->id; column++) {
			const struct line_value value = column->value(samples, row);
			add_value(&value, separator, &text);
			strbuf_add_str(&text, separator);
		}
		strbuf_clear(&stack);
		line_names_add_stack(&names, samples, row->stack, ';', &path, &stack);
		text_add_csv(&text, strbuf_str(&stack), stack.len, separator);
		strbuf_add_char(&text, '\n');
		stream_on(&text, out);
	}
	line_names_deinit(&names);
	strbuf_deinit(&stack);
	vec_deinit(&path);
	return stream_end(&text, out, "samples");
}

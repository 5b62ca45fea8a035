/* A JSON object for each sample, one a line: what is known of it and its innermost frame, the names of the stack from the outermost
 * one on, and the fields of a tracepoint. What isn't known isn't there. */
#include "base/text.h"
#include "view/export/fields.h"
#include "view/export/lines.h"
#include "view/export/streaming.h"
#include "view/view.h"

#include <string.h>

static void add_value(struct json *json, const char *id, const struct line_value *value)
{
	if (value->kind == LINE_TEXT)
		json_add_string(json, id, value->text);
	else if (value->kind == LINE_ADDRESS)
		json_add_hex(json, id, value->number);
	else if (value->kind == LINE_NUMBER)
		json_add_u64(json, id, value->number);
}

static void add_name(struct strbuf *out, const char *name)
{
	text_add_json(out, name, strlen(name));
}

static struct error *show_samples(const struct samples *samples, const struct view_options *options, const struct sink *out)
{
	struct strbuf text = {0};
	struct line_names names;
	samples_fields fields = {0};
	samples_path path = {0};
	line_names_init(&names, samples, add_name);
	for (size_t i = 0; i < samples->rows.len; i++) {
		const struct samples_row *row = &samples->rows.data[i];
		struct json json = {.out = &text};
		json_begin_object(&json);
		for (const struct line_column *column = line_columns; column->id; column++) {
			const struct line_value value = column->value(samples, row);
			add_value(&json, column->id, &value);
		}
		json_name(&json, "stack");
		json_begin_array(&json);
		line_names_add_stack(&names, samples, row->stack, ',', &path, &text);
		json_end_array(&json);
		if (samples->events.data[row->event].tracepoint)
			fields_add(&json, "fields", samples, row, &fields);
		json_end_object(&json);
		strbuf_add_char(&text, '\n');
		stream_on(&text, out);
	}
	line_names_deinit(&names);
	vec_deinit(&fields);
	vec_deinit(&path);
	return stream_end(&text, out, "samples");
}

const struct view_ops view_ndjson = {
	.name = "ndjson",
	.summary = "a JSON object for each sample, one per line",
	.samples = show_samples,
	.detail = SAMPLES_APART | SAMPLES_STACKS | SAMPLES_ADDRESSES,
};

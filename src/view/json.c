/* Tables as JSON, one object a line (JSON Lines): {"subject": …, if the table has one, column ids: raw values, "callgraph": […]}. */
#include "base/json.h"
#include "view/counting/counting_internal.h"
#include "view/rows.h"
#include "view/view.h"

static void add_children(const struct calltree_node *node, struct json *json)
{
	json_begin_array(json);
	for (const struct calltree_node *child = node->children; child; child = child->sibling) {
		json_begin_object(json);
		json_add_string(json, "name", child->label ? child->label : "");
		json_add_u64(json, "self", child->self);
		json_add_u64(json, "total", child->total);
		json_add_u64(json, "samples", child->total_count);
		if (child->children) {
			json_name(json, "children");
			add_children(child, json);
		}
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_row(const struct table *table, const struct row *row, const void *context, struct strbuf *out)
{
	struct json json = {.out = out};
	json_begin_object(&json);
	if (table->subject)
		json_add_string(&json, table->subject_id, table->subject);
	for (size_t i = 0; i < table->columns.len; i++) {
		const struct column *column = &table->columns.data[i];
		json_name(&json, column->id);
		if (column->kind == COLUMN_TEXT) {
			json_string(&json, rows_text(row->cells[i]));
			continue;
		}
		rows_add_number(column, row->cells[i], out);
		json.needs_comma = true;
	}
	if (row->tree && row->tree->root.children) {
		json_name(&json, "callgraph");
		add_children(&row->tree->root, &json);
	}
	json_end_object(&json);
	strbuf_add_char(out, '\n');
}

static struct error *json_table(const struct table *table, const struct view_options *options, const struct sink *output)
{
	struct strbuf out = {0};
	rows_write(table, &out, output, add_row, NULL);
	strbuf_deinit(&out);
	return NULL;
}

const struct view_ops view_json = {
	.name = "json", .summary = "one JSON object per row", .for_programs = true, .table = json_table, .counting = json_counting};

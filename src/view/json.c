/* Tables as JSON, one object a line (JSON Lines): {"event": …, column ids: raw values, "callgraph": […]}. */
#include "base/text.h"
#include "view/counting_internal.h"
#include "view/rows.h"
#include "view/view.h"

#include <string.h>

static void add_string(struct strbuf *out, const char *text)
{
	text_add_json(out, text ? text : "", text ? strlen(text) : 0);
}

static void add_children(const struct calltree_node *node, struct strbuf *out)
{
	strbuf_add_char(out, '[');
	for (const struct calltree_node *child = node->children; child; child = child->sibling) {
		strbuf_add_str(out, "{\"name\":");
		add_string(out, child->label);
		strbuf_printf(out, ",\"self\":%lu,\"total\":%lu,\"samples\":%lu", child->self, child->total, child->total_count);
		if (child->children) {
			strbuf_add_str(out, ",\"children\":");
			add_children(child, out);
		}
		strbuf_add_str(out, child->sibling ? "}," : "}");
	}
	strbuf_add_char(out, ']');
}

static void add_row(const struct table *table, const struct row *row, const void *context, struct strbuf *out)
{
	strbuf_add_str(out, "{\"event\":");
	add_string(out, table->title);
	for (size_t i = 0; i < table->columns.len; i++) {
		strbuf_add_char(out, ',');
		add_string(out, table->columns.data[i].id);
		strbuf_add_char(out, ':');
		if (table->columns.data[i].kind == COLUMN_TEXT)
			add_string(out, rows_text(row->cells[i]));
		else
			rows_add_number(&table->columns.data[i], row->cells[i], out);
	}
	if (row->tree && row->tree->root.children) {
		strbuf_add_str(out, ",\"callgraph\":");
		add_children(&row->tree->root, out);
	}
	strbuf_add_str(out, "}\n");
}

static struct error *json_table(const struct table *table, const struct view_options *options, FILE *file)
{
	struct strbuf out = {0};
	rows_write(table, &out, file, add_row, NULL);
	strbuf_deinit(&out);
	return NULL;
}

const struct view_ops view_json = {.name = "json", .summary = "one JSON object a row", .table = json_table, .counting = json_counting};

/* Rows of a browser, and the lines of their open call graphs.
 *
 *	-   99.94%     0.00%  w  w  [.] main
 *	     main                           a chain: nothing ends or branches off, so it has one sign, at its end
 *	   - run
 *	      + 70.98% alpha                two ways on: each has its share
 *	        28.96% beta                 nothing below
 */
#include "base/text.h"
#include "result/cell.h"
#include "tui/browser_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

static bool is_open(const struct browser_row *row, const struct calltree_node *node)
{
	for (size_t i = 0; i < row->toggled.len; i++)
		if (row->toggled.data[i] == node)
			return !row->all_open;
	return row->all_open;
}

/* What hangs below `node`; `total` is what shares relate to. */
static void add_lines(const struct browser *browser, struct browser_row *row, const struct calltree_node *node, unsigned int depth,
		      uint64_t above, uint64_t total)
{
	const struct table_graph *graph = &browser->table->graph;
	uint32_t count = 0;
	for (const struct calltree_node *child = node->children; child; child = child->sibling) {
		bool valued = child->sibling || child != node->children || child->total != above;
		const struct calltree_node *last = child;
		for (const struct calltree_node *next; (next = calltree_continuation(last)); last = next) {
			vec_push(&row->lines,
				 (struct graph_line){.node = last, .depth = depth, .sign = ' ', .valued = valued, .total = total});
			valued = false;
		}
		char sign = !last->children ? ' ' : is_open(row, last) ? '-' : '+';
		vec_push(&row->lines, (struct graph_line){.node = last, .depth = depth, .sign = sign, .valued = valued, .total = total});
		if (sign == '-')
			add_lines(browser, row, last, depth + 1, last->total,
				  graph->style == GRAPH_FRACTAL ? last->total - last->self : total);
		if (++count == graph->most_entries)
			break;
	}
}

void browser_row_lay_out(const struct browser *browser, struct browser_row *row)
{
	const struct table_graph *graph = &browser->table->graph;
	row->lines.len = 0;
	if (row->open && row->tree)
		add_lines(browser, row, &row->tree->root, 0, row->value, graph->style == GRAPH_FRACTAL ? row->value : graph->total);
}

void browser_line_toggle(struct browser *browser, struct browser_row *row, size_t line)
{
	const struct graph_line *chosen = &row->lines.data[line - 1];
	const struct calltree_node *node = chosen->node;
	if (chosen->sign == ' ')
		return;
	row->touched = true;
	for (size_t i = 0; i < row->toggled.len; i++)
		if (row->toggled.data[i] == node) {
			row->toggled.data[i] = row->toggled.data[--row->toggled.len];
			browser_row_lay_out(browser, row);
			return;
		}
	vec_push(&row->toggled, node);
	browser_row_lay_out(browser, row);
}

void browser_line_text(const struct browser *browser, const struct browser_row *row, size_t line, struct strbuf *out)
{
	const struct graph_line *shown = &row->lines.data[line - 1];
	const struct calltree_node *node = shown->node;
	const struct table_graph *graph = &browser->table->graph;
	strbuf_add_chars(out, ' ', 3 + 3 * shown->depth);
	strbuf_printf(out, "%c ", shown->sign);
	if (shown->valued && graph->value == GRAPH_COUNT)
		strbuf_printf(out, "%lu ", node->total_count);
	else if (shown->valued && graph->value == GRAPH_PERIOD)
		strbuf_printf(out, "%lu ", node->total);
	else if (shown->valued)
		strbuf_printf(out, "%.2f%% ", shown->total ? 100.0 * (double)node->total / (double)shown->total : 0);
	text_add_safe(out, node->label, strlen(node->label));
	calltree_add_repeats(node, out);
	if (browser->verbose && node->module) {
		strbuf_add_str(out, "  ");
		text_add_safe(out, node->module, strlen(node->module));
	}
}

/* ---- rows ---- */

static enum terminal_style style_of(const struct column *column, union cell cell)
{
	if (column->kind != COLUMN_PERCENT)
		return STYLE_PLAIN;
	return cell.real >= 5 ? STYLE_HOT : cell.real > 0.5 ? STYLE_WARM : STYLE_PLAIN;
}

static char *cell_text(const struct browser *browser, const struct row *made, size_t column)
{
	const struct column *about = &browser->table->columns.data[column];
	unsigned int width = browser->widths[column];
	struct strbuf text = {0};
	bool name = browser->table->levels && column + 1 == browser->table->columns.len;
	if (name)
		strbuf_add_chars(&text, ' ', 2 * made->depth);
	if (made->note && !name)
		return strbuf_detach(&text);
	cell_add(about, made->cells[column], width, &text);
	size_t length = text_width(strbuf_str(&text), text.len);
	if (about->align == ALIGN_RIGHT && length < width) {
		struct strbuf padded = {0};
		strbuf_add_chars(&padded, ' ', width - length);
		strbuf_add(&padded, text.data, text.len);
		strbuf_deinit(&text);
		return strbuf_detach(&padded);
	}
	return strbuf_detach(&text);
}

/* Takes over the tree of the scratch, for as long as the row is open. */
static void keep_tree(struct browser *browser, struct browser_row *row)
{
	struct calltree *tree = browser->scratch.tree;
	calltree_destroy(row->tree);
	browser->scratch.tree = NULL;
	row->tree = tree;
	if (!browser->folds_recursion || !tree)
		return;
	row->tree = calltree_fold_recursion(tree);
	calltree_sort(&row->tree->root, calltree_by_weight);
	calltree_destroy(tree);
}

static void make_tree(struct browser *browser, struct browser_row *row)
{
	struct row made;
	browser->scratch.shallow = false;
	table_row(browser->table, row->index, &browser->scratch, &made);
	keep_tree(browser, row);
}

static struct browser_row *make_row(struct browser *browser, size_t index)
{
	size_t columns = browser->table->columns.len;
	struct browser_row *row = mem_zalloc(sizeof(*row));
	struct row made;
	browser->scratch.shallow = !browser->all_open;
	const struct row *source = table_row(browser->table, index, &browser->scratch, &made);
	row->index = index;
	row->value = source->value;
	row->sign = source->sign;
	row->has_graph = source->tree && source->tree->root.children;
	row->cells = mem_zalloc_array(columns + 1, sizeof(*row->cells));
	row->styles = mem_zalloc_array(columns + 1, sizeof(*row->styles));
	for (size_t i = 0; i < columns; i++) {
		row->cells[i] = cell_text(browser, source, i);
		row->styles[i] = (unsigned char)(source->note ? STYLE_DIM : style_of(&browser->table->columns.data[i], source->cells[i]));
	}
	row->open = row->all_open = browser->all_open && row->has_graph;
	if (row->open) {
		keep_tree(browser, row);
		browser_row_lay_out(browser, row);
	}
	return row;
}

static void destroy_row(struct browser *browser, struct browser_row *row)
{
	for (size_t i = 0; i < browser->table->columns.len; i++)
		free(row->cells[i]);
	free(row->cells);
	free(row->styles);
	calltree_destroy(row->tree);
	vec_deinit(&row->toggled);
	vec_deinit(&row->lines);
	free(row);
}

void browser_forget(struct browser *browser, bool all)
{
	struct map64 kept = {0};
	for (struct map64_slot *slot = map64_next(&browser->rows, NULL); slot; slot = map64_next(&browser->rows, slot)) {
		struct browser_row *row = map64_pointer(slot);
		if (all || !row->touched)
			destroy_row(browser, row);
		else
			*map64_insert(&kept, row->index, NULL) = (uintptr_t)row;
	}
	map64_deinit(&browser->rows);
	browser->rows = kept;
}

struct browser_row *browser_row_at(struct browser *browser, size_t index)
{
	uint64_t *known = map64_find(&browser->rows, index);
	if (known)
		return (void *)(uintptr_t)*known;
	struct browser_row *row = make_row(browser, index);
	*map64_insert(&browser->rows, index, NULL) = (uintptr_t)row;
	return row;
}

size_t browser_row_lines(struct browser *browser, size_t index)
{
	if (!browser->all_open && !map64_find(&browser->rows, index))
		return 1;
	return 1 + browser_row_at(browser, index)->lines.len;
}

void browser_row_open(struct browser *browser, struct browser_row *row, bool open, bool all)
{
	if (!row->has_graph)
		return;
	if (open && !row->tree)
		make_tree(browser, row);
	row->open = open;
	row->all_open = all;
	row->touched = true;
	row->toggled.len = 0;
	browser_row_lay_out(browser, row);
	if (open)
		return;
	calltree_destroy(row->tree);
	row->tree = NULL;
}

void browser_fold_recursion(struct browser *browser, bool folds)
{
	browser->folds_recursion = folds;
	browser_forget(browser, false);
	for (struct map64_slot *slot = map64_next(&browser->rows, NULL); slot; slot = map64_next(&browser->rows, slot)) {
		struct browser_row *row = map64_pointer(slot);
		row->toggled.len = 0;
		if (row->open)
			make_tree(browser, row);
		browser_row_lay_out(browser, row);
	}
}

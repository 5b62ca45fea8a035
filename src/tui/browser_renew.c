/* A browser whose table is replaced by a newer one: the cursor and what is open go over to the rows that were meant.
 *
 *	before          now
 *	  a             b ▸
 *	  b ▸    ──►      a
 *	    main            main        what is open is known by labels: trees are made anew
 */
#include "tui/browser_internal.h"

#include <stdlib.h>
#include <string.h>

/* A line of a call graph: the labels from the root on. */
struct graph_path {
	VEC(char *) labels;
};

struct kept_row {
	size_t row; /* its number in the newer table */
	bool open, all_open;
	VEC(struct graph_path) toggled;
};

static struct graph_path path_of(const struct calltree_node *node)
{
	struct graph_path path = {0};
	for (; node->parent; node = node->parent)
		vec_push(&path.labels, mem_strdup(node->label));
	for (size_t i = 0, j = path.labels.len; i + 1 < j; i++) {
		char *label = path.labels.data[i];
		path.labels.data[i] = path.labels.data[--j];
		path.labels.data[j] = label;
	}
	return path;
}

static void path_deinit(struct graph_path *path)
{
	for (size_t i = 0; i < path->labels.len; i++)
		free(path->labels.data[i]);
	vec_deinit(&path->labels);
}

static const struct calltree_node *find_node(const struct calltree *tree, const struct graph_path *path)
{
	const struct calltree_node *node = &tree->root;
	for (size_t i = 0; node && i < path->labels.len; i++) {
		const struct calltree_node *child = node->children;
		while (child && strcmp(child->label, path->labels.data[i]))
			child = child->sibling;
		node = child;
	}
	return node;
}

static void keep(const struct browser_row *from, size_t row, struct kept_row *ret)
{
	*ret = (struct kept_row){.row = row, .open = from->open, .all_open = from->all_open};
	for (size_t i = 0; i < from->toggled.len; i++)
		vec_push(&ret->toggled, path_of(from->toggled.data[i]));
}

/* Frees it, too. */
static void restore(struct browser *browser, struct kept_row *kept)
{
	struct browser_row *row = browser_row_at(browser, kept->row);
	browser_row_open(browser, row, kept->open, kept->all_open);
	for (size_t i = 0; i < kept->toggled.len; i++) {
		const struct calltree_node *node = row->tree ? find_node(row->tree, &kept->toggled.data[i]) : NULL;
		if (node)
			vec_push(&row->toggled, node);
		path_deinit(&kept->toggled.data[i]);
	}
	vec_deinit(&kept->toggled);
	browser_row_lay_out(browser, row);
}

/* The line of the node at the end of a path; of one nearer to the root when it isn't shown any more. */
static size_t line_of(const struct browser_row *row, struct graph_path *path)
{
	size_t whole = path->labels.len, found = 0;
	for (; row->tree && path->labels.len && !found; path->labels.len--) {
		const struct calltree_node *node = find_node(row->tree, path);
		for (size_t i = 0; node && i < row->lines.len && !found; i++)
			found = row->lines.data[i].node == node ? i + 1 : 0;
	}
	path->labels.len = whole;
	return found;
}

void browser_renew(struct browser *browser, const struct table *table, size_t (*find)(void *context, size_t row), void *context)
{
	VEC(struct kept_row) rows = {0};
	struct browser_place cursor = browser->cursor, top = browser->top;
	struct graph_path path = {0};
	for (struct map64_slot *slot = map64_next(&browser->rows, NULL); slot; slot = map64_next(&browser->rows, slot)) {
		const struct browser_row *row = map64_pointer(slot);
		size_t number = row->touched ? find(context, row->index) : BROWSER_NO_ROW;
		struct kept_row kept;
		if (number == BROWSER_NO_ROW)
			continue;
		keep(row, number, &kept);
		vec_push(&rows, kept);
	}
	if (cursor.line)
		path = path_of(browser_row_at(browser, cursor.row)->lines.data[cursor.line - 1].node);
	size_t now = !browser->moved ? 0 : browser_row(browser) == BROWSER_NO_ROW ? BROWSER_NO_ROW : find(context, cursor.row);
	bool gone = now == BROWSER_NO_ROW;
	browser_set_table(browser, table, true); /* the cursor is on the row of the same number, if there is one */
	if (!gone)
		browser_go(browser, now);
	browser->top.row = top.row <= browser->cursor.row ? top.row : browser->cursor.row;
	for (size_t i = 0; i < rows.len; i++)
		restore(browser, &rows.data[i]);
	vec_deinit(&rows);
	if (!gone && path.labels.len)
		browser->cursor.line = line_of(browser_row_at(browser, browser->cursor.row), &path);
	path_deinit(&path);
}

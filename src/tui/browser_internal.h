/* What browser.c (cursor, keys, drawing) and browser_rows.c (rows and the lines of their call graphs) share. */
#pragma once

#include "base/hash.h"
#include "result/calltree.h"
#include "tui/browser.h"

/* One line of an open call graph. */
struct graph_line {
	const struct calltree_node *node;
	unsigned int depth;
	char sign;	/* of what is below: + closed, - open, or a space */
	bool valued;	/* its share is told */
	uint64_t total; /* what that relates to */
};

struct browser_row {
	size_t index;
	char **cells;	       /* texts, one for each column */
	unsigned char *styles; /* of each: enum terminal_style */
	char sign;	       /* of a table in levels, or 0 */
	bool has_graph;
	bool open;	       /* its graph is shown */
	bool all_open;	       /* what hangs below nodes is shown, but for those in `toggled`; else only below these */
	bool touched;	       /* by the person: it isn't forgotten */
	uint64_t value;	       /* of the row: what shares of a fractal graph relate to */
	struct calltree *tree; /* while it is open */
	VEC(const struct calltree_node *) toggled;
	VEC(struct graph_line) lines;
};

/* A line on the screen: 0 is the row itself, the others are its graph's. */
struct browser_place {
	size_t row, line;
};

struct browser {
	struct terminal *terminal;
	const struct table *table;
	struct row_scratch scratch;
	unsigned int *widths; /* by column, of the content */
	unsigned int *fitted; /* … on the screen as it is */
	struct map64 rows;    /* index → struct browser_row */
	struct browser_place top, cursor;
	size_t first_column;
	bool all_open; /* graphs of rows that weren't touched */
	bool no_header;
	bool verbose;
	bool folds_recursion;
	bool moved; /* the cursor, by the person, since it was put to the first row */
};

/* The row as it is to be shown; made if need be. Valid until browser_forget(). */
struct browser_row *browser_row_at(struct browser *browser, size_t index);
/* 1 and the lines of its graph; makes no row that isn't open. */
size_t browser_row_lines(struct browser *browser, size_t index);
void browser_row_open(struct browser *browser, struct browser_row *row, bool open, bool all);
/* The row's lines anew, after `toggled` has changed. */
void browser_row_lay_out(const struct browser *browser, struct browser_row *row);
/* Opens or closes what hangs below a line of the graph (counted from 1). */
void browser_line_toggle(struct browser *browser, struct browser_row *row, size_t line);
/* The graphs of all rows anew, with recursion folded or not; what is open below rows is closed. */
void browser_fold_recursion(struct browser *browser, bool folds);
/* Forgets rows; `all`: also those that were touched. */
void browser_forget(struct browser *browser, bool all);
/* "97.50% parse" */
void browser_line_text(const struct browser *browser, const struct browser_row *row, size_t line, struct strbuf *out);

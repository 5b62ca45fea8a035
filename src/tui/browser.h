/* A table on a screen: a cursor, call graphs that open and close, columns that scroll. Rows are made when they are seen, so a million of
 * them cost no more than a page. What keys do besides (menus, filters) is up to who owns the table. */
#pragma once

#include "result/table.h"
#include "tui/windows.h"

#include <stdbool.h>
#include <stddef.h>

struct browser;

#define BROWSER_NO_ROW ((size_t)-1)

/* What stands around the table; made harmless by who gives it. */
struct browser_words {
	const char *title;  /* the first line */
	const char *status; /* the last line */
};

struct browser *browser_create(struct terminal *terminal);
void browser_destroy(struct browser *browser);
/* Shows this table from now on, which must outlive that; rows that were made of the last one are forgotten, and what was open in them.
 * `stay`: the cursor keeps its row number, as far as there is one. */
void browser_set_table(struct browser *browser, const struct table *table, bool stay);
/* Shows this table in place of the one before, which is still there, when what both are about has changed: find() gives the number that a
 * row of the one before has now, or BROWSER_NO_ROW. The cursor stays on its row, on the same line of its call graph, and what was opened
 * stays open. Unless nobody has moved the cursor, since Home: then it stays on the first row, whichever that is. */
void browser_renew(struct browser *browser, const struct table *table, size_t (*find)(void *context, size_t row), void *context);
/* Shows none: for who has to destroy the table before there is another. */
void browser_leave(struct browser *browser);
/* Files stand behind the names in call graphs. */
void browser_set_verbose(struct browser *browser, bool verbose);
/* Recursion in call graphs: frames of one function that follow each other are one line, with their number. */
bool browser_folds_recursion(const struct browser *browser);
void browser_draw(struct browser *browser, const struct browser_words *words);
/* Does what the key says; false: it is none of the browser's. */
bool browser_key(struct browser *browser, int key);
/* Of KEY_CLICK: the cursor goes to the line that was clicked. True: it was there already, so the line is to be opened or closed. */
bool browser_click(struct browser *browser);
/* The row that the cursor is on, or BROWSER_NO_ROW. */
size_t browser_row(const struct browser *browser);
/* Puts the cursor on a row. */
void browser_go(struct browser *browser, size_t row);
/* The keys that browser_key() knows. */
extern const struct key_help browser_keys[];

/* A table on a screen (browser.h): where the cursor is, what keys do, and drawing.
 *
 * A place is a row and a line of it, never a line number of the whole: how many lines there are nobody knows, since graphs are made when
 * they are seen. So moving goes step by step from where one is. */
#include "base/text.h"
#include "tui/browser_internal.h"

#include <stdlib.h>
#include <string.h>

const struct key_help browser_keys[] = {
	{"", "The table"},
	{"Up, Down", "one line"},
	{"PgUp, PgDn, Space", "one page"},
	{"Home, End", "the first row, the last one"},
	{"Right", "scroll the columns to the left (Left: back)"},
	{"+", "open or close the call chains of the row, or what is below this line of them or of a hierarchy"},
	{"e", "open or close all of the row's call chains"},
	{"c", "close the row's call chains"},
	{"E", "open the call chains of all rows, or all levels of a hierarchy"},
	{"C", "close the call chains of all rows, or all levels of a hierarchy"},
	{"R", "fold recursion: frames of one function that follow each other are one line"},
	{"M", "the mouse: a click goes to a line, one more opens it, the wheel moves; M again gives it back to the terminal"},
	{"H", "show or hide the titles of the columns"},
	{0},
};

struct browser *browser_create(struct terminal *terminal)
{
	struct browser *browser = mem_zalloc(sizeof(*browser));
	browser->terminal = terminal;
	return browser;
}

void browser_leave(struct browser *browser)
{
	if (!browser->table)
		return;
	browser_forget(browser, true);
	row_scratch_deinit(&browser->scratch);
	free(browser->widths);
	free(browser->fitted);
	browser->widths = browser->fitted = NULL;
	browser->table = NULL;
}

void browser_destroy(struct browser *browser)
{
	if (!browser)
		return;
	browser_leave(browser);
	map64_deinit(&browser->rows);
	free(browser);
}

enum { SIGN_COLUMNS = 2, GAP = 2 };

/* A column that isn't shown, since the screen is too narrow. */
static bool is_hidden(const struct browser *browser, size_t column)
{
	return !browser->fitted[column] && browser->widths[column];
}

/* Where even short names in other columns leave no room for those in the last one, the others aren't shown, the left ones first. */
static void hide_columns(struct browser *browser, unsigned int used, unsigned int wanted)
{
	const struct table *table = browser->table;
	unsigned int screen = (unsigned int)terminal_columns(browser->terminal);
	for (size_t i = browser->first_column; i + 1 < table->columns.len && used + wanted > screen; i++) {
		if (table->columns.data[i].kind != COLUMN_TEXT || table->columns.data[i + 1].joined || (i && i == browser->first_column))
			continue;
		used -= browser->fitted[i] + GAP;
		browser->fitted[i] = 0;
	}
}

/* Names in the last column, which say what a row is, get half of the screen at the expense of other names: a single file with a long name
 * would push all of them out of it. */
static void fit_widths(struct browser *browser)
{
	enum { LEAST = 16 };
	const struct table *table = browser->table;
	if (!table->columns.len)
		return;
	size_t last = table->columns.len - 1, first = browser->first_column;
	unsigned int screen = (unsigned int)terminal_columns(browser->terminal), used = SIGN_COLUMNS;
	memcpy(browser->fitted, browser->widths, table->columns.len * sizeof(*browser->fitted));
	for (size_t i = first; i < last; i++)
		used += browser->widths[i] + (table->columns.data[i + 1].joined ? 0 : GAP);
	unsigned int wanted = browser->widths[last] < screen / 2 ? browser->widths[last] : screen / 2;
	while (table->columns.data[last].kind == COLUMN_TEXT && used + wanted > screen) {
		size_t widest = last;
		for (size_t i = first; i < last; i++) {
			const struct column *column = &table->columns.data[i];
			if (column->kind == COLUMN_TEXT && column->align == ALIGN_LEFT && !column->joined && browser->fitted[i] > LEAST &&
			    (widest == last || browser->fitted[i] > browser->fitted[widest]))
				widest = i;
		}
		if (widest == last) {
			hide_columns(browser, used, wanted < LEAST ? wanted : LEAST);
			return;
		}
		browser->fitted[widest]--;
		used--;
	}
}

/* As wide as the title and what the table says of the content. */
static void choose_widths(struct browser *browser)
{
	const struct table *table = browser->table;
	browser->widths = mem_zalloc_array(table->columns.len + 1, sizeof(*browser->widths));
	browser->fitted = mem_zalloc_array(table->columns.len + 1, sizeof(*browser->fitted));
	for (size_t i = 0; i < table->columns.len; i++) {
		const struct column *column = &table->columns.data[i];
		size_t width = column->joined ? 0 : strlen(column->title);
		if (column->width)
			width = column->width;
		else if (column->min_width > width)
			width = column->min_width;
		browser->widths[i] = (unsigned int)(width < 4000 ? width : 4000);
	}
}

void browser_set_table(struct browser *browser, const struct table *table, bool stay)
{
	size_t count = table_row_count(table), row = stay && browser->cursor.row < count ? browser->cursor.row : 0;
	size_t top = stay && browser->top.row <= row ? browser->top.row : 0;
	browser_leave(browser);
	browser->table = table;
	row_scratch_init(&browser->scratch, table);
	choose_widths(browser);
	browser->cursor = (struct browser_place){.row = row};
	browser->top = (struct browser_place){.row = top};
}

void browser_set_verbose(struct browser *browser, bool verbose)
{
	browser->verbose = verbose;
}

size_t browser_row(const struct browser *browser)
{
	return browser->table && browser->cursor.row < table_row_count(browser->table) ? browser->cursor.row : BROWSER_NO_ROW;
}

void browser_go(struct browser *browser, size_t row)
{
	if (row < table_row_count(browser->table))
		browser->cursor = (struct browser_place){.row = row};
}

/* ---- moving ---- */

static size_t page_lines(const struct browser *browser)
{
	int lines = terminal_lines(browser->terminal) - 2 - !browser->no_header;
	return lines > 1 ? (size_t)lines : 1;
}

static bool step_down(struct browser *browser, struct browser_place *place)
{
	if (place->line + 1 < browser_row_lines(browser, place->row)) {
		place->line++;
		return true;
	}
	if (place->row + 1 >= table_row_count(browser->table))
		return false;
	*place = (struct browser_place){.row = place->row + 1};
	return true;
}

static bool step_up(struct browser *browser, struct browser_place *place)
{
	if (place->line) {
		place->line--;
		return true;
	}
	if (!place->row)
		return false;
	place->row--;
	place->line = browser_row_lines(browser, place->row) - 1;
	return true;
}

static bool is_before(const struct browser_place *a, const struct browser_place *b)
{
	return a->row < b->row || (a->row == b->row && a->line < b->line);
}

/* Moves the page so that the cursor is on it. */
static void follow_cursor(struct browser *browser)
{
	size_t page = page_lines(browser), steps = 0;
	if (is_before(&browser->cursor, &browser->top)) {
		browser->top = browser->cursor;
		return;
	}
	if (browser->cursor.row - browser->top.row < page) {
		struct browser_place place = browser->top;
		while (steps < page && is_before(&place, &browser->cursor) && step_down(browser, &place))
			steps++;
		if (steps < page)
			return;
	}
	browser->top = browser->cursor;
	for (steps = 1; steps < page && step_up(browser, &browser->top);)
		steps++;
}

/* No lines below the last row stay empty as long as there are rows above, as after the screen has grown. */
static void fill_page(struct browser *browser)
{
	struct browser_place last = browser->top;
	size_t page = page_lines(browser), lines = 1;
	while (lines < page && step_down(browser, &last))
		lines++;
	while (lines < page && step_up(browser, &browser->top))
		lines++;
}

static void move_page(struct browser *browser, bool (*step)(struct browser *, struct browser_place *))
{
	for (size_t i = page_lines(browser); i; i--) {
		bool scrolls = step(browser, &browser->cursor);
		if (!scrolls)
			break;
		step(browser, &browser->top);
	}
	follow_cursor(browser);
}

static bool move(struct browser *browser, int key)
{
	size_t rows = table_row_count(browser->table);
	bool moved = browser->moved;
	browser->moved = true;
	switch (key) {
	case KEY_LINE_DOWN:
		step_down(browser, &browser->cursor);
		break;
	case KEY_LINE_UP:
		step_up(browser, &browser->cursor);
		break;
	case KEY_PAGE_DOWN:
	case ' ':
		move_page(browser, step_down);
		break;
	case KEY_PAGE_UP:
		move_page(browser, step_up);
		break;
	case KEY_FIRST:
		browser->cursor = (struct browser_place){0};
		browser->moved = false;
		break;
	case KEY_LAST:
		if (rows)
			browser->cursor = (struct browser_place){rows - 1, browser_row_lines(browser, rows - 1) - 1};
		break;
	case KEY_GO_RIGHT:
		browser->moved = moved;
		browser->first_column += browser->first_column + 1 < browser->table->columns.len;
		break;
	case KEY_GO_LEFT:
		browser->moved = moved;
		if (!browser->first_column)
			return false;
		browser->first_column--;
		break;
	default:
		browser->moved = moved;
		return false;
	}
	return true;
}

/* ---- opening ---- */

static void set_all(struct browser *browser, bool open)
{
	browser_forget(browser, true);
	browser->all_open = open;
	browser->cursor.line = browser->top.line = 0;
}

static void fold_recursion(struct browser *browser)
{
	browser_fold_recursion(browser, !browser->folds_recursion);
	browser->cursor.line = browser->top.line = 0;
}

bool browser_folds_recursion(const struct browser *browser)
{
	return browser->folds_recursion;
}

static bool open_or_close(struct browser *browser, int key)
{
	struct browser_place *cursor = &browser->cursor;
	if (!table_row_count(browser->table))
		return key == '+' || key == 'e' || key == 'c';
	struct browser_row *row = browser_row_at(browser, cursor->row);
	if (key == '+' && cursor->line) {
		browser_line_toggle(browser, row, cursor->line);
		return true;
	}
	switch (key) {
	case '+':
		browser_row_open(browser, row, !row->open, false);
		break;
	case 'e':
		browser_row_open(browser, row, !row->open || !row->all_open, !row->open || !row->all_open);
		break;
	case 'c':
		browser_row_open(browser, row, false, false);
		break;
	default:
		return false;
	}
	cursor->line = 0;
	if (browser->top.row == cursor->row)
		browser->top.line = 0;
	return true;
}

bool browser_click(struct browser *browser)
{
	int line, column;
	terminal_clicked(browser->terminal, &line, &column);
	struct browser_place place = browser->top, before = browser->cursor;
	line -= 1 + !browser->no_header;
	if (line < 0 || (size_t)line >= page_lines(browser) || !table_row_count(browser->table))
		return false;
	for (; line; line--)
		if (!step_down(browser, &place))
			return false;
	browser->cursor = place;
	browser->moved = true;
	return place.row == before.row && place.line == before.line;
}

bool browser_key(struct browser *browser, int key)
{
	if (move(browser, key) || open_or_close(browser, key))
		return true;
	if (key == 'E' || key == 'C')
		set_all(browser, key == 'E');
	else if (key == 'R')
		fold_recursion(browser);
	else if (key == 'M')
		terminal_set_mouse(browser->terminal, !terminal_has_mouse(browser->terminal));
	else if (key == 'H')
		browser->no_header = !browser->no_header;
	else if (key == KEY_SIZE)
		terminal_clear(browser->terminal);
	else
		return false;
	return true;
}

/* ---- drawing ---- */

/* Titles stand over their column and those joined to it. */
static void draw_header(const struct browser *browser, int line)
{
	const struct table *table = browser->table;
	int at = SIGN_COLUMNS, columns = terminal_columns(browser->terminal);
	terminal_put(browser->terminal, line, 0, columns, STYLE_HEADER, "");
	for (size_t i = browser->first_column; i < table->columns.len; i++) {
		const struct column *column = &table->columns.data[i];
		if (is_hidden(browser, i))
			continue;
		if (i > browser->first_column && !column->joined)
			at += GAP;
		int width = (int)browser->fitted[i];
		struct strbuf title = {0};
		size_t length = strlen(column->title);
		if ((column->align == ALIGN_RIGHT || column->kind == COLUMN_PERCENT) && length < browser->fitted[i])
			strbuf_add_chars(&title, ' ', browser->fitted[i] - length);
		text_add_safe(&title, column->title, length);
		if (!column->joined)
			terminal_put(browser->terminal, line, at, i + 1 == table->columns.len ? columns : width, STYLE_HEADER,
				     strbuf_str(&title));
		strbuf_deinit(&title);
		at += width;
	}
}

static void draw_row(struct browser *browser, int line, struct browser_row *row, bool chosen)
{
	const struct table *table = browser->table;
	int at = SIGN_COLUMNS, columns = terminal_columns(browser->terminal);
	char sign = row->sign ? row->sign : !row->has_graph ? '\0' : row->open ? '-' : '+';
	terminal_put(browser->terminal, line, 0, columns, chosen ? STYLE_CURSOR : STYLE_PLAIN, (const char[]){sign, '\0'});
	for (size_t i = browser->first_column; i < table->columns.len; i++) {
		if (is_hidden(browser, i))
			continue;
		if (i > browser->first_column && !table->columns.data[i].joined)
			at += GAP;
		int width = i + 1 == table->columns.len ? columns : (int)browser->fitted[i];
		terminal_put(browser->terminal, line, at, width, chosen ? STYLE_CURSOR : row->styles[i], row->cells[i]);
		at += (int)browser->fitted[i];
	}
}

static void draw_place(struct browser *browser, int line, const struct browser_place *place)
{
	struct browser_row *row = browser_row_at(browser, place->row);
	bool chosen = place->row == browser->cursor.row && place->line == browser->cursor.line;
	if (!place->line) {
		draw_row(browser, line, row, chosen);
		return;
	}
	struct strbuf text = {0};
	browser_line_text(browser, row, place->line, &text);
	terminal_put(browser->terminal, line, 0, terminal_columns(browser->terminal), chosen ? STYLE_CURSOR : STYLE_PLAIN,
		     strbuf_str(&text));
	strbuf_deinit(&text);
}

/* What the owner says, and at the right where one is. */
static void draw_status(const struct browser *browser, const char *words)
{
	struct strbuf place = {0};
	size_t rows = table_row_count(browser->table);
	int columns = terminal_columns(browser->terminal), line = terminal_lines(browser->terminal) - 1;
	strbuf_printf(&place, " row %zu of %zu", rows ? browser->cursor.row + 1 : 0, rows);
	status_put(browser->terminal, words, columns - (int)place.len);
	terminal_put(browser->terminal, line, columns - (int)place.len, (int)place.len, STYLE_STATUS, strbuf_str(&place));
	strbuf_deinit(&place);
}

void browser_draw(struct browser *browser, const struct browser_words *words)
{
	enum { ROWS_KEPT = 1024 };
	struct terminal *terminal = browser->terminal;
	int line = 1;
	if (browser->rows.count > ROWS_KEPT)
		browser_forget(browser, false);
	follow_cursor(browser);
	if (table_row_count(browser->table))
		fill_page(browser);
	fit_widths(browser);
	terminal_clear(terminal);
	terminal_put(terminal, 0, 0, terminal_columns(terminal), STYLE_TITLE, words->title);
	if (!browser->no_header)
		draw_header(browser, line++);
	struct browser_place place = browser->top;
	bool more = table_row_count(browser->table) > 0;
	for (size_t i = page_lines(browser); more && i; i--) {
		draw_place(browser, line++, &place);
		more = step_down(browser, &place);
	}
	draw_status(browser, words->status);
	terminal_show(terminal, 0, -1);
}

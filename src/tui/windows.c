/* Menus, questions, messages and texts (windows.h). A window stands in the middle of the screen, over what is there. */
#include "tui/windows.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct box {
	int line, column; /* of its first line inside */
	int lines, columns;
};

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

/* A frame around so many lines and columns, as far as there is room. */
static struct box box_draw(struct terminal *terminal, const char *title, int lines, int columns)
{
	struct box box = {.lines = smaller(lines, terminal_lines(terminal) - 2),
			  .columns = smaller(columns, terminal_columns(terminal) - 4)};
	box.line = larger((terminal_lines(terminal) - box.lines) / 2, 1);
	box.column = larger((terminal_columns(terminal) - box.columns) / 2, 2);
	struct strbuf edge = {0};
	strbuf_add_char(&edge, '+');
	strbuf_add_chars(&edge, '-', (size_t)larger(box.columns + 2, 0));
	strbuf_add_char(&edge, '+');
	terminal_put(terminal, box.line - 1, box.column - 2, box.columns + 4, STYLE_FRAME, strbuf_str(&edge));
	terminal_put(terminal, box.line + box.lines, box.column - 2, box.columns + 4, STYLE_FRAME, strbuf_str(&edge));
	strbuf_deinit(&edge);
	int width = (int)text_width(title, strlen(title));
	terminal_put(terminal, box.line - 1, box.column, smaller(width, box.columns), STYLE_TITLE, title);
	for (int i = 0; i < box.lines; i++) {
		terminal_put(terminal, box.line + i, box.column - 2, 2, STYLE_FRAME, "|");
		terminal_put(terminal, box.line + i, box.column, box.columns, STYLE_PLAIN, "");
		terminal_put(terminal, box.line + i, box.column + box.columns, 2, STYLE_FRAME, " |");
	}
	return box;
}

/* How many columns of what is said fit as a whole: its parts are three spaces apart. The first one is cut where even that doesn't fit. */
static int whole_words(const char *words, int columns)
{
	size_t end = 0;
	for (const char *at = *words ? words : NULL; at; at = strstr(at + 1, "   ")) {
		const char *next = strstr(at + 1, "   ");
		size_t width = text_width(words, next ? (size_t)(next - words) : strlen(words));
		if (columns >= 0 && width <= (size_t)columns)
			end = width;
	}
	return end ? (int)end : columns;
}

void status_put(struct terminal *terminal, const char *words, int columns)
{
	int line = terminal_lines(terminal) - 1;
	terminal_put(terminal, line, 0, terminal_columns(terminal), STYLE_STATUS, "");
	terminal_put(terminal, line, 0, whole_words(words, columns), STYLE_STATUS, words);
}

/* The line of the window that was clicked; false: that was outside. */
static bool clicked_in(const struct terminal *terminal, const struct box *box, size_t *ret_line)
{
	int line, column;
	terminal_clicked(terminal, &line, &column);
	*ret_line = (size_t)(line - box->line);
	return line >= box->line && line < box->line + box->lines && column >= box->column && column < box->column + box->columns;
}

static int widest(const char *title, const char *const *lines, size_t count)
{
	size_t width = text_width(title, strlen(title));
	for (size_t i = 0; i < count; i++) {
		size_t length = text_width(lines[i], strlen(lines[i]));
		width = length > width ? length : width;
	}
	return (int)(width < 4000 ? width : 4000);
}

static bool is_end(int key)
{
	return key == KEY_ESCAPE || key == KEY_GO_LEFT || key == 'q' || key == KEY_CLOSED;
}

/* Where a key leads in a list of `count` lines of which a page shows `page`. */
static size_t moved(int key, size_t at, size_t count, size_t page)
{
	switch (key) {
	case KEY_LINE_UP:
	case 'k':
		return at ? at - 1 : count - 1;
	case KEY_LINE_DOWN:
	case 'j':
		return at + 1 < count ? at + 1 : 0;
	case KEY_PAGE_UP:
		return at > page ? at - page : 0;
	case KEY_PAGE_DOWN:
	case ' ':
		return at + page < count ? at + page : count - 1;
	case KEY_FIRST:
		return 0;
	case KEY_LAST:
		return count - 1;
	default:
		return at;
	}
}

size_t menu_choose(struct terminal *terminal, const char *title, const char *const *lines, size_t count, size_t at)
{
	size_t top = 0, line;
	while (count) {
		struct box box = box_draw(terminal, title, (int)(count < 4000 ? count : 4000), widest(title, lines, count));
		size_t page = box.lines > 0 ? (size_t)box.lines : 1;
		if (at < top)
			top = at;
		if (at >= top + page)
			top = at - page + 1;
		for (size_t i = 0; i < page && top + i < count; i++)
			terminal_put(terminal, box.line + (int)i, box.column, box.columns, top + i == at ? STYLE_CURSOR : STYLE_PLAIN,
				     lines[top + i]);
		terminal_show(terminal, 0, -1);
		int key = terminal_key(terminal, -1);
		if (key == KEY_SIZE)
			terminal_clear(terminal);
		if (key == KEY_CLICK && !clicked_in(terminal, &box, &line))
			return MENU_NONE;
		if (key == KEY_CLICK && top + line < count)
			return top + line;
		if (key == KEY_RETURN || key == KEY_GO_RIGHT)
			return at;
		if (is_end(key))
			return MENU_NONE;
		at = moved(key, at, count, page);
	}
	return MENU_NONE;
}

/* A code point as UTF-8. */
static void add_character(struct strbuf *text, int code)
{
	if (code < 0x80) {
		strbuf_add_char(text, (char)code);
		return;
	}
	if (code >= 0x10000) {
		strbuf_add_char(text, (char)(0xf0 | code >> 18));
		strbuf_add_char(text, (char)(0x80 | (code >> 12 & 0x3f)));
	} else if (code >= 0x800) {
		strbuf_add_char(text, (char)(0xe0 | code >> 12));
	}
	if (code >= 0x800)
		strbuf_add_char(text, (char)(0x80 | (code >> 6 & 0x3f)));
	else
		strbuf_add_char(text, (char)(0xc0 | code >> 6));
	strbuf_add_char(text, (char)(0x80 | (code & 0x3f)));
}

static void remove_character(struct strbuf *text)
{
	while (text->len) {
		text->len--;
		bool begins = (text->data[text->len] & 0xc0) != 0x80;
		text->data[text->len] = '\0';
		if (begins)
			break;
	}
}

char *question_ask(struct terminal *terminal, const char *title, const char *explanation, const char *before)
{
	enum { FIELD = 56, LINES = 5 };
	const char *const lines[] = {explanation};
	struct strbuf text = {0};
	strbuf_add_str(&text, before ? before : "");
	for (;;) {
		struct box box = box_draw(terminal, title, LINES, larger(FIELD, widest(title, lines, 1)));
		terminal_put(terminal, box.line, box.column, box.columns, STYLE_PLAIN, explanation);
		terminal_put(terminal, box.line + 2, box.column, box.columns, STYLE_HEADER, strbuf_str(&text));
		terminal_put(terminal, box.line + 4, box.column, box.columns, STYLE_DIM, "Enter: take it   Esc: give up   Ctrl-U: empty");
		terminal_show(terminal, box.line + 2,
			      smaller(box.column + (int)text_width(strbuf_str(&text), text.len), box.column + box.columns - 1));
		int key = terminal_key(terminal, -1);
		if (key == KEY_RETURN)
			return strbuf_detach(&text);
		if (key == KEY_ESCAPE || key == KEY_CLOSED) {
			strbuf_deinit(&text);
			return NULL;
		}
		if (key == KEY_SIZE)
			terminal_clear(terminal);
		else if (key == KEY_RUBOUT)
			remove_character(&text);
		else if (key == ('U' & 0x1f))
			strbuf_clear(&text);
		else if (key >= ' ' && key < KEY_NOTHING)
			add_character(&text, key);
	}
}

typedef VEC(const char *) line_list;

/* Cuts the text into lines, in place. */
static void cut(char *text, line_list *lines)
{
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (rest || *line)
			vec_push(lines, line);
}

void message_show(struct terminal *terminal, const char *title, const char *text)
{
	enum { COLUMNS = 66 };
	struct strbuf wrapped = {0};
	line_list lines = {0};
	int key = KEY_SIZE;
	while (key == KEY_SIZE) {
		strbuf_clear(&wrapped);
		lines.len = 0;
		text_add_wrapped(&wrapped, text, 0, 0, (unsigned int)larger(smaller(COLUMNS, terminal_columns(terminal) - 4), 10));
		strbuf_add_str(&wrapped, "\nPress any key.");
		cut(wrapped.data, &lines);
		struct box box = box_draw(terminal, title, (int)lines.len, widest(title, lines.data, lines.len));
		for (size_t i = 0; i < lines.len && (int)i < box.lines; i++)
			terminal_put(terminal, box.line + (int)i, box.column, box.columns, STYLE_PLAIN, lines.data[i]);
		terminal_show(terminal, 0, -1);
		key = terminal_key(terminal, -1);
	}
	vec_deinit(&lines);
	strbuf_deinit(&wrapped);
}

/* ---- long texts ---- */

struct pages {
	struct terminal *terminal;
	const char *title;
	line_list lines;
	size_t top, left;
	char *wanted; /* what was searched for last, or NULL */
	bool missed;
};

static size_t page_lines(const struct pages *pages)
{
	int lines = terminal_lines(pages->terminal) - 2;
	return lines > 1 ? (size_t)lines : 1;
}

/* The text behind so many columns, or its end. */
static const char *skipped(const char *text, size_t columns)
{
	for (; *text && columns; columns--)
		for (text++; (*text & 0xc0) == 0x80;)
			text++;
	return text;
}

static void draw_pages(const struct pages *pages)
{
	struct terminal *terminal = pages->terminal;
	int columns = terminal_columns(terminal);
	struct strbuf status = {0};
	terminal_clear(terminal);
	terminal_put(terminal, 0, 0, columns, STYLE_TITLE, pages->title);
	for (size_t i = 0; i < page_lines(pages) && pages->top + i < pages->lines.len; i++) {
		const char *line = pages->lines.data[pages->top + i];
		bool title = *line == '\001', found = pages->wanted && *pages->wanted && strstr(line, pages->wanted);
		terminal_put(terminal, 1 + (int)i, 0, columns,
			     title   ? STYLE_HEADER
			     : found ? STYLE_HOT
				     : STYLE_PLAIN,
			     skipped(line + title, pages->left));
	}
	if (pages->missed)
		strbuf_printf(&status, "not found: %s", pages->wanted);
	else
		strbuf_printf(&status, "line %zu of %zu   q: back   /: search   n: next", pages->top + 1, pages->lines.len);
	status_put(terminal, strbuf_str(&status), columns);
	terminal_show(terminal, 0, -1);
	strbuf_deinit(&status);
}

/* The next line below the first one shown that has the text; from the beginning again behind the last one. */
static void search(struct pages *pages)
{
	pages->missed = false;
	if (!pages->wanted || !*pages->wanted)
		return;
	for (size_t i = 1; i <= pages->lines.len; i++) {
		size_t at = (pages->top + i) % pages->lines.len;
		if (strstr(pages->lines.data[at], pages->wanted)) {
			pages->top = at;
			return;
		}
	}
	pages->missed = true;
}

static void ask_search(struct pages *pages)
{
	char *wanted = question_ask(pages->terminal, "Search", "Text that a line has in it", pages->wanted);
	if (!wanted)
		return;
	free(pages->wanted);
	pages->wanted = wanted;
	search(pages);
}

static void move_pages(struct pages *pages, int key)
{
	size_t page = page_lines(pages), last = pages->lines.len > page ? pages->lines.len - page : 0;
	if (key == KEY_GO_RIGHT)
		pages->left += 8;
	else if (key == KEY_GO_LEFT)
		pages->left -= 8;
	else if (key == KEY_LINE_UP || key == 'k')
		pages->top -= pages->top > 0;
	else if (key == KEY_LINE_DOWN || key == 'j')
		pages->top += pages->top < last;
	else
		pages->top = moved(key, pages->top, pages->lines.len, page);
	if (key == KEY_LAST || (key == KEY_PAGE_DOWN && pages->top > last))
		pages->top = last;
}

void text_show(struct terminal *terminal, const char *title, const char *text)
{
	struct pages pages = {.terminal = terminal, .title = title};
	char *copy = mem_strdup(text);
	cut(copy, &pages.lines);
	if (!pages.lines.len)
		vec_push(&pages.lines, "");
	for (;;) {
		draw_pages(&pages);
		int key = terminal_key(terminal, -1);
		if (is_end(key) && !(key == KEY_GO_LEFT && pages.left))
			break;
		if (key == '/')
			ask_search(&pages);
		else if (key == 'n')
			search(&pages);
		else
			move_pages(&pages, key);
	}
	free(pages.wanted);
	vec_deinit(&pages.lines);
	free(copy);
}

static void add_key(struct strbuf *out, unsigned int keys, const struct key_help *row, unsigned int columns)
{
	strbuf_printf(out, "  %-*s ", (int)keys, row->keys);
	text_add_wrapped(out, row->text, keys + 3, keys + 3, columns);
}

void help_show(struct terminal *terminal, const char *title, const struct key_help *const *lists, size_t count)
{
	enum { KEYS = 18, INDENT = KEYS + 3, LEAST = 20 };
	struct strbuf text = {0};
	unsigned int columns = (unsigned int)larger(terminal_columns(terminal), INDENT + LEAST);
	for (size_t i = 0; i < count; i++)
		for (const struct key_help *row = lists[i]; row->keys; row++) {
			if (!*row->keys)
				strbuf_printf(&text, "%s\001%s\n", text.len ? "\n" : "", row->text);
			else
				add_key(&text, KEYS, row, columns);
		}
	text_show(terminal, title, strbuf_str(&text));
	strbuf_deinit(&text);
}

bool counters_explain(struct terminal *terminal, const struct branch_counter *counters, size_t count)
{
	struct strbuf text = {0};
	if (!count)
		return false;
	branch_counters_add_legend(counters, count, "", &text);
	text_show(terminal, BRANCH_COUNTERS_TITLE, strbuf_str(&text));
	strbuf_deinit(&text);
	return true;
}

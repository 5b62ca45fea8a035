/* Tables as text for people: aligned columns under a header of comment lines, call graphs below their rows. The layout is the one the
 * kernel's perf made known, so that scripts which read it keep working. Graphs are drawn in stdio_graph.c. */
#include "view/stdio_internal.h"

#include "base/pool.h"
#include "base/text.h"
#include "result/cell.h"
#include "view/counting/counting_internal.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

struct layout {
	const struct table *table;
	const struct view_options *options;
	unsigned int *widths; /* by column */
	size_t last;	      /* the last column */
	struct strbuf out;    /* each piece of work has its own */
	struct number_cache *numbers;
};

/* Rows of little weight have few different percentages: their texts are kept. */
struct number_cache {
	struct cached_number {
		double value;
		unsigned int width;
		uint8_t length;
		char text[27];
	} slots[256];
};

static bool is_text(const struct column *column)
{
	return column->kind == COLUMN_TEXT;
}

static void add_real(const struct layout *layout, const struct column *column, double value, unsigned int width, struct strbuf *out)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	struct cached_number *slot = layout->numbers ? &layout->numbers->slots[(bits * 0x9e3779b97f4a7c15u) >> 56] : NULL;
	if (slot && slot->length && slot->value == value && slot->width == width) {
		strbuf_add(out, slot->text, slot->length);
		return;
	}
	size_t start = out->len;
	cell_add(column, (union cell){.real = value}, layout->options->separator ? 0 : width, out);
	size_t length = out->len - start;
	if (slot && length <= sizeof(slot->text)) {
		*slot = (struct cached_number){.value = value, .width = width, .length = (uint8_t)length};
		memcpy(slot->text, out->data + start, length);
	}
}

/* The text of a cell without padding. */
static void add_value(const struct layout *layout, const struct column *column, union cell cell, unsigned int width, struct strbuf *out)
{
	bool counted = column->kind == COLUMN_COUNT || column->kind == COLUMN_NANOSECONDS || column->kind == COLUMN_BYTES;
	if (column->kind == COLUMN_PERCENT || column->kind == COLUMN_REAL) {
		add_real(layout, column, cell.real, width, out);
		return;
	}
	if (counted && layout->options->separator)
		strbuf_add_char(out, ' ');
	cell_add(column, cell, width, out);
}

/* With a separator it may not appear inside a cell. */
static void replace_separator(char *text, size_t length, char separator)
{
	for (size_t i = 0; separator && i < length; i++)
		if (text[i] == separator)
			text[i] = '.';
}

const char *stdio_color(double percent)
{
	return percent >= 5 ? "\033[31m" : percent > 0.5 ? "\033[32m" : NULL;
}

static void add_plain(struct layout *layout, size_t index, union cell cell)
{
	const struct column *column = &layout->table->columns.data[index];
	unsigned int width = layout->widths[index];
	struct strbuf *out = &layout->out;
	size_t start = out->len;
	unsigned int inner = column->width && !is_text(column) ? column->width : width;
	add_value(layout, column, cell, inner, out);
	if (column->width && is_text(column) && out->len - start > column->width) {
		out->len = start + column->width;
		out->data[out->len] = '\0';
	}
	size_t length = out->len - start;
	replace_separator(out->data + start, length, layout->options->separator);
	if (length >= width || (column->joined && layout->options->separator))
		return;
	bool right = column->align == ALIGN_RIGHT && !layout->options->separator && !(column->kind == COLUMN_PERCENT);
	size_t pad = width - length;
	if (right) {
		strbuf_add_chars(out, ' ', pad);
		memmove(out->data + start + pad, out->data + start, length);
		memset(out->data + start, ' ', pad);
	} else if (index != layout->last || column->padded) {
		strbuf_add_chars(out, ' ', pad);
	}
}

static void add_padded(struct layout *layout, size_t index, union cell cell)
{
	bool percent = layout->options->color && layout->table->columns.data[index].kind == COLUMN_PERCENT;
	const char *color = percent ? stdio_color(cell.real) : NULL;
	if (color)
		strbuf_add_str(&layout->out, color);
	add_plain(layout, index, cell);
	if (color)
		strbuf_add_str(&layout->out, STDIO_COLOR_END);
}

static void add_gap(struct layout *layout, size_t column)
{
	if (column == 0 || layout->table->columns.data[column].joined)
		return;
	if (layout->options->separator)
		strbuf_add_char(&layout->out, layout->options->separator);
	else
		strbuf_add_chars(&layout->out, ' ', 2);
}

enum { LEVEL_INDENT = 3 };

static unsigned int levels_indent(const struct layout *layout)
{
	return layout->table->levels && !layout->options->separator ? (layout->table->levels - 1) * LEVEL_INDENT : 0;
}

/* A remark in the place of rows that are left out. */
static void add_note(struct layout *layout, const struct row *row)
{
	size_t width = 4 + (layout->table->levels + row->depth) * LEVEL_INDENT;
	for (size_t i = 0; i < layout->last; i++)
		width += layout->widths[i] + (i && !layout->table->columns.data[i].joined ? 2 : 0);
	strbuf_add_chars(&layout->out, ' ', width);
	strbuf_printf(&layout->out, "%s\n", row->cells[layout->last].text);
}

static void add_row(struct layout *layout, const struct row *row)
{
	if (row->note) {
		add_note(layout, row);
		return;
	}
	strbuf_add_chars(&layout->out, ' ', row->depth * LEVEL_INDENT);
	if (!layout->options->separator)
		strbuf_add_chars(&layout->out, ' ', 2);
	for (size_t i = 0; i < layout->table->columns.len; i++) {
		if (i == layout->last)
			strbuf_add_chars(&layout->out, ' ', levels_indent(layout));
		add_gap(layout, i);
		size_t start = layout->out.len;
		bool group = i + 1 < layout->table->columns.len && layout->table->columns.data[i + 1].joined;
		if (!group || !layout->options->separator) {
			add_padded(layout, i, row->cells[i]);
			continue;
		}
		/* A group's values in one field. */
		unsigned int width = 0;
		size_t end = i;
		for (; end < layout->table->columns.len && (end == i || layout->table->columns.data[end].joined); end++) {
			add_value(layout, &layout->table->columns.data[end], row->cells[end], layout->widths[end], &layout->out);
			width += layout->widths[end];
		}
		if (layout->out.len - start < width)
			strbuf_add_chars(&layout->out, ' ', width - (layout->out.len - start));
		i = end - 1;
	}
	strbuf_add_char(&layout->out, '\n');
	if (row->tree)
		stdio_add_graph(&layout->table->graph, row, layout->options->color, &layout->out);
}

enum { ROWS_PER_ITEM = 2048, ITEMS_PER_ROUND = 64 };

/* Rows are put into text by several threads, a round of pieces at a time, and written in order. Call graphs are large, and made when their
 * row is: where there are some, a piece is a row. */
struct round {
	const struct layout *layout;
	struct layout *items;
	size_t first, step; /* row, rows of a piece */
	size_t rows;
	bool *with_graph; /* by piece */
};

static void render_item(void *context, unsigned int worker, size_t item)
{
	struct round *round = context;
	struct layout *layout = &round->items[item];
	struct strbuf out = layout->out;
	*layout = *round->layout;
	layout->out = out;
	layout->numbers = mem_zalloc(sizeof(*layout->numbers));
	struct row_scratch scratch;
	struct row made;
	row_scratch_init(&scratch, layout->table);
	size_t begin = round->first + item * round->step, end = begin + round->step;
	round->with_graph[item] = false;
	for (size_t i = begin; i < end && i < round->rows; i++) {
		const struct row *row = table_row(layout->table, i, &scratch, &made);
		add_row(layout, row);
		round->with_graph[item] |= row->tree != NULL;
	}
	row_scratch_deinit(&scratch);
	free(layout->numbers);
	layout->numbers = NULL;
}

/* Puts the next `count` pieces into text and writes them. Whether one of their rows has a call graph. */
static bool add_round(struct round *round, unsigned int jobs, size_t count, const struct sink *output)
{
	bool with_graph = false;
	pool_run(jobs, count, render_item, round);
	for (size_t i = 0; i < count; i++) {
		sink_move(output, &round->items[i].out);
		with_graph |= round->with_graph[i];
	}
	round->first += count * round->step;
	return with_graph;
}

static void add_rows(const struct layout *layout, const struct sink *output)
{
	enum { GRAPHS_PER_JOB = 4 };
	unsigned int jobs = layout->options->jobs ? layout->options->jobs : 1;
	bool graphs = layout->table->graph.style != GRAPH_NONE;
	struct round round = {.layout = layout,
			      .items = mem_zalloc_array(ITEMS_PER_ROUND, sizeof(*round.items)),
			      .step = graphs ? 1 : ROWS_PER_ITEM,
			      .rows = table_row_count(layout->table),
			      .with_graph = mem_zalloc_array(ITEMS_PER_ROUND, sizeof(*round.with_graph))};
	while (round.first < round.rows) {
		size_t left = (round.rows - round.first + round.step - 1) / round.step,
		       most = graphs ? jobs * GRAPHS_PER_JOB : ITEMS_PER_ROUND;
		most = most < ITEMS_PER_ROUND ? most : ITEMS_PER_ROUND;
		graphs = add_round(&round, jobs, left < most ? left : most, output);
		round.step = graphs ? 1 : round.step < ROWS_PER_ITEM ? round.step * 2 : ROWS_PER_ITEM;
	}
	for (size_t i = 0; i < ITEMS_PER_ROUND; i++)
		strbuf_deinit(&round.items[i].out);
	free(round.items);
	free(round.with_graph);
}

/* The width of a title: that of its column and of those joined to it. */
static unsigned int title_width(const struct layout *layout, size_t column)
{
	unsigned int width = layout->widths[column];
	for (size_t i = column + 1; i < layout->table->columns.len && layout->table->columns.data[i].joined; i++)
		width += layout->widths[i];
	return width;
}

/* A line of the header, from `start` on, is cut off at the terminal's edge: what would be wrapped looks like another line. */
static void end_title_line(struct layout *layout, size_t start)
{
	size_t most = start + layout->options->columns;
	if (layout->options->columns && layout->out.len > most) {
		while (most > start && (layout->out.data[most] & 0xc0) == 0x80) /* amid a character */
			most--;
		layout->out.len = most;
	}
	strbuf_add_char(&layout->out, '\n');
}

static void add_titles(struct layout *layout)
{
	const struct table *table = layout->table;
	size_t start = layout->out.len;
	strbuf_add_str(&layout->out, "# ");
	strbuf_add_chars(&layout->out, ' ', levels_indent(layout));
	for (size_t i = 0; i < table->columns.len; i++) {
		const struct column *column = &table->columns.data[i];
		if (column->joined)
			continue;
		add_gap(layout, i);
		size_t width = title_width(layout, i), length = strlen(column->title);
		bool right = !is_text(column) && column->align == ALIGN_RIGHT;
		right |= is_text(column) && column->align == ALIGN_RIGHT;
		if (column->width && is_text(column) && length > width)
			length = width;
		if (right && length < width)
			strbuf_add_chars(&layout->out, ' ', width - length);
		text_add_safe(&layout->out, column->title, length);
		if (!right && length < width && !(table->levels && i == layout->last))
			strbuf_add_chars(&layout->out, ' ', width - length);
	}
	end_title_line(layout, start);
	if (layout->options->separator && !table->levels)
		return;
	start = layout->out.len;
	strbuf_add_str(&layout->out, "# ");
	strbuf_add_chars(&layout->out, '.', levels_indent(layout));
	for (size_t i = 0; i < table->columns.len; i++) {
		if (table->columns.data[i].joined)
			continue;
		if (i && i != layout->last && table->levels)
			strbuf_add_chars(&layout->out, '.', 2);
		else
			add_gap(layout, i);
		strbuf_add_chars(&layout->out, '.', title_width(layout, i));
	}
	end_title_line(layout, start);
	strbuf_add_str(&layout->out, "#\n");
}

static void measure(struct layout *layout)
{
	const struct table *table = layout->table;
	struct strbuf text = {0};
	for (size_t i = 0; i < table->columns.len; i++) {
		const struct column *column = &table->columns.data[i];
		size_t width = column->joined ? 0 : strlen(column->title);
		if (column->width) {
			layout->widths[i] = is_text(column) ? column->width : column->width > width ? column->width : (unsigned int)width;
			continue;
		}
		if (column->min_width > width)
			width = column->min_width;
		for (size_t r = 0; r < table->rows.len; r++) {
			strbuf_clear(&text);
			add_value(layout, column, table->rows.data[r].cells[i], 0, &text);
			if (text.len > width)
				width = text.len;
		}
		layout->widths[i] = (unsigned int)width;
	}
	strbuf_deinit(&text);
}

/* Event names are in it as recorded. */
static void add_comment(struct layout *layout, const char *text)
{
	strbuf_add_str(&layout->out, *text ? "# " : "#");
	text_add_safe_lines(&layout->out, text);
	strbuf_add_char(&layout->out, '\n');
}

static struct error *stdio_table(const struct table *table, const struct view_options *options, const struct sink *out)
{
	struct layout layout = {.table = table, .options = options, .last = table->columns.len - 1};
	layout.widths = mem_zalloc_array(table->columns.len + 1, sizeof(*layout.widths));
	measure(&layout);
	if (options->header) {
		for (size_t i = 0; i < table->header.len; i++)
			add_comment(&layout, table->header.data[i]);
		add_titles(&layout);
	}
	sink_move(out, &layout.out);
	strbuf_deinit(&layout.out);
	add_rows(&layout, out);
	free(layout.widths);
	return NULL;
}

const struct view_ops view_stdio = {.name = "stdio",
				    .summary = "aligned text",
				    .table = stdio_table,
				    .annotation = stdio_annotation,
				    .type_layout = stdio_type_layout,
				    .counting = stdio_counting};

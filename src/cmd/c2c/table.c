/* perf c2c report for programs: a table of figures, one of lines, one of places. Each row says by "table" what it is about. */
#include "cmd/c2c/c2c.h"

#include "view/view.h"

#include <math.h>
#include <stdio.h>

struct figures {
	struct table *table;
};

static void add_figure(void *context, const struct c2c_statistic *statistic)
{
	struct figures *figures = context;
	const union cell cells[] = {
		{.text = statistic->id},
		{.real = !statistic->percent	   ? (double)statistic->count
			 : isnan(statistic->share) ? 0
						   : statistic->share},
	};
	table_add_row(figures->table, cells);
}

static struct table *begin(const char *id, const struct column *columns, size_t count)
{
	struct table *table = table_create_columns(id, columns, count);
	table->subject_id = "table";
	table->subject = id;
	return table;
}

static struct table *figures_table(const struct c2c *c2c)
{
	static const struct column columns[] = {{"figure", "Figure", COLUMN_TEXT},
						{"value", "Value", COLUMN_REAL, ALIGN_RIGHT, .decimals = 2}};
	struct figures figures = {begin("figures", columns, sizeof(columns) / sizeof(*columns))};
	c2c_statistics(c2c, false, add_figure, &figures);
	c2c_statistics(c2c, true, add_figure, &figures);
	return figures.table;
}

typedef VEC(union cell) cell_list;

static void add_cells(const struct c2c *c2c, struct table *table, const struct c2c_columns *columns, size_t index,
		      const struct sharing_line *line, const struct sharing_place *place, cell_list *cells)
{
	struct strbuf text = {0};
	for (size_t i = 0; i < columns->list.len; i++) {
		const struct c2c_column *column = &columns->list.data[i];
		union cell cell = c2c_cell(c2c, column, index, line, place, &text);
		if (column->kind == COLUMN_TEXT)
			cell.text = arena_strdup(&table->arena, strbuf_str(&text));
		vec_push(cells, cell);
	}
	strbuf_deinit(&text);
}

/* Lines, or their places with the line's number and address in front. */
static struct table *rows_table(const struct c2c *c2c, bool places)
{
	VEC(struct column) columns = {0};
	struct c2c_columns heading = {0}, shown = {0}, front = {0};
	(places ? c2c_place_columns : c2c_line_columns)(c2c, &shown);
	c2c_heading_columns(c2c, &heading);
	if (places) {
		vec_push(&front.list, heading.list.data[0]);
		vec_push(&front.list, *vec_last(&heading.list));
	}
	for (size_t i = 0; i < front.list.len; i++)
		vec_push(&columns, ((struct column){front.list.data[i].id, front.list.data[i].id, front.list.data[i].kind, ALIGN_RIGHT}));
	for (size_t i = 0; i < shown.list.len; i++)
		vec_push(&columns, ((struct column){shown.list.data[i].id, shown.list.data[i].title, shown.list.data[i].kind, ALIGN_RIGHT,
						    .decimals = 2}));
	struct table *table = begin(places ? "places" : "lines", columns.data, columns.len);
	cell_list cells = {0};
	for (size_t i = 0; i < c2c->sharing.lines.len; i++) {
		const struct sharing_line *line = c2c->sharing.lines.data[i];
		for (size_t j = 0; j < (places ? line->places.len : 1); j++) {
			const struct sharing_place *place = places ? line->places.data[j] : NULL;
			cells.len = 0;
			add_cells(c2c, table, &front, i, line, place, &cells);
			add_cells(c2c, table, &shown, i, line, place, &cells);
			table_add_row(table, cells.data);
		}
	}
	vec_deinit(&cells);
	vec_deinit(&columns);
	vec_deinit(&heading.list);
	vec_deinit(&shown.list);
	vec_deinit(&front.list);
	return table;
}

struct error *c2c_write_tables(const struct c2c *c2c)
{
	struct table *tables[] = {figures_table(c2c), c2c->options->stats ? NULL : rows_table(c2c, false),
				  c2c->options->stats ? NULL : rows_table(c2c, true)};
	enum { TABLES = sizeof(tables) / sizeof(*tables) };
	struct document document = {0};
	for (size_t i = 0; i < TABLES; i++)
		if (tables[i])
			document_add(&document, (struct result){RESULT_TABLE, .table = tables[i]});
	const struct view_options view = {.header = true};
	struct sink out = sink_to_file(stdout);
	struct error *error = view_write(view_find(c2c->options->format), &document, &view, &out);
	document_deinit(&document);
	for (size_t i = 0; i < TABLES; i++)
		table_destroy(tables[i]);
	return error;
}

/* perf c2c report as text: titles in two lines, the upper ones above several columns. */
#include "cmd/c2c/c2c.h"

#include "base/text.h"
#include "event/event_set.h"
#include "view/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RULER "================================================="

static void print_title(const char *title)
{
	printf(RULER "\n%s\n" RULER "\n", title);
}

/* ---- figures ---- */

static void print_statistic(void *context, const struct c2c_statistic *statistic)
{
	if (!statistic->percent)
		printf("  %-34s: %10" PRIu64 "\n", statistic->text, statistic->count);
	else if (isnan(statistic->share))
		printf("  %-34s: %11s\n", statistic->text, "-nan%");
	else
		printf("  %-34s: %10.1f%%\n", statistic->text, statistic->share);
}

static void print_events(const struct c2c *c2c)
{
	const struct event_list *events = &c2c->opening.session->reader->events;
	struct strbuf name = {0};
	for (size_t i = 0; i < events->events.len; i++) {
		strbuf_clear(&name);
		text_add_safe(&name, events->events.data[i]->name, strlen(events->events.data[i]->name));
		printf("  %-34s: %s\n", i ? "" : "Events", strbuf_str(&name));
	}
	strbuf_deinit(&name);
}

static void print_details(const struct c2c *c2c)
{
	static const char *const ranks[] = {"Total HITMs", "Local HITMs", "Remote HITMs", "Peer Snoop"};
	const struct sharing_options *options = &c2c->options->sharing;
	print_title("                 c2c details                     ");
	print_events(c2c);
	printf("  %-34s: %s\n", "Cachelines sort on", ranks[options->rank]);
	printf("  %-34s: offset", "Cacheline data grouping");
	for (size_t i = 0; i < options->key_count; i++)
		printf(",%s", sharing_key_name(options->keys[i]));
	putchar('\n');
}

/* ---- tables ---- */

static void add_padded(struct strbuf *out, const char *text, unsigned int width, bool left)
{
	size_t used = text_width(text, strlen(text));
	if (!left && used < width)
		strbuf_add_chars(out, ' ', width - used);
	strbuf_add_str(out, text);
	if (left && used < width)
		strbuf_add_chars(out, ' ', width - used);
}

/* `first`: of the columns that are left out in front. */
static void print_titles(const struct c2c_columns *columns, unsigned int first)
{
	struct strbuf top = {0}, titles = {0}, dots = {0};
	strbuf_add_str(&top, "# ");
	strbuf_add_str(&titles, "# ");
	strbuf_add_str(&dots, "# ");
	if (first) {
		strbuf_add_chars(&top, ' ', first + 2);
		add_padded(&titles, "Num", first, false);
		strbuf_add_str(&titles, "  ");
		strbuf_add_chars(&dots, '.', first);
		strbuf_add_str(&dots, "  ");
	}
	for (size_t i = 0; i < columns->list.len; i++) {
		const struct c2c_column *column = &columns->list.data[i];
		const char *between = i ? "  " : "";
		if (column->span) {
			strbuf_add_str(&top, between);
			add_padded(&top, column->top ? column->top : "", column->width, false);
		}
		strbuf_add_str(&titles, between);
		add_padded(&titles, column->title, column->width, false);
		strbuf_add_str(&dots, between);
		strbuf_add_chars(&dots, '.', column->width);
	}
	printf("#\n%s\n%s\n%s\n#\n", strbuf_str(&top), strbuf_str(&titles), strbuf_str(&dots));
	strbuf_deinit(&top);
	strbuf_deinit(&titles);
	strbuf_deinit(&dots);
}

static void add_cell(struct strbuf *out, const struct c2c_column *column, union cell cell, bool last)
{
	int width = (int)column->width;
	switch (column->kind) {
	case COLUMN_PERCENT:
		strbuf_printf(out, "%*.2f%%", width - 1, cell.real);
		break;
	case COLUMN_REAL:
		strbuf_printf(out, "%*.0f", width, cell.real);
		break;
	case COLUMN_ADDRESS: {
		char number[32];
		snprintf(number, sizeof(number), "0x%" PRIx64, cell.integer);
		strbuf_printf(out, "%*s", width, number);
		break;
	}
	case COLUMN_TEXT:
		add_padded(out, cell.text, last ? 0 : column->width, column->left);
		break;
	default:
		strbuf_printf(out, "%*" PRIu64, width, cell.integer);
	}
}

struct printer {
	const struct c2c *c2c;
	struct strbuf line, text;
};

/* Shortens a text; no character is cut in two. */
static void cut(struct strbuf *text, unsigned int width)
{
	if (text->len <= width)
		return;
	while (width && (text->data[width] & 0xc0) == 0x80)
		width--;
	text->data[width] = 0;
	text->len = width;
}

static void print_row(struct printer *printer, const struct c2c_columns *columns, unsigned int indent, size_t index,
		      const struct sharing_line *line, const struct sharing_place *place)
{
	strbuf_clear(&printer->line);
	strbuf_add_chars(&printer->line, ' ', indent);
	for (size_t i = 0; i < columns->list.len; i++) {
		const struct c2c_column *column = &columns->list.data[i];
		union cell cell = c2c_cell(printer->c2c, column, index, line, place, &printer->text);
		if (column->left && i + 1 < columns->list.len)
			cut(&printer->text, column->width);
		strbuf_add_str(&printer->line, i ? "  " : "");
		add_cell(&printer->line, column, cell, i + 1 == columns->list.len);
	}
	puts(strbuf_str(&printer->line));
}

static void print_lines(struct printer *printer)
{
	const struct c2c *c2c = printer->c2c;
	struct c2c_columns columns = {0};
	c2c_line_columns(c2c, &columns);
	print_title("           Shared Data Cache Line Table          ");
	print_titles(&columns, 0);
	for (size_t i = 0; i < c2c->sharing.lines.len; i++)
		print_row(printer, &columns, 2, i, c2c->sharing.lines.data[i], NULL);
	vec_deinit(&columns.list);
}

/* As percentages of all samples of the line. */
static void print_calls(struct printer *printer, const struct sharing_line *line, const struct sharing_place *place)
{
	static const enum graph_style styles[] = {[CALLGRAPH_PRINT_NONE] = GRAPH_NONE,
						  [CALLGRAPH_PRINT_GRAPH] = GRAPH_TREE,
						  [CALLGRAPH_PRINT_FRACTAL] = GRAPH_FRACTAL,
						  [CALLGRAPH_PRINT_FLAT] = GRAPH_FLAT,
						  [CALLGRAPH_PRINT_FOLDED] = GRAPH_FOLDED};
	const struct callgraph_choice *choice = &printer->c2c->options->callgraph;
	const struct table_graph graph = {.style = styles[choice->mode],
					  .value = choice->value,
					  .total = line->period,
					  .most_entries = choice->most_entries,
					  .least = (uint64_t)(choice->min_percent / 100 * (double)line->period)};
	const struct row row = {.value = place->period, .tree = place->calls};
	if (!place->calls)
		return;
	sharing_calls_finish(place->calls, line->period, choice->min_percent, graph.style == GRAPH_FRACTAL);
	strbuf_clear(&printer->line);
	stdio_add_graph(&graph, &row, false, &printer->line);
	fputs(strbuf_str(&printer->line), stdout);
}

static void print_places(struct printer *printer)
{
	enum { NUMBER = 5 };
	static const char ruler[] = "  ----------------------------------------------------------------------";
	const struct c2c *c2c = printer->c2c;
	struct c2c_columns heading = {0}, columns = {0};
	c2c_heading_columns(c2c, &heading);
	c2c_place_columns(c2c, &columns);
	print_title("      Shared Cache Line Distribution Pareto      ");
	if (c2c->sharing.lines.len)
		print_titles(&columns, NUMBER);
	else
		puts("#");
	for (size_t i = 0; i < c2c->sharing.lines.len; i++) {
		const struct sharing_line *line = c2c->sharing.lines.data[i];
		printf("%s%s\n", i ? "\n" : "", ruler);
		print_row(printer, &heading, 2, i, line, NULL);
		puts(ruler);
		for (size_t j = 0; j < line->places.len; j++) {
			print_row(printer, &columns, NUMBER + 4, i, line, line->places.data[j]);
			print_calls(printer, line, line->places.data[j]);
		}
	}
	vec_deinit(&heading.list);
	vec_deinit(&columns.list);
}

void c2c_print(const struct c2c *c2c)
{
	struct printer printer = {.c2c = c2c};
	print_title("            Trace Event Information              ");
	c2c_statistics(c2c, false, print_statistic, NULL);
	putchar('\n');
	print_title("    Global Shared Cache Line Event Information   ");
	c2c_statistics(c2c, true, print_statistic, NULL);
	putchar('\n');
	print_details(c2c);
	if (!c2c->options->stats) {
		putchar('\n');
		print_lines(&printer);
		putchar('\n');
		print_places(&printer);
	}
	strbuf_deinit(&printer.line);
	strbuf_deinit(&printer.text);
}

/* From rows to a table (rows_table.h): columns and their widths, the rows that are heavy enough, and cells. */
#include "analysis/report/table/rows_table_internal.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static uint64_t modes_value(const struct row_modes *modes, enum key_total total)
{
	switch (total) {
	case TOTAL_OVERHEAD_SYS:
		return modes->sys;
	case TOTAL_OVERHEAD_US:
		return modes->us;
	case TOTAL_OVERHEAD_GUEST_SYS:
		return modes->guest_sys;
	default:
		return modes->guest_us;
	}
}

union cell rows_table_total(const struct rows_table *table, const struct row_sums *sums, const struct row_modes *modes,
			    const struct key *key, size_t event)
{
	uint64_t total = table->totals[event];
	switch (key->total) {
	case TOTAL_OVERHEAD_CHILDREN:
		return (union cell){.real = rows_percent(table->rows->options.children ? sums->children : sums->period, total)};
	case TOTAL_OVERHEAD:
		return (union cell){.real = rows_percent(sums->period, total)};
	case TOTAL_SAMPLES:
		return (union cell){.integer = sums->count};
	case TOTAL_PERIOD:
		return (union cell){.integer = sums->period};
	default:
		return (union cell){.real = rows_percent(modes ? modes_value(modes, key->total) : 0, total)};
	}
}

union cell rows_table_cell(const struct rows_table *table, uint32_t row, const struct key *key, struct strbuf *text)
{
	struct rows *rows = table->rows;
	struct key_source source;
	rows_source(rows, row, key, &source);
	if (!key->text && key->string)
		return (union cell){.text = source.string ? source.string : key->string(rows->context, key, &source)};
	if (!key->text)
		return (union cell){.integer = (uint64_t)key->number(rows->context, key, &source)};
	strbuf_clear(text);
	key->text(rows->context, key, &source, text);
	return (union cell){.text = strbuf_str(text)};
}

static union cell row_total(const struct rows_table *table, uint32_t row, const struct key *key, size_t event)
{
	const struct rows *rows = table->rows;
	size_t at = row * rows->options.event_count + event;
	return rows_table_total(table, &rows->sums[at], rows->modes ? &rows->modes[at] : NULL, key, event);
}

uint32_t rows_table_row(const struct rows_table *table, size_t line)
{
	return table->levels ? rows_levels_row(table->levels, line) : table->rows->order[table->visible ? table->visible[line] : line];
}

static void fetch_row(const void *context, size_t index, struct row_scratch *scratch, struct row *ret)
{
	const struct rows_table *table = context;
	uint32_t row = rows_table_row(table, index);
	for (size_t i = 0; i < table->keys.len; i++) {
		const struct key *key = table->keys.data[i];
		scratch->cells[i] = key->domain == KEY_TOTAL ? row_total(table, row, key, table->events.data[i])
							     : rows_table_cell(table, row, key, &scratch->texts[i]);
	}
	const struct row_sums *sums = &table->rows->sums[row * table->rows->options.event_count + table->options.graph.event];
	row_scratch_set_tree(scratch, table->graphs ? callgraphs_row(table->graphs, row, scratch->shallow) : NULL);
	*ret = (struct row){
		.cells = scratch->cells, .value = table->rows->options.children ? sums->children : sums->period, .tree = scratch->tree};
}

/* The longest name of those whose samples made the rows, by what the threads are called last. */
static unsigned int names_width(const struct rows *rows)
{
	const struct fold *fold = rows->fold;
	unsigned int widest = 0;
	bool *seen = mem_zalloc_array(fold->actor_count + 1, sizeof(*seen));
	uint64_t *shown = rows_shown(rows);
	for (size_t row = 0; row < rows->row_count; row++) {
		uint32_t actor = fold->entries[rows->rows[row].first].actor;
		if (seen[actor] || !(shown[row / 64] >> (row % 64) & 1))
			continue;
		seen[actor] = true;
		size_t length = text_untrusted_length(thread_comm(fold->actors[actor].thread, UINT64_MAX));
		if (length > widest)
			widest = (unsigned int)length;
	}
	free(shown);
	free(seen);
	return widest;
}

/* Widths as the kernel tool has them: only names of commands that are longer than what their threads are called last widen the column,
 * where it cuts them off. */
static unsigned int content_width(const struct rows_table *table, const struct key *key)
{
	enum { UNRESOLVED_FILES = 16 };
	struct rows *rows = table->rows;
	unsigned int widest = rows_width(rows, key), least = 0;
	if (key->width_rule == KEY_WIDTH_NAMES)
		least = names_width(rows) + key->name_room;
	else if (key->width_rule == KEY_WIDTH_FILES && widest < UNRESOLVED_FILES && rows_have_unresolved(rows, key))
		least = UNRESOLVED_FILES;
	return widest > least ? widest : least;
}

unsigned int rows_table_width(const struct rows_table *table, const struct key *key)
{
	if (key->width_rule == KEY_WIDTH_FIXED)
		return key->width;
	if (key->exact_width && table->options.exact_times)
		return key->exact_width;
	unsigned int width = content_width(table, key);
	return width > key->width ? width : key->width;
}

static void add_column(struct rows_table *table, const struct key *key, size_t event)
{
	struct column column = {
		.id = key->name, .title = key->title, .kind = key->text ? COLUMN_TEXT : key->kind, .align = key->align, .decimals = 2};
	if (event)
		column.joined = true;
	column.padded = !(key->flags & KEY_RAGGED);
	if (key->domain == KEY_TOTAL) {
		column.min_width = key->width;
		if (key->total == TOTAL_OVERHEAD && table->options.self_title)
			column.title = table->options.self_title;
	} else {
		column.min_width = rows_table_width(table, key);
	}
	vec_push(&table->table->columns, column);
	vec_push(&table->keys, key);
	vec_push(&table->events, event);
}

static void set_widths(struct rows_table *table)
{
	const char *text = table->options.widths;
	size_t column = 0;
	while (text && *text && column < table->table->columns.len) {
		char *end;
		unsigned long width = strtoul(text, &end, 10);
		do {
			table->table->columns.data[column++].width = (unsigned int)width;
		} while (column < table->table->columns.len && table->table->columns.data[column].joined);
		if (*end != ',')
			break;
		text = end + 1;
	}
}

static void make_columns(struct rows_table *table)
{
	const struct rows_table_options *options = &table->options;
	for (size_t i = 0; i < options->column_count; i++) {
		const struct key *key = options->columns[i];
		if (key->event && rows_event(table->rows, &(struct fold_entry){.event = (uint16_t)key->event->index}) < 0)
			continue;
		if (options->in_levels && key->domain != KEY_TOTAL)
			continue;
		size_t events = key->domain == KEY_TOTAL ? options->event_count : 1;
		for (size_t event = 0; event < events; event++)
			add_column(table, key, event);
	}
	set_widths(table);
}

static void choose_rows(struct rows_table *table)
{
	const struct rows *rows = table->rows;
	const struct rows_table_options *options = &table->options;
	table->visible_count = rows->shown_count;
	bool all = options->event_count == rows->options.event_count;
	if (options->least_percent <= 0 && all && !options->least_samples)
		return;
	table->visible_count = 0;
	table->visible = mem_alloc_array(rows->shown_count + 1, sizeof(*table->visible));
	for (uint32_t i = 0; i < rows->shown_count; i++) {
		const struct row_sums *sums = &rows->sums[rows->order[i] * rows->options.event_count];
		uint64_t value = rows->options.children ? sums->children : sums->period;
		bool often = !options->least_samples || sums->count > options->least_samples;
		if ((all || value) && often && rows_percent(value, table->totals[0]) >= options->least_percent)
			table->visible[table->visible_count++] = i;
	}
}

static void make_graphs(struct rows_table *table)
{
	static const enum graph_style styles[] = {[CALLGRAPH_PRINT_GRAPH] = GRAPH_TREE,
						  [CALLGRAPH_PRINT_FRACTAL] = GRAPH_FRACTAL,
						  [CALLGRAPH_PRINT_FLAT] = GRAPH_FLAT,
						  [CALLGRAPH_PRINT_FOLDED] = GRAPH_FOLDED};
	const struct rows_table_options *options = &table->options;
	uint64_t total = table->totals[options->graph.event];
	if (options->graph.mode == CALLGRAPH_PRINT_NONE)
		return;
	table->graphs = callgraphs_create(table->rows, &options->graph);
	table->table->graph = (struct table_graph){
		.style = styles[options->graph.mode],
		.value = options->graph_value,
		.total = total,
		.most_entries = options->graph_most_entries,
		.least = (uint64_t)((double)total * options->graph.min_percent / 100),
		.skip_first = options->graph_skip_first,
	};
}

struct rows_table *rows_table_create(struct rows *rows, const struct rows_table_options *options)
{
	struct rows_table *table = mem_zalloc(sizeof(*table));
	table->rows = rows;
	table->options = *options;
	table->table = table_create();
	table->totals = options->relative ? rows->total_shown : rows->total;
	make_columns(table);
	make_graphs(table);
	if (options->in_levels) {
		table->levels = rows_levels_create(table);
	} else {
		choose_rows(table);
		table->table->fetched = table->visible_count;
		table->table->fetch = fetch_row;
		table->table->fetch_context = table;
	}
	table->options.columns = table->options.levels = NULL;
	table->options.open = NULL;
	return table;
}

void rows_table_destroy(struct rows_table *table)
{
	if (!table)
		return;
	rows_levels_destroy(table->levels);
	callgraphs_destroy(table->graphs);
	table_destroy(table->table);
	vec_deinit(&table->keys);
	vec_deinit(&table->events);
	free(table->visible);
	free(table);
}

struct table *rows_table_result(struct rows_table *table)
{
	return table->table;
}

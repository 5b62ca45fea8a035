/* perf report --total-cycles: the blocks of code between branches, those first that took most cycles. */
#include "cmd/report/table.h"

#include "analysis/blocks.h"
#include "analysis/report/table/rows_table.h"
#include "analysis/source_lines.h"
#include "base/log.h"

#include <string.h>

enum { COUNTERS_WIDTH = 30, RANGE_WIDTH = 70, DSO_WIDTH = 20 };

static bool is_shown(const struct report *report, const struct block *block, double percent)
{
	const struct report_options *options = report->options;
	const struct dso *dso = block->last.map->dso;
	if (percent < options->percent_limit)
		return false;
	if (options->dsos.names.len && !name_list_has(&options->dsos, dso->short_name) && !name_list_has(&options->dsos, dso->name))
		return false;
	if (options->symbol_filter && !strstr(block->last.symbol->name, options->symbol_filter))
		return false;
	return !options->symbols.names.len || name_list_has(&options->symbols, block->last.symbol->name);
}

/* "file.c:12"; without debug information "function+0x17". */
static void add_place(struct report *report, const struct block *block, uint64_t dso_address, struct strbuf *out)
{
	struct frame frame = block->last;
	frame.dso_addr = dso_address;
	frame.ip -= block->last.dso_addr - dso_address;
	const struct code_function *function = source_find(report->opening.resolver, &frame, false);
	if (function && function->file)
		strbuf_printf(out, "%s:%u", source_file(function->file, report->options->full_source_path), function->line);
	else
		strbuf_printf(out, "%s+0x%lx", frame.symbol->name, dso_address - frame.symbol->start);
}

const char *report_block_range(struct report *report, const struct block *block, struct arena *arena)
{
	struct strbuf text = {0};
	strbuf_add_char(&text, '[');
	add_place(report, block, block->first, &text);
	strbuf_add_str(&text, " -> ");
	add_place(report, block, block->last.dso_addr, &text);
	strbuf_add_char(&text, ']');
	const char *kept = arena_strdup(arena, strbuf_str(&text));
	strbuf_deinit(&text);
	return kept;
}

static const struct column NUMBERS[] = {
	{.id = "cycles_percent", .title = "Sampled Cycles%", .kind = COLUMN_PERCENT, .decimals = 2},
	{.id = "cycles", .title = "Sampled Cycles", .kind = COLUMN_ROUNDED, .align = ALIGN_RIGHT},
	{.id = "average_percent", .title = "Avg Cycles%", .kind = COLUMN_PERCENT, .decimals = 2},
	{.id = "average", .title = "Avg Cycles", .kind = COLUMN_ROUNDED, .align = ALIGN_RIGHT},
};
static const struct column COUNTERS = {
	.id = "branch_counter", .title = "Branch Counter", .align = ALIGN_RIGHT, .min_width = COUNTERS_WIDTH};
static const struct column RANGE = {.id = "range", .title = "[Program Block Range]", .align = ALIGN_RIGHT, .min_width = RANGE_WIDTH};
static const struct column DSO = {.id = "dso", .title = "Shared Object", .align = ALIGN_RIGHT, .min_width = DSO_WIDTH};

/* What a row is about comes last on a screen, as in its other tables, and is as wide as it needs. */
static void add_columns(const struct report_blocks *shown)
{
	struct table *table = shown->table;
	for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++)
		vec_push(&table->columns, NUMBERS[i]);
	if (shown->blocks->counter_count)
		vec_push(&table->columns, COUNTERS);
	vec_push(&table->columns, shown->on_screen ? DSO : RANGE);
	vec_push(&table->columns, shown->on_screen ? RANGE : DSO);
	for (size_t i = table->columns.len - 2; shown->on_screen && i < table->columns.len; i++) {
		table->columns.data[i].align = ALIGN_LEFT;
		table->columns.data[i].min_width = 0;
	}
}

static void add_text(struct table *table, size_t column, const char *text, bool fit, union cell *cells)
{
	size_t width = strlen(text);
	cells[column].text = text;
	if (fit && width > table->columns.data[column].min_width)
		table->columns.data[column].min_width = (unsigned int)width;
}

static const char *counters_text(const struct report *report, const struct blocks *blocks, const struct block *block, struct arena *arena)
{
	struct strbuf text = {0};
	branch_counts_add_text(blocks->counters, block->counts, blocks->counter_count, block->count, report->context.verbose, &text);
	const char *kept = arena_strdup(arena, strbuf_str(&text));
	strbuf_deinit(&text);
	return kept;
}

static void add_rows(struct report *report, struct report_blocks *shown)
{
	const struct blocks *blocks = shown->blocks;
	struct table *table = shown->table;
	const size_t counters = sizeof(NUMBERS) / sizeof(NUMBERS[0]), first = table->columns.len - 2;
	const size_t range = first + shown->on_screen, dso = first + !shown->on_screen;
	for (size_t i = 0; i < blocks->count; i++) {
		const struct block *block = &blocks->list[i];
		const struct dso *file = block->last.map->dso;
		double percent = rows_percent(block->cycles, blocks->cycles);
		if (!is_shown(report, block, percent))
			continue;
		union cell *cells = arena_zalloc(&table->arena, table->columns.len * sizeof(*cells));
		cells[0].real = percent;
		cells[1].integer = block->cycles;
		cells[2].real = rows_percent(block_average(block), blocks->average_cycles);
		cells[3].integer = block_average(block);
		if (blocks->counter_count)
			add_text(table, counters, counters_text(report, blocks, block, &table->arena), false, cells);
		add_text(table, range, report_block_range(report, block, &table->arena), shown->on_screen, cells);
		add_text(table, dso, report->context.verbose ? file->name : file->short_name, shown->on_screen, cells);
		vec_push(&table->rows, (struct row){.cells = cells});
		vec_push(&shown->rows, block);
	}
}

/* Cycles without a block to show them in. */
static void warn(const struct blocks *blocks, const struct event *event)
{
	uint64_t named = 0;
	for (size_t i = 0; i < blocks->count; i++)
		named += blocks->list[i].cycles;
	if (!blocks->cycles)
		log_warning(
			"%s: its branch records contain no cycles: the processor does not count them, or it was recorded with 'no_cycles'",
			event->name);
	else if (named < blocks->cycles - blocks->cycles / 20)
		log_warning("%s: %.0f%% of the cycles were spent in unknown functions; 'perf report -s dso_from' shows the files",
			    event->name, rows_percent(blocks->cycles - named, blocks->cycles));
}

struct error *report_blocks_open(struct report *report, const struct report_event *event, bool on_screen, struct report_blocks *ret)
{
	*ret = (struct report_blocks){.on_screen = on_screen};
	const struct blocks_options options = {.event = event->events[0], .accept = report_accept, .context = report, .counters = true};
	struct error *error = blocks_create(report->session, report->opening.resolver, &options, &ret->blocks);
	if (error)
		return error;
	warn(ret->blocks, event->events[0]);
	report_blocks_choose(report, event, ret);
	return NULL;
}

/* A line of the header for each of its lines. */
static void add_legend(const struct blocks *blocks, struct table *table)
{
	struct strbuf text = {0};
	branch_counters_add_legend(blocks->counters, blocks->counter_count, "", &text);
	vec_push(&table->header, BRANCH_COUNTERS_TITLE ":");
	for (char *rest = text.data, *line; (line = strsep(&rest, "\n"));)
		vec_push(&table->header, arena_strdup(&table->arena, line));
	strbuf_deinit(&text);
}

void report_blocks_choose(struct report *report, const struct report_event *event, struct report_blocks *shown)
{
	table_destroy(shown->table);
	shown->rows.len = 0;
	shown->table = table_create();
	report_add_header(report, event, shown->table);
	if (shown->blocks->counter_count && !shown->on_screen)
		add_legend(shown->blocks, shown->table);
	add_columns(shown);
	add_rows(report, shown);
}

void report_blocks_close(struct report_blocks *shown)
{
	table_destroy(shown->table);
	vec_deinit(&shown->rows);
	blocks_destroy(shown->blocks);
}

/* perf diff -c cycles: how many cycles blocks of code take, before and after. A block is that of `perf report --total-cycles`
 * (analysis/blocks.h). The same block has the same place in a function of the same name in a file of the same name. */
#include "cmd/diff/diff.h"

#include "analysis/blocks.h"
#include "analysis/counting/statistics.h"
#include "base/mem.h"
#include "base/search.h"
#include "cmd/report/table.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { BASELINE_WIDTH = 7, DIFF_WIDTH = 5, RANGE_WIDTH = 70 };

/* A function's blocks stand together. */
struct sorted_blocks {
	struct blocks *blocks;
	const struct block **list;
};

/* A block of both recordings. */
struct block_pair {
	const struct block *old, *new;
	int64_t change; /* of what it takes on average */
};

struct cycles_table {
	const struct diff *diff;
	const struct comparison *comparison;
	struct table *table;
	struct sorted_blocks files[2];
};

/* ---- finding ---- */

static int compare_functions(const struct block *a, const struct block *b)
{
	int difference = strcmp(a->last.symbol->name, b->last.symbol->name);
	return difference ? difference : strcmp(a->last.map->dso->short_name, b->last.map->dso->short_name);
}

static int compare_offsets(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_places(const struct block *a, const struct block *b)
{
	int difference = compare_functions(a, b);
	if (!difference)
		difference = compare_offsets(a->last.dso_addr - a->last.symbol->start, b->last.dso_addr - b->last.symbol->start);
	return difference ? difference : compare_offsets(a->first - a->last.symbol->start, b->first - b->last.symbol->start);
}

static int compare_listed(const void *a, const void *b)
{
	return compare_places(*(const struct block *const *)a, *(const struct block *const *)b);
}

static struct error *sort_blocks(struct diff_file *file, bool runs, struct sorted_blocks *ret)
{
	struct report *report = &file->report;
	const struct blocks_options options = {.event = file->event, .accept = report_accept, .context = report, .runs = runs};
	if (!(file->event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
		return error_new("%s: -c cycles: its event '%s' has no branch records; record with -b", file->path, file->event->name);
	struct error *error = blocks_create(report->session, report->opening.resolver, &options, &ret->blocks);
	if (error)
		return error;
	ret->list = mem_alloc_array(ret->blocks->count + 1, sizeof(*ret->list));
	for (size_t i = 0; i < ret->blocks->count; i++)
		ret->list[i] = &ret->blocks->list[i];
	qsort(ret->list, ret->blocks->count, sizeof(*ret->list), compare_listed);
	return NULL;
}

static const struct block *find_same(const struct sorted_blocks *sorted, const struct block *wanted)
{
	size_t at = partition_point(i, sorted->blocks->count, compare_places(sorted->list[i], wanted) < 0);
	return at < sorted->blocks->count && !compare_places(sorted->list[at], wanted) ? sorted->list[at] : NULL;
}

/* The greatest change comes first, of equal ones what takes more. */
static int compare_pairs(const void *a, const void *b)
{
	const struct block_pair *one = a, *other = b;
	int64_t x = llabs(one->change), y = llabs(other->change);
	if (x != y)
		return x < y ? 1 : -1;
	if (one->old->cycles != other->old->cycles)
		return one->old->cycles < other->old->cycles ? 1 : -1;
	return compare_places(one->old, other->old);
}

/* ---- rows ---- */

/* Of a row, the function that it is about; NULL = it is about none. */
static const struct fold_frame *function_of(const struct comparison *comparison, uint32_t number)
{
	const struct comparison_row *row = &comparison->rows.data[number];
	const struct rows *rows = comparison->files[row->file];
	for (size_t i = 0; i < comparison->key_count; i++) {
		const struct key *key = rows->options.keys[i];
		struct key_source source;
		if (key->domain != KEY_PLACE || !(key->flags & KEY_HAS_SYM))
			continue;
		rows_source(rows, row->row, key, &source);
		return source.place->symbol && source.place->map ? source.place : NULL;
	}
	return NULL;
}

/* How much the first runs of one recording differ from those of the other. */
struct noise {
	uint64_t values[BLOCK_RUNS], least, most;
	unsigned int count;
	struct statistics statistics;
};

static struct noise find_noise(const struct block_pair *pair)
{
	const struct block *old = pair->old, *new = pair->new;
	struct noise noise = {.least = UINT64_MAX, .count = old->run_count < new->run_count ? old->run_count : new->run_count};
	for (unsigned int i = 0; i < noise.count; i++) {
		uint64_t value = (uint64_t)llabs((int64_t)(new->runs[i] - old->runs[i]));
		noise.values[i] = value;
		noise.least = value < noise.least ? value : noise.least;
		noise.most = value > noise.most ? value : noise.most;
		statistics_add(&noise.statistics, (double)value);
	}
	return noise;
}

/* "± 37.8% ▁█▁▁██▁█"; nothing of a single run. Columns are filled up by bytes: each text has as many, if it is `filled`. */
static const char *noise_text(const struct block_pair *pair, bool filled, struct arena *arena)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	enum { HIGHEST = sizeof(bars) / sizeof(*bars) - 1 };
	const struct noise noise = find_noise(pair);
	unsigned int shown = noise.count < 2 ? 0 : noise.count;
	struct strbuf text = {0};
	if (shown)
		strbuf_printf(&text, "±%5.1f%% ", statistics_relative(&noise.statistics));
	else if (filled)
		strbuf_add_str(&text, "\u00a0       ");
	for (unsigned int i = 0; i < shown; i++)
		strbuf_add_str(&text,
			       bars[noise.most > noise.least ? (noise.values[i] - noise.least) * HIGHEST / (noise.most - noise.least) : 0]);
	for (unsigned int i = shown; filled && i < BLOCK_RUNS; i++)
		strbuf_add_str(&text, "\u2007");
	const char *kept = text.len ? arena_strdup(arena, strbuf_str(&text)) : NULL;
	strbuf_deinit(&text);
	return kept;
}

static void add_columns(struct cycles_table *cycles, bool for_programs)
{
	static const struct column numbers[] = {
		{.id = "baseline", .title = "Baseline", .kind = COLUMN_PERCENT, .align = ALIGN_RIGHT, .decimals = 2},
		{.id = "range", .title = "Range", .kind = COLUMN_TEXT},
		{.id = "old", .title = "Old", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
		{.id = "new", .title = "New", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
		{.id = "delta", .title = "Delta", .kind = COLUMN_REAL, .align = ALIGN_RIGHT},
		{.id = "noise", .title = "Noise", .kind = COLUMN_REAL, .align = ALIGN_RIGHT, .decimals = 2},
		{.id = "dso", .title = "Shared Object", .kind = COLUMN_TEXT},
		{.id = "symbol", .title = "Symbol", .kind = COLUMN_TEXT},
	};
	static const struct column texts[] = {
		{.id = "baseline", .title = "Baseline", .kind = COLUMN_TEXT, .align = ALIGN_RIGHT, .min_width = BASELINE_WIDTH},
		{.id = "range",
		 .title = "[Program Block Range] Cycles Diff",
		 .kind = COLUMN_TEXT,
		 .align = ALIGN_RIGHT,
		 .min_width = RANGE_WIDTH},
		{.id = "noise", .title = "stddev/Hist", .kind = COLUMN_TEXT},
		{.id = "dso", .title = "Shared Object", .kind = COLUMN_TEXT},
		{.id = "symbol", .title = "Symbol", .kind = COLUMN_TEXT},
	};
	const struct column *columns = for_programs ? numbers : texts;
	size_t count = for_programs ? sizeof(numbers) / sizeof(*numbers) : sizeof(texts) / sizeof(*texts);
	for (size_t i = 0; i < count; i++)
		if (cycles->diff->options->cycles_hist || strcmp(columns[i].id, "noise") != 0)
			vec_push(&cycles->table->columns, columns[i]);
}

static const char *file_name(const struct cycles_table *cycles, const struct block *block)
{
	const struct dso *dso = block->last.map->dso;
	return cycles->diff->options->report.output.verbose > 0 ? dso->name : dso->short_name;
}

static const char *range_text(struct cycles_table *cycles, const struct block *block)
{
	return report_block_range(&cycles->diff->files[0].report, block, &cycles->table->arena);
}

static void add_numbers(struct cycles_table *cycles, const struct block_pair *pair, double share)
{
	size_t at = 0;
	union cell cells[8];
	cells[at++].real = share;
	cells[at++].text = range_text(cycles, pair->old);
	cells[at++].integer = block_average(pair->old);
	cells[at++].integer = block_average(pair->new);
	cells[at++].real = (double)pair->change;
	if (cycles->diff->options->cycles_hist) {
		const struct noise noise = find_noise(pair);
		cells[at++].real = statistics_relative(&noise.statistics);
	}
	cells[at++].text = file_name(cycles, pair->old);
	cells[at++].text = pair->old->last.symbol->name;
	table_add_row(cycles->table, cells);
}

static void add_texts(struct cycles_table *cycles, const struct block_pair *pair, double share)
{
	struct arena *arena = &cycles->table->arena;
	bool filled = !cycles->diff->options->report.separator;
	size_t at = 0;
	union cell cells[5];
	cells[at++].text = arena_printf(arena, "%.2f%s", share, filled ? "%" : "");
	cells[at++].text = arena_printf(arena, "%s%*" PRId64, range_text(cycles, pair->old), DIFF_WIDTH, pair->change);
	if (cycles->diff->options->cycles_hist)
		cells[at++].text = noise_text(pair, filled, arena);
	cells[at++].text = file_name(cycles, pair->old);
	cells[at++].text =
		arena_printf(arena, "[%c] %s", pair->old->last.cpumode == CPUMODE_KERNEL ? 'k' : '.', pair->old->last.symbol->name);
	table_add_row(cycles->table, cells);
}

/* The blocks of a row's function that both recordings have. */
static void add_row(struct cycles_table *cycles, uint32_t row)
{
	const struct fold_frame *function = function_of(cycles->comparison, row);
	if (!function || !comparison_part(cycles->comparison, row, 0)->present)
		return;
	const struct sorted_blocks *old = &cycles->files[0];
	struct block wanted = {.last = {.map = function->map, .symbol = function->symbol}};
	VEC(struct block_pair) pairs = {0};
	size_t first = partition_point(i, old->blocks->count, compare_functions(old->list[i], &wanted) < 0);
	for (size_t i = first; i < old->blocks->count && !compare_functions(old->list[i], &wanted); i++) {
		const struct block *same = find_same(&cycles->files[1], old->list[i]);
		if (same)
			vec_push(&pairs, (struct block_pair){.old = old->list[i],
							     .new = same,
							     .change = (int64_t)(block_average(same) - block_average(old->list[i]))});
	}
	if (pairs.len)
		qsort(pairs.data, pairs.len, sizeof(*pairs.data), compare_pairs);
	double share = comparison_share(cycles->comparison, row, 0);
	for (size_t i = 0; i < pairs.len; i++)
		(cycles->diff->options->report.format ? add_numbers : add_texts)(cycles, &pairs.data[i], share);
	vec_deinit(&pairs);
}

struct error *diff_check_cycles(const struct diff *diff)
{
	if (diff->file_count != 2)
		return error_new_kind(ERROR_USAGE, "-c cycles compares two recordings, not %zu", diff->file_count);
	if (diff->options->significance || diff->options->fails || diff->options->flamegraph || diff->options->period ||
	    diff->options->formula)
		return error_new_kind(ERROR_USAGE,
				      "-c cycles cannot be combined with --significance, --fail-above, --flamegraph, -p and -F");
	return NULL;
}

struct error *diff_blocks_table(const struct diff *diff, const struct comparison *comparison, struct table **ret)
{
	struct cycles_table cycles = {.diff = diff, .comparison = comparison};
	bool functions = false;
	for (size_t i = 0; i < comparison->key_count; i++)
		functions |= comparison->keys[i]->domain == KEY_PLACE && (comparison->keys[i]->flags & KEY_HAS_SYM);
	if (!functions)
		return error_new_kind(ERROR_USAGE, "-c cycles compares blocks of functions: -s must contain the key 'symbol'");
	struct error *error = sort_blocks(&diff->files[0], diff->options->cycles_hist, &cycles.files[0]);
	if (!error && diff->files[1].event)
		error = sort_blocks(&diff->files[1], diff->options->cycles_hist, &cycles.files[1]);
	if (!error) {
		cycles.table = *ret = diff_table_begin(diff);
		add_columns(&cycles, diff->options->report.format);
		for (size_t i = 0; cycles.files[1].blocks && i < comparison->shown_count; i++)
			add_row(&cycles, comparison->order[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		blocks_destroy(cycles.files[i].blocks);
		free(cycles.files[i].list);
	}
	return error;
}

/* perf diff: a comparison as a table.
 *
 * For people it looks as the kernel's tool has it, where nothing is said of what a recording doesn't have: cells are texts. For programs
 * they are numbers, the same columns for each method. */
#include "cmd/diff/diff.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

enum { UNRESOLVED_FILES = 16, LONGEST_FORMULA = 70, PERIOD_WIDTH = 14, DELTA_WIDTH = 7 };

/* A table that is being made: all columns, then row by row. */
struct making {
	const struct diff *diff;
	const struct comparison *comparison;
	const struct change_error *errors; /* or NULL */
	struct table *table;
	struct row *rows; /* they are fetched, so that the widths of columns are ours to say */
	union cell *cells;
	size_t cell; /* the next one */
};

static void fetch_row(const void *context, size_t index, struct row_scratch *scratch, struct row *ret)
{
	(void)scratch;
	*ret = ((const struct row *)context)[index];
}

/* ---- columns ---- */

/* With more than two recordings columns tell whose they are. */
static const char *numbered(const struct making *making, const char *text, char between, size_t file)
{
	if (making->comparison->file_count <= 2)
		return text;
	return arena_printf(&making->table->arena, "%s%c%zu", text, between, file);
}

static void add_text_column(struct making *making, const char *title, unsigned int width, size_t file)
{
	const char *shown = numbered(making, title, '/', file);
	vec_push(&making->table->columns,
		 (struct column){.id = shown, .title = shown, .kind = COLUMN_TEXT, .align = ALIGN_RIGHT, .min_width = width});
}

static void add_change_column(struct making *making, size_t file)
{
	static const struct {
		const char *title;
		unsigned int width;
	} columns[] = {
		[COMPARISON_DELTA] = {"Delta", DELTA_WIDTH},
		[COMPARISON_DELTA_ABS] = {"Delta Abs", DELTA_WIDTH},
		[COMPARISON_RATIO] = {"Ratio", PERIOD_WIDTH},
		[COMPARISON_WDIFF] = {"Weighted diff", PERIOD_WIDTH},
	};
	enum comparison_method method = making->comparison->options.method;
	add_text_column(making, columns[method].title, columns[method].width, file);
}

static void add_text_columns(struct making *making)
{
	const struct diff_options *options = making->diff->options;
	for (size_t file = 0; file < making->comparison->file_count; file++) {
		if (file)
			add_change_column(making, file);
		else
			add_text_column(making, "Baseline", DELTA_WIDTH, file);
		if (file && making->errors) {
			add_text_column(making, "Margin", DELTA_WIDTH, file);
			add_text_column(making, "Significant", 0, file);
		}
		if (file && options->formula)
			add_text_column(making, "Formula", LONGEST_FORMULA, file);
		if (options->period)
			add_text_column(making, file ? "Period" : "Base period", PERIOD_WIDTH, file);
	}
}

static void add_number_column(struct making *making, const char *id, enum column_kind kind, size_t file)
{
	id = numbered(making, id, '_', file);
	vec_push(&making->table->columns, (struct column){.id = id, .title = id, .kind = kind, .align = ALIGN_RIGHT, .decimals = 2});
}

static void add_number_columns(struct making *making)
{
	add_number_column(making, "baseline", COLUMN_PERCENT, 0);
	add_number_column(making, "baseline_period", COLUMN_COUNT, 0);
	add_number_column(making, "baseline_samples", COLUMN_COUNT, 0);
	for (size_t file = 1; file < making->comparison->file_count; file++) {
		add_number_column(making, "overhead", COLUMN_PERCENT, file);
		add_number_column(making, "delta", COLUMN_REAL, file);
		if (making->errors) {
			add_number_column(making, "margin", COLUMN_REAL, file);
			add_number_column(making, "significant", COLUMN_TEXT, file);
		}
		if (making->comparison->options.method == COMPARISON_RATIO)
			add_number_column(making, "ratio", COLUMN_REAL, file);
		if (making->comparison->options.method == COMPARISON_WDIFF)
			add_number_column(making, "wdiff", COLUMN_REAL, file);
		add_number_column(making, "period", COLUMN_COUNT, file);
		add_number_column(making, "samples", COLUMN_COUNT, file);
	}
}

static bool is_column(const struct making *making, size_t position)
{
	return !report_is_elided(&making->diff->files[0].report, making->comparison->keys[position]);
}

static void add_key_columns(struct making *making)
{
	for (size_t i = 0; i < making->comparison->key_count; i++) {
		const struct key *key = making->comparison->keys[i];
		if (is_column(making, i))
			vec_push(&making->table->columns, (struct column){.id = key->name,
									  .title = key->title,
									  .kind = key->text || key->string ? COLUMN_TEXT : key->kind,
									  .align = key->align,
									  .min_width = key->width,
									  .decimals = 2,
									  .padded = !(key->flags & KEY_RAGGED)});
	}
}

/* ---- cells ---- */

static void add_cell(struct making *making, union cell cell)
{
	making->cells[making->cell++] = cell;
}

__attribute__((format(printf, 2, 3))) static void add_text(struct making *making, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	struct strbuf text = {0};
	strbuf_vprintf(&text, format, arguments);
	va_end(arguments);
	add_cell(making, (union cell){.text = text.len ? arena_strdup(&making->table->arena, strbuf_str(&text)) : NULL});
	strbuf_deinit(&text);
}

static void add_baseline_cell(struct making *making, uint32_t row)
{
	const struct comparison_part *part = comparison_part(making->comparison, row, 0);
	uint64_t total = making->comparison->shown_total;
	if (!part->present)
		add_text(making, "%s", "");
	else
		add_text(making, "%.2f%s", total ? 100.0 * (double)part->period / (double)total : 0,
			 making->diff->options->report.separator ? "" : "%");
}

static void add_change_cell(struct making *making, uint32_t row, size_t file)
{
	const struct comparison *comparison = making->comparison;
	double change = comparison_change(comparison, row, file);
	bool known = comparison_part(comparison, row, 0)->present;
	size_t title = strlen(making->table->columns.data[making->cell].title);
	bool none =
		known && comparison->options.method == COMPARISON_WDIFF && (int64_t)change == 0 && making->diff->options->report.separator;
	if (!comparison_part(comparison, row, file)->present || none)
		add_text(making, "%s", "");
	else if (comparison->options.method == COMPARISON_RATIO && known)
		add_text(making, "%14.6f", change);
	else if (comparison->options.method == COMPARISON_WDIFF && known)
		/* A wider title leaves it where it is. */
		add_text(making, "%14" PRId64 "%*s", (int64_t)change, (int)(title > PERIOD_WIDTH ? title - PERIOD_WIDTH : 0), "");
	else if (comparison->options.method == COMPARISON_RATIO || comparison->options.method == COMPARISON_WDIFF)
		add_text(making, "N/A");
	else
		add_text(making, "%+.2f%%", change);
}

static void add_formula_cell(struct making *making, uint32_t row, size_t file)
{
	const struct comparison *comparison = making->comparison;
	const struct comparison_options *options = &comparison->options;
	uint64_t before = comparison_part(comparison, row, 0)->period, after = comparison_part(comparison, row, file)->period;
	if (!comparison_part(comparison, row, file)->present)
		add_text(making, "%s", "");
	else if (options->method == COMPARISON_RATIO)
		add_text(making, "%" PRIu64 " / %" PRIu64, after, before);
	else if (options->method == COMPARISON_WDIFF)
		add_text(making, "(%" PRIu64 " * %" PRId64 ") - (%" PRIu64 " * %" PRId64 ")", after, options->new_weight, before,
			 options->old_weight);
	else
		add_text(making, "(%" PRIu64 " * 100 / %" PRIu64 ") - (%" PRIu64 " * 100 / %" PRIu64 ")", after, comparison->totals[file],
			 before, comparison->shown_total);
}

static const struct change_error *error_of(const struct making *making, uint32_t row, size_t file)
{
	return &making->errors[row * making->comparison->file_count + file];
}

static void add_error_cells(struct making *making, uint32_t row, size_t file)
{
	const struct change_error *error = error_of(making, row, file);
	add_text(making, "%.2f%%", error->margin);
	add_text(making, "%s", error->significant ? "yes" : "no");
}

static void add_text_cells(struct making *making, uint32_t row)
{
	const struct diff_options *options = making->diff->options;
	for (size_t file = 0; file < making->comparison->file_count; file++) {
		const struct comparison_part *part = comparison_part(making->comparison, row, file);
		if (file)
			add_change_cell(making, row, file);
		else
			add_baseline_cell(making, row);
		if (file && making->errors)
			add_error_cells(making, row, file);
		if (file && options->formula)
			add_formula_cell(making, row, file);
		if (options->period && file && !part->present)
			add_text(making, "%s", "");
		else if (options->period)
			add_text(making, "%" PRIu64, part->period);
	}
}

static void add_number_cells(struct making *making, uint32_t row)
{
	const struct comparison *comparison = making->comparison;
	for (size_t file = 0; file < comparison->file_count; file++) {
		const struct comparison_part *part = comparison_part(comparison, row, file);
		double share = comparison_share(comparison, row, file);
		add_cell(making, (union cell){.real = share});
		if (file)
			add_cell(making, (union cell){.real = share - comparison_share(comparison, row, 0)});
		if (file && making->errors) {
			add_cell(making, (union cell){.real = error_of(making, row, file)->margin});
			add_cell(making, (union cell){.text = error_of(making, row, file)->significant ? "yes" : "no"});
		}
		if (file && comparison->options.method >= COMPARISON_RATIO)
			add_cell(making, (union cell){.real = comparison_change(comparison, row, file)});
		add_cell(making, (union cell){.integer = part->period});
		add_cell(making, (union cell){.integer = part->count});
	}
}

/* What the kernel tool takes for the width of a cell: for names of threads also what they are called last, for files without symbols more
 * than their names. */
static unsigned int cell_width(const struct report_options *options, const struct rows *rows, uint32_t row, const struct key *key,
			       const struct key_source *source, const struct strbuf *text)
{
	unsigned int width = (unsigned int)text_safe_length(strbuf_str(text), text->len), least = 0;
	if (key->width_rule == KEY_WIDTH_NAMES) {
		const struct fold_actor *actor = &rows->fold->actors[rows->fold->entries[rows->rows[row].first].actor];
		least = (unsigned int)text_untrusted_length(thread_comm(actor->thread, UINT64_MAX)) + key->name_room;
	} else if (key->width_rule == KEY_WIDTH_FILES && !source->place->symbol && !options->separator && !options->dsos.names.len) {
		least = UNRESOLVED_FILES;
	}
	return width > least ? width : least;
}

void diff_add_key_text(const struct comparison *comparison, uint32_t row, size_t position, struct strbuf *out)
{
	const struct comparison_row *shown = &comparison->rows.data[row];
	const struct rows *rows = comparison->files[shown->file];
	const struct key *key = rows->options.keys[position];
	struct key_source source;
	rows_source(rows, shown->row, key, &source);
	if (key->text)
		key->text(rows->context, key, &source, out);
	else if (key->string)
		strbuf_add_str(out, (source.string ? source.string : key->string(rows->context, key, &source)) ?: "");
	else
		strbuf_add_u64(out, (uint64_t)key->number(rows->context, key, &source), 0);
}

static void add_key_cell(struct making *making, uint32_t row, size_t position)
{
	const struct comparison_row *shown = &making->comparison->rows.data[row];
	const struct rows *rows = making->comparison->files[shown->file];
	const struct key *key = rows->options.keys[position];
	struct column *column = &making->table->columns.data[making->cell];
	struct key_source source;
	rows_source(rows, shown->row, key, &source);
	if (column->kind != COLUMN_TEXT) {
		add_cell(making, (union cell){.integer = (uint64_t)key->number(rows->context, key, &source)});
		return;
	}
	struct strbuf text = {0};
	diff_add_key_text(making->comparison, row, position, &text);
	unsigned int width = cell_width(&making->diff->options->report, rows, shown->row, key, &source, &text);
	if (key->width_rule != KEY_WIDTH_FIXED && width > column->min_width)
		column->min_width = width;
	add_cell(making, (union cell){.text = arena_strdup(&making->table->arena, strbuf_str(&text))});
	strbuf_deinit(&text);
}

/* ---- the table ---- */

struct table *diff_table_begin(const struct diff *diff)
{
	struct table *table = table_create();
	table->id = "diff";
	table->subject_id = "event";
	table->subject = diff->files[0].event->name;
	vec_push(&table->header, arena_printf(&table->arena, "Event '%s'", table->subject));
	vec_push(&table->header, "");
	if (diff->file_count <= 2 && diff->options->report.output.verbose <= 0)
		return table;
	vec_push(&table->header, "Data files:");
	for (size_t i = 0; i < diff->file_count; i++)
		vec_push(&table->header, arena_printf(&table->arena, " [%zu] %s %s", i, diff->files[i].path, i ? "" : "(Baseline)"));
	vec_push(&table->header, "");
	return table;
}

struct table *diff_table(const struct diff *diff, const struct comparison *comparison, const struct change_error *errors, bool for_programs)
{
	struct making making = {.diff = diff, .comparison = comparison, .errors = errors, .table = diff_table_begin(diff)};
	struct table *table = making.table;
	(for_programs ? add_number_columns : add_text_columns)(&making);
	add_key_columns(&making);
	making.rows = arena_zalloc(&table->arena, (comparison->shown_count + 1) * sizeof(*making.rows));
	for (size_t i = 0; i < comparison->shown_count; i++) {
		uint32_t row = comparison->order[i];
		making.cells = making.rows[i].cells = arena_zalloc(&table->arena, table->columns.len * sizeof(*making.cells));
		making.cell = 0;
		(for_programs ? add_number_cells : add_text_cells)(&making, row);
		for (size_t k = 0; k < comparison->key_count; k++)
			if (is_column(&making, k))
				add_key_cell(&making, row, k);
	}
	table->fetched = comparison->shown_count;
	table->fetch = fetch_row;
	table->fetch_context = making.rows;
	return table;
}

/* perf report: from rows to a table, for each event or group, and out through a view. */
#include "cmd/report/table.h"

#include "analysis/report/fold_parts.h"
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "view/view.h"

#include <linux/perf_event.h>
#include <stdio.h>
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

union cell report_total_cell(const struct maker *maker, const struct row_sums *sums, const struct row_modes *modes, const struct key *key,
			     size_t event)
{
	uint64_t total = maker->totals[event];
	switch (key->total) {
	case TOTAL_OVERHEAD_CHILDREN:
		return (union cell){.real = report_percent(maker->rows->options.children ? sums->children : sums->period, total)};
	case TOTAL_OVERHEAD:
		return (union cell){.real = report_percent(sums->period, total)};
	case TOTAL_SAMPLES:
		return (union cell){.integer = sums->count};
	case TOTAL_PERIOD:
		return (union cell){.integer = sums->period};
	default:
		return (union cell){.real = report_percent(modes ? modes_value(modes, key->total) : 0, total)};
	}
}

union cell report_key_cell(const struct maker *maker, uint32_t row, const struct key *key, struct strbuf *text)
{
	struct rows *rows = maker->rows;
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

static union cell row_total(const struct maker *maker, uint32_t row, const struct key *key, size_t event)
{
	const struct rows *rows = maker->rows;
	size_t at = row * rows->options.event_count + event;
	return report_total_cell(maker, &rows->sums[at], rows->modes ? &rows->modes[at] : NULL, key, event);
}

static void fetch_row(const void *context, size_t index, struct row_scratch *scratch, struct row *ret)
{
	const struct maker *maker = context;
	uint32_t row = maker->rows->order[maker->visible ? maker->visible[index] : index];
	for (size_t i = 0; i < maker->keys.len; i++) {
		const struct key *key = maker->keys.data[i];
		scratch->cells[i] = key->domain == KEY_TOTAL ? row_total(maker, row, key, maker->events.data[i])
							     : report_key_cell(maker, row, key, &scratch->texts[i]);
	}
	const struct row_sums *sums = &maker->rows->sums[row * maker->rows->options.event_count + maker->graph_event];
	row_scratch_set_tree(scratch, maker->graphs ? callgraphs_row(maker->graphs, row) : NULL);
	*ret = (struct row){
		.cells = scratch->cells, .value = maker->rows->options.children ? sums->children : sums->period, .tree = scratch->tree};
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
		size_t length = strlen(untrusted_raw(thread_comm(fold->actors[actor].thread, UINT64_MAX)));
		if (length > widest)
			widest = (unsigned int)length;
	}
	free(shown);
	free(seen);
	return widest;
}

/* Widths as the kernel tool has them: only names of commands that are longer than what their threads are called last widen the column,
 * where it cuts them off. */
static unsigned int content_width(struct maker *maker, const struct key *key)
{
	enum { UNRESOLVED_FILES = 16 };
	struct rows *rows = maker->rows;
	unsigned int widest = rows_width(rows, key), least = 0;
	if (key->width_rule == KEY_WIDTH_NAMES)
		least = names_width(rows) + key->name_room;
	else if (key->width_rule == KEY_WIDTH_FILES && widest < UNRESOLVED_FILES && rows_have_unresolved(rows, key))
		least = UNRESOLVED_FILES;
	return widest > least ? widest : least;
}

unsigned int report_key_width(struct maker *maker, const struct key *key)
{
	if (key->width_rule == KEY_WIDTH_FIXED)
		return key->width;
	if (key->exact_width && maker->report->options->nanoseconds)
		return key->exact_width;
	unsigned int width = content_width(maker, key);
	return width > key->width ? width : key->width;
}

static void add_column(struct maker *maker, const struct key *key, size_t event)
{
	struct column column = {
		.id = key->name, .title = key->title, .kind = key->text ? COLUMN_TEXT : key->kind, .align = key->align, .decimals = 2};
	if (event)
		column.joined = true;
	column.padded = !(key->flags & KEY_RAGGED);
	if (key->domain == KEY_TOTAL) {
		column.min_width = key->width;
		const char *fields = maker->report->options->fields;
		if (key->total == TOTAL_OVERHEAD && maker->report->children && (!fields || *fields == '+'))
			column.title = "Self";
	} else {
		column.min_width = report_key_width(maker, key);
	}
	vec_push(&maker->table->columns, column);
	vec_push(&maker->keys, key);
	vec_push(&maker->events, event);
}

static void set_widths(struct maker *maker)
{
	const char *text = maker->report->options->widths;
	size_t column = 0;
	while (text && *text && column < maker->table->columns.len) {
		char *end;
		unsigned long width = strtoul(text, &end, 10);
		do {
			maker->table->columns.data[column++].width = (unsigned int)width;
		} while (column < maker->table->columns.len && maker->table->columns.data[column].joined);
		if (*end != ',')
			break;
		text = end + 1;
	}
}

static void make_columns(struct maker *maker)
{
	const struct report *report = maker->report;
	const struct rows *rows = maker->rows;
	for (size_t i = 0; i < report->shown.keys.len; i++) {
		const struct key *key = report->shown.keys.data[i];
		if (report_is_elided(report, key) ||
		    (key->event && rows_event(rows, &(struct fold_entry){.event = (uint16_t)key->event->index}) < 0))
			continue;
		if (report->options->hierarchy && key->domain != KEY_TOTAL)
			continue;
		size_t events = key->domain == KEY_TOTAL ? maker->event_count : 1;
		for (size_t event = 0; event < events; event++)
			add_column(maker, key, event);
	}
	set_widths(maker);
}

static void choose_rows(struct maker *maker)
{
	const struct rows *rows = maker->rows;
	const struct report_options *options = maker->report->options;
	double limit = options->percent_limit;
	maker->visible_count = rows->shown_count;
	bool all = maker->event_count == rows->options.event_count;
	if (limit <= 0 && all && !options->least_samples)
		return;
	maker->visible_count = 0;
	maker->visible = mem_alloc_array(rows->shown_count + 1, sizeof(*maker->visible));
	for (uint32_t i = 0; i < rows->shown_count; i++) {
		const struct row_sums *sums = &rows->sums[rows->order[i] * rows->options.event_count];
		uint64_t value = rows->options.children ? sums->children : sums->period;
		bool often = !options->least_samples || sums->count > options->least_samples;
		if ((all || value) && often && report_percent(value, maker->totals[0]) >= limit)
			maker->visible[maker->visible_count++] = i;
	}
}

/* "4K", and a space where there is no unit. */
static void add_rounded(struct strbuf *out, uint64_t value)
{
	static const char units[] = " KMGTPE";
	unsigned int unit = 0;
	while (value > 1000 && unit < 6) {
		value /= 1000;
		unit++;
	}
	strbuf_printf(out, "%lu%c", value, units[unit]);
}

static void make_header(struct maker *maker)
{
	const struct rows *rows = maker->rows;
	struct table *table = maker->table;
	bool relative = maker->report->options->relative;
	uint64_t samples = 0, period = 0;
	for (size_t i = 0; i < maker->event_count; i++) {
		samples += relative ? rows->samples_shown[i] : rows->samples[i];
		period += relative ? rows->total_shown[i] : rows->total[i];
	}
	struct strbuf line = {0};
	strbuf_add_str(&line, "Samples: ");
	add_rounded(&line, samples);
	strbuf_printf(&line, " of event%s '", maker->event_count > 1 ? "s" : "");
	event_set_add_name(rows->options.events, maker->event_count, &line);
	strbuf_add_char(&line, '\'');
	if (maker->graph_event)
		strbuf_add_str(&line, ", show reference callgraph");
	if (maker->report->options->time)
		strbuf_printf(&line, " (time slices: %s)", maker->report->options->time);
	if (maker->report->options->socket >= 0)
		strbuf_printf(&line, "\n# Processor Socket: %d", maker->report->options->socket);
	vec_push(&table->header, arena_strdup(&table->arena, strbuf_str(&line)));
	bool memory = maker->report->options->mem_mode;
	vec_push(&table->header, arena_printf(&table->arena, memory ? "Total weight : %lu" : "Event count (approx.): %lu", period));
	if (memory && maker->report->sort_order)
		vec_push(&table->header, arena_printf(&table->arena, "Sort order   : %s", maker->report->sort_order));
	vec_push(&table->header, "");
	strbuf_deinit(&line);
}

static void make_graphs(struct maker *maker)
{
	const struct report *report = maker->report;
	const struct callgraph_choice *choice = &report->options->callgraph;
	if (!report->chains || choice->mode == CALLGRAPH_PRINT_NONE || report->branch_mode)
		return;
	struct callgraph_options options = {.mode = choice->mode,
					    .min_percent = choice->min_percent,
					    .least_row = report->options->percent_limit,
					    .event = maker->graph_event,
					    .relative = report->options->relative};
	maker->graphs = callgraphs_create(maker->rows, &options);
	static const enum graph_style styles[] = {[CALLGRAPH_PRINT_GRAPH] = GRAPH_TREE,
						  [CALLGRAPH_PRINT_FRACTAL] = GRAPH_FRACTAL,
						  [CALLGRAPH_PRINT_FLAT] = GRAPH_FLAT,
						  [CALLGRAPH_PRINT_FOLDED] = GRAPH_FOLDED};
	maker->table->graph = (struct table_graph){
		.style = styles[choice->mode],
		.value = choice->value,
		.total = maker->totals[maker->graph_event],
		.most_entries = choice->most_entries,
		.least = (uint64_t)((double)maker->totals[maker->graph_event] * choice->min_percent / 100),
		.skip_first = !report->options->fields && report->options->sort && str_starts_with(report->options->sort, "sym"),
	};
}

struct error *report_render(struct maker *maker)
{
	const struct report_options *options = maker->report->options;
	struct table *table = maker->table;
	table->id = "report";
	table->subject_id = "event";
	table->subject = maker->rows->options.events[0]->name;
	struct view_options view = {.title = table->subject,
				    .header = !options->output.quiet,
				    .color = color_wanted(options->color),
				    .columns = output_columns(),
				    .jobs = maker->report->session->jobs,
				    .separator = options->separator ? options->separator[0] : 0};
	struct sink out = sink_to_file(stdout);
	struct error *error = view_write_one(view_find(options->format ? options->format : "stdio"),
					     (struct result){RESULT_TABLE, .table = table}, &view, &out);
	if (!error && !options->format)
		fputs("\n\n", stdout);
	return error;
}

static struct error *show_table(struct maker *maker)
{
	maker->table->fetched = maker->visible_count;
	maker->table->fetch = fetch_row;
	maker->table->fetch_context = maker;
	return report_render(maker);
}

static void maker_deinit(struct maker *maker)
{
	callgraphs_destroy(maker->graphs);
	table_destroy(maker->table);
	vec_deinit(&maker->keys);
	vec_deinit(&maker->events);
	free(maker->visible);
}

/* The keys that say something about these events: fields of other tracepoints don't. */
struct event_keys {
	const struct key *sort[ROWS_KEYS_MAX];
	const struct key *identity[ROWS_KEYS_MAX];
	bool skipped[ROWS_KEYS_MAX];
	size_t count, identity_count;
	bool by_mode;
};

static bool is_about(const struct key *key, const struct event *const *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (key->event == events[i])
			return true;
	return !key->event;
}

static struct error *choose_keys(const struct report *report, const struct event *const *events, size_t count, struct event_keys *keys)
{
	for (size_t i = 0; i < report->sort.keys.len; i++) {
		const struct key *key = report->sort.keys.data[i];
		if (!is_about(key, events, count))
			continue;
		if (keys->count == ROWS_KEYS_MAX)
			return error_new_kind(ERROR_USAGE, "-s, -F: more than %d keys for %s", ROWS_KEYS_MAX, events[0]->name);
		keys->skipped[keys->count] = report_is_elided(report, key);
		keys->sort[keys->count++] = key;
		if (key->domain != KEY_TOTAL)
			keys->identity[keys->identity_count++] = key;
		else if (key->total >= TOTAL_OVERHEAD_SYS && key->total <= TOTAL_OVERHEAD_GUEST_US)
			keys->by_mode = true;
	}
	return NULL;
}

static struct rows *make_rows(struct report *report, struct fold *fold, const struct event *const *events, size_t count,
			      const struct event_keys *keys)
{
	const struct report_options *options = report->options;
	bool filtered = options->comms.names.len || options->dsos.names.len || options->symbols.names.len || options->pids.names.len ||
			options->tids.names.len;
	struct rows_options rows = {
		.events = events,
		.event_count = count,
		.keys = keys->identity,
		.key_count = keys->identity_count,
		.sort = keys->sort,
		.sort_skipped = keys->skipped,
		.sort_count = keys->count,
		.sort_event =
			options->group_sort_index > 0 && (size_t)options->group_sort_index < count ? (size_t)options->group_sort_index : 0,
		.children = report->children,
		.by_mode = options->show_modes || keys->by_mode,
		.branches = report->branch_mode,
		.caller_order = report->caller_order,
		.tie_by_depth = options->callgraph.mode != CALLGRAPH_PRINT_NONE,
		.exclude_other = options->exclude_other,
		.shown = filtered ? report_shown : NULL,
		.place_shown = options->symbol_filter ? report_place_shown : NULL,
		.context = report,
		.jobs = report->session->jobs,
	};
	return rows_create(fold, &report->context, &rows);
}

/* --show-ref-call-graph: for an event without stacks one that has them, or NULL. Its rows get graphs from the other's samples. */
static const struct event *reference_event(const struct report *report, const struct event *event)
{
	const struct event_list *list = &report->session->reader->events;
	if (!report->options->reference_graphs || report->options->hierarchy || (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return NULL;
	for (size_t i = 0; i < list->events.len; i++)
		if (list->events.data[i]->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			return list->events.data[i];
	return NULL;
}

static struct error *show_events(struct report *report, struct fold_parts *parts, const struct event *const *events, size_t count)
{
	const struct event *reference = count == 1 ? reference_event(report, events[0]) : NULL, *pair[] = {events[0], reference};
	size_t shown_count = count;
	if (reference) {
		events = pair;
		count = 2;
	}
	struct event_keys keys = {0};
	struct error *error = choose_keys(report, events, count, &keys);
	if (error)
		return error;
	struct rows *rows = make_rows(report, fold_parts_take(parts, events, count), events, count, &keys);
	/* Widths follow what is shown. */
	if (report->options->most_rows && !report->options->hierarchy && rows->shown_count > report->options->most_rows)
		rows->shown_count = report->options->most_rows;
	struct maker maker = {
		.report = report, .rows = rows, .table = table_create(), .event_count = shown_count, .graph_event = reference ? 1 : 0};
	maker.totals = report->options->relative ? rows->total_shown : rows->total;
	make_header(&maker);
	if (report->options->total_cycles) {
		error = report_show_blocks(&maker);
	} else {
		make_columns(&maker);
		choose_rows(&maker);
		make_graphs(&maker);
		error = report->options->hierarchy ? report_show_hierarchy(&maker) : show_table(&maker);
	}
	maker_deinit(&maker);
	rows_destroy(rows);
	return error;
}

/* By index: whether the event has samples that passed the filter. Freed by the caller. */
static bool *events_with_samples(const struct report *report)
{
	bool *found = mem_zalloc_array(report->session->reader->events.events.len + 1, sizeof(*found));
	for (size_t i = 0; i < report->fold->entry_count; i++)
		found[report->fold->entries[i].event] = true;
	return found;
}

/* With --group all events of a recording without groups are one. */
struct error *report_show_events(struct report *report)
{
	struct event_set set = {0};
	struct error *error = NULL;
	cleanup_free bool *with_samples = events_with_samples(report);
	struct fold_parts *parts = fold_parts_create(report->fold);
	size_t most = 1;
	while (!error && event_set_next(&report->session->reader->events, report->group, &set)) {
		bool any = !report->options->skip_empty;
		for (size_t i = 0; i < set.events.len; i++)
			any |= with_samples[set.events.data[i]->index];
		if (any)
			error = show_events(report, parts, set.events.data, set.events.len);
		if (set.events.len > most)
			most = set.events.len;
	}
	if (!error && report->options->group_sort_index > 0 && (size_t)report->options->group_sort_index >= most)
		log_warning("--group-sort-idx %d: no table has that many events%s", report->options->group_sort_index,
			    most > 1 ? "" : "; --group puts all events into one table");
	event_set_deinit(&set);
	fold_parts_destroy(parts);
	return error;
}

/* perf report: a fold's rows as a table, for each event or group, and out through a view. */
#include "cmd/report/table.h"

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

/* The first `event_count` of the rows' events are shown; `referring`: with the call graphs of another one. */
static void add_header(const struct report *report, const struct rows *rows, size_t event_count, bool referring, struct table *table)
{
	const struct report_options *options = report->options;
	bool relative = options->relative;
	uint64_t samples = 0, period = 0;
	for (size_t i = 0; i < event_count; i++) {
		samples += relative ? rows->samples_shown[i] : rows->samples[i];
		period += relative ? rows->total_shown[i] : rows->total[i];
	}
	struct strbuf line = {0};
	strbuf_add_str(&line, "Samples: ");
	add_rounded(&line, samples);
	strbuf_printf(&line, " of event%s '", event_count > 1 ? "s" : "");
	event_set_add_name(rows->options.events, event_count, &line);
	strbuf_add_char(&line, '\'');
	if (referring)
		strbuf_add_str(&line, ", show reference callgraph");
	if (options->time)
		strbuf_printf(&line, " (time slices: %s)", options->time);
	if (options->socket >= 0)
		strbuf_printf(&line, "\n# Processor Socket: %d", options->socket);
	vec_push(&table->header, arena_strdup(&table->arena, strbuf_str(&line)));
	bool memory = options->mem_mode;
	vec_push(&table->header, arena_printf(&table->arena, memory ? "Total weight : %lu" : "Event count (approx.): %lu", period));
	if (memory && report->sort_order)
		vec_push(&table->header, arena_printf(&table->arena, "Sort order   : %s", report->sort_order));
	vec_push(&table->header, "");
	strbuf_deinit(&line);
}

void report_add_header(const struct report *report, const struct report_event *event, struct table *table)
{
	add_header(report, event->rows, event->count, event->reference, table);
}

struct error *report_render(const struct report *report, const struct event *event, struct table *table)
{
	const struct report_options *options = report->options;
	table->id = "report";
	table->subject_id = "event";
	table->subject = event->name;
	struct view_options view = {.title = table->subject,
				    .header = !options->output.quiet,
				    .color = color_wanted(options->color),
				    .columns = output_columns(),
				    .jobs = report->session->jobs,
				    .separator = options->separator ? options->separator[0] : 0};
	struct sink out = sink_to_file(stdout);
	struct error *error = view_write_one(view_find(options->format ? options->format : "stdio"),
					     (struct result){RESULT_TABLE, .table = table}, &view, &out);
	if (!error && !options->format)
		fputs("\n\n", stdout);
	return error;
}

static bool is_about(const struct key *key, const struct event *const *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (key->event == events[i])
			return true;
	return !key->event;
}

struct error *report_choose_keys(const struct report *report, const struct event *const *events, size_t count, struct report_keys *keys)
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

static bool tells(const struct report_keys *keys, const char *name)
{
	for (size_t i = 0; i < keys->identity_count; i++)
		if (!strcmp(keys->identity[i]->name, name))
			return true;
	return false;
}

/* A filter by what no key tells: samples of both kinds would be in one row. The kernel's tool asks for the first one then. */
static bool rows_would_mix(const struct report_options *options, const struct report_keys *keys)
{
	bool symbol = tells(keys, "symbol"), thread = tells(keys, "tid");
	if (options->sides > SIDES_BOTH)
		return true;
	return (options->comms.names.len && !tells(keys, "comm")) || (options->pids.names.len && !thread && !tells(keys, "pid")) ||
	       (options->tids.names.len && !thread) || (options->dsos.names.len && !symbol && !tells(keys, "dso")) ||
	       (options->symbols.names.len && !symbol);
}

struct rows *report_make_rows(struct report *report, struct fold *fold, const struct event *const *events, size_t count,
			      const struct report_keys *keys)
{
	const struct report_options *options = report->options;
	bool filtered = options->comms.names.len || options->dsos.names.len || options->symbols.names.len || options->pids.names.len ||
			options->tids.names.len || options->sides > SIDES_BOTH;
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
		.shown_only = filtered && (!report->whole_rows || options->sides > SIDES_BOTH) && rows_would_mix(options, keys),
		.place_shown = options->symbol_filter ? report_place_shown : NULL,
		.context = report,
		.most = report->most_rows,
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

/* Those that aren't left out. Freed by the caller. */
static const struct key **without_elided(const struct report *report, const struct key_list *list, size_t *ret_count)
{
	const struct key **keys = mem_zalloc_array(list->keys.len + 1, sizeof(const struct key *));
	*ret_count = 0;
	for (size_t i = 0; i < list->keys.len; i++)
		if (!report_is_elided(report, list->keys.data[i]))
			keys[(*ret_count)++] = list->keys.data[i];
	return keys;
}

struct rows_table *report_event_table(const struct report *report, const struct report_event *event, const struct rows_open *open)
{
	const struct report_options *options = report->options;
	const struct callgraph_choice *choice = &options->callgraph;
	bool graphs = report->chains && !report->branch_mode, has_self = !options->fields || *options->fields == '+';
	struct rows_table_options table = {
		.in_levels = options->hierarchy,
		.open = open,
		.event_count = event->count,
		.self_title = report->children && has_self ? "Self" : NULL,
		.widths = options->widths,
		.exact_times = options->nanoseconds,
		.relative = options->relative,
		.least_percent = options->percent_limit,
		.least_samples = options->least_samples,
		.most_lines = options->most_rows,
		.graph = {.mode = graphs ? choice->mode : CALLGRAPH_PRINT_NONE,
			  .min_percent = choice->min_percent,
			  .least_row = options->percent_limit,
			  .event = event->reference != NULL,
			  .relative = options->relative},
		.graph_value = choice->value,
		.graph_most_entries = choice->most_entries,
		.graph_skip_first = !options->fields && options->sort && str_starts_with(options->sort, "sym"),
	};
	cleanup_free const struct key **columns = without_elided(report, &report->shown, &table.column_count);
	cleanup_free const struct key **levels = without_elided(report, &report->sort, &table.level_count);
	table.columns = columns;
	table.levels = levels;
	struct rows_table *made = rows_table_create(event->rows, &table);
	add_header(report, event->rows, event->count, event->reference, rows_table_result(made));
	return made;
}

static struct error *show_rows(const struct report *report, const struct report_event *event)
{
	struct rows_table *made = report_event_table(report, event, NULL);
	struct error *error = report_render(report, event->rows->options.events[0], rows_table_result(made));
	rows_table_destroy(made);
	return error;
}

static struct error *show_blocks(struct report *report, const struct report_event *event)
{
	struct report_blocks blocks;
	struct error *error = report_blocks_open(report, event, false, &blocks);
	if (!error)
		error = report_render(report, event->events[0], blocks.table);
	report_blocks_close(&blocks);
	return error;
}

struct error *report_event_open(struct report *report, struct fold_parts *parts, const struct event *const *events, size_t count,
				struct report_event **ret)
{
	struct report_event *made = mem_zalloc(sizeof(*made));
	made->count = count;
	made->reference = count == 1 ? reference_event(report, events[0]) : NULL;
	made->events = mem_alloc_array(count + 1, sizeof(*made->events));
	memcpy(made->events, events, count * sizeof(*events));
	if (made->reference)
		made->events[count++] = made->reference;
	struct error *error = report_choose_keys(report, made->events, count, &made->keys);
	if (error) {
		report_event_close(made);
		return error;
	}
	made->rows = report_make_rows(report, fold_parts_take(parts, made->events, count), made->events, count, &made->keys);
	*ret = made;
	return NULL;
}

void report_event_close(struct report_event *event)
{
	if (!event)
		return;
	rows_destroy(event->rows);
	free(event->events);
	free(event);
}

static struct error *show_events(struct report *report, struct fold_parts *parts, const struct event *const *events, size_t count)
{
	const struct report_options *options = report->options;
	struct report_event *event;
	report->most_rows = options->hierarchy ? 0 : options->most_rows;
	struct error *error = report_event_open(report, parts, events, count, &event);
	if (error)
		return error;
	/* Widths follow what is shown. */
	if (report->most_rows && event->rows->shown_count > report->most_rows)
		event->rows->shown_count = report->most_rows;
	error = options->total_cycles ? show_blocks(report, event) : show_rows(report, event);
	report_event_close(event);
	return error;
}

bool *report_events_with_samples(const struct report *report)
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
	cleanup_free bool *with_samples = report_events_with_samples(report);
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

/* perf diff: two or more recordings compared, function by function.
 *
 *	perf diff                       perf.data.old (the baseline) and perf.data
 *	perf diff NEW                   perf.data.old and NEW
 *	perf diff OLD NEW…              OLD and each of the others
 *
 * Each recording is prepared and folded as for perf report; its rows are matched by their names (analysis/diff/comparison.h). Events are
 * those of the baseline; in another recording an event is the one that counts the same. */
#include "cmd/diff/diff.h"

#include "app/command.h"
#include "app/format_option.h"
#include "app/pager.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/dumping.h"
#include "cmd/from.h"
#include "cmd/report/callgraph.h"
#include "cmd/sides.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static struct error *bad_method(const char *argument)
{
	return error_new_kind(ERROR_USAGE, "-c: unknown method '%s'; use delta, delta-abs, ratio, wdiff:OLD,NEW (two weights) or cycles",
			      argument);
}

/* "wdiff:OLD,NEW" */
static struct error *parse_weights(const char *argument, struct comparison_options *comparison)
{
	struct error *error = NULL;
	char *text = mem_strdup(argument), *comma = strchr(text, ',');
	if (comma)
		*comma = '\0';
	if (!comma || !number_parse_s64(text, &comparison->old_weight) || !number_parse_s64(comma + 1, &comparison->new_weight) ||
	    !comparison->old_weight || !comparison->new_weight)
		error = error_new_kind(ERROR_USAGE,
				       "-c wdiff:%s: expected two numbers other than 0, the weights of old and new, as in wdiff:1,2",
				       argument);
	free(text);
	return error;
}

static struct error *parse_method(const struct option *option, const char *argument, bool negated, void *field)
{
	static const char *const names[] = {"delta", "delta-abs", "ratio", "wdiff"};
	struct comparison_options *comparison = field;
	size_t length = strcspn(argument, ":");
	(void)option;
	(void)negated;
	struct diff_options *options = (struct diff_options *)((char *)field - offsetof(struct diff_options, comparison));
	options->cycles = !strcmp(argument, "cycles");
	if (options->cycles)
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strlen(names[i]) != length || strncmp(names[i], argument, length) != 0)
			continue;
		comparison->method = (enum comparison_method)i;
		bool weights = i == COMPARISON_WDIFF;
		if (weights != (argument[length] == ':'))
			break;
		return weights ? parse_weights(argument + length + 1, comparison) : NULL;
	}
	return bad_method(argument);
}

static struct error *parse_order(const struct option *option, const char *argument, bool negated, void *field)
{
	uint32_t order;
	(void)option;
	(void)negated;
	if (!number_parse_u32(argument, &order) || order >= COMPARISON_FILES_MAX)
		return error_new_kind(ERROR_USAGE, "-o %s: expected the number of a recording, 0 for the baseline", argument);
	*(int *)field = (int)order;
	return NULL;
}

/* --time, --where: the first empty place gets it. */
static struct error *parse_one_of_each(const struct option *option, const char *argument, bool negated, void *field)
{
	const char **list = field;
	(void)option;
	(void)negated;
	for (size_t i = 0; i < COMPARISON_FILES_MAX; i++)
		if (!list[i]) {
			list[i] = argument;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "given more than %d times", COMPARISON_FILES_MAX);
}

static struct error *parse_limit(const struct option *option, const char *argument, bool negated, void *field)
{
	struct diff_options *options = (struct diff_options *)((char *)field - offsetof(struct diff_options, fails));
	options->fails = true;
	return option_percent(option, argument, negated, &options->fail_above);
}

#define TYPE struct diff_options
#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, TYPE, field, a, h, p, OPTION_NO_NEGATION)
static const struct option diff_option_table[] = {
	OPTION_GROUP(input_option_group, TYPE, report.input),
	OPTION_GROUP(guest_option_group, TYPE, report.input),
	OPTION_SIDES(TYPE, report.sides),
	OPTION_SANDBOX(TYPE, report.input.sandbox),
	OPTION_GROUP(output_option_group, TYPE, report.output),
	OPTION_HEADING("What is compared"),
	CUSTOM('c', "compute", comparison, "METHOD",
	       "delta: difference of the shares; delta-abs (default): the same, largest change first; ratio: new period to old; "
	       "wdiff:OLD,NEW: difference of the periods, each times its weight; cycles: how many cycles blocks of code take, from "
	       "branch records",
	       parse_method),
	OPTION_FLAG(0, "cycles-hist", TYPE, cycles_hist,
		    "with -c cycles: also show how much the first eight runs of a block differ, as standard deviation and histogram"),
	CUSTOM('o', "order", order, "N", "sort by the change to recording N (default 1), or with 0 by the baseline", parse_order),
	OPTION_STRING('s', "sort", TYPE, report.sort, "KEY,…", "keys to group samples by (default dso,symbol), as in perf report"),
	OPTION_FLAG('b', "baseline-only", TYPE, baseline_only, "show only rows that are in the baseline and in another recording"),
	OPTION_FLAG(0, "significance", TYPE, significance,
		    "show for each change how far chance alone may have moved it (99 times in 100), and whether it exceeds chance"),
	CUSTOM(0, "fail-above", fails, "POINTS",
	       "exit with status 1 if a share has grown by more than POINTS percentage points, and by more than chance", parse_limit),
	OPTION_FLAG(0, "stream", TYPE, stream,
		    "instead of a table: the branches that lead to where samples are, in both recordings or in one of them"),
	OPTION_HEADING("Columns"),
	OPTION_FLAG('p', "period", TYPE, period, "show the periods"),
	OPTION_FLAG('F', "formula", TYPE, formula, "show how the change is computed"),
	OPTION_STRING('t', "field-separator", TYPE, report.separator, "CHAR", "separate columns with this instead of spaces"),
	CUSTOM(0, "percentage", report.relative, "WHAT",
	       "with a filter: percentages 'relative' to the filtered total or 'absolute' (default)", report_option_percentage),
	OPTION_FLAG(0, "full-source-path", TYPE, report.full_source_path, "show full paths of source files"),
	OPTION_HEADING("Filters"),
	CUSTOM('C', "comms", report.comms, "NAME,…", "only samples of threads with these names", name_list_option),
	CUSTOM('d', "dsos", report.dsos, "FILE,…", "only samples in these files", name_list_option),
	CUSTOM('S', "symbols", report.symbols, "NAME,…", "only samples in these functions", name_list_option),
	OPTION_STRING(0, "cpu", TYPE, report.cpus, "CPUS", "only samples on these CPUs, such as 0-3,7"),
	CUSTOM(0, "pid", report.pids, "PID,…", "only samples of these processes", name_list_option),
	CUSTOM(0, "tid", report.tids, "TID,…", "only samples of these threads", name_list_option),
	CUSTOM(0, "time", times, "FROM,TO[:FROM,TO]…",
	       "only samples in this time range, in seconds, or 10%-20%, 10%/2; with colons, or given several times, a range for each "
	       "recording; with --from: what is compared, such as --time -2h,-1h --time -1h",
	       parse_one_of_each),
	OPTION_HEADING("Many machines"),
	OPTION_STRING(0, "from", TYPE, report.input.from.url, "URL",
		      "instead of recordings: samples that perf agent stored in a database, such as clickhouse://HOST/DATABASE"),
	CUSTOM(0, "where", wheres, "CONDITION",
	       "with --from: which samples, such as 'service = \"shop\"'; given several times, what is compared", parse_one_of_each),
	OPTION_CUSTOM(0, "label", TYPE, report.input.from.labels, "NAME=VALUE",
		      "with --from: only samples with this label; may be repeated", from_option_label),
	OPTION_HEADING("Output"),
	CUSTOM(0, "format", report.format, "FORMAT", "machine-readable output: csv or json", option_table_format),
	OPTION_STRING(
		0, "flamegraph", TYPE, flamegraph, "FILE",
		"draw a differential flame graph into FILE (.html or .svg): as wide as in the new recording, red is more, blue is less"),
	OPTION_STRING(0, "html", TYPE, flamegraph, "FILE", "the same"),
	OPTION_FLAG('D', "dump-raw-trace", TYPE, report.dump, "dump all records of the recordings, byte by byte"),
	OPTION_END,
};

static const struct config_binding diff_configuration[] = {
	{"diff.order", "order"},
	{"diff.compute", "compute"},
	{0},
};

static void init_options(struct diff_options *options)
{
	*options = (struct diff_options){.comparison.method = COMPARISON_DELTA_ABS, .order = -1};
	struct report_options *report = &options->report;
	report_options_init(report);
	report->default_sort = "dso,symbol";
	report->compares = true;
	report->children = false;
	report->branches = BRANCHES_NEVER;
	report->group = GROUPS_NEVER;
	report->callgraph.mode = CALLGRAPH_PRINT_NONE;
}

/* ---- recordings ---- */

static size_t count_given(const char *const *list)
{
	size_t count = 0;
	while (count < COMPARISON_FILES_MAX && list[count])
		count++;
	return count;
}

/* What the list has for the recording. */
static const char *one_of(const char *const *list, size_t index)
{
	return count_given(list) == 1 ? list[0] : index < COMPARISON_FILES_MAX ? list[index] : NULL;
}

/* --time has a range for each recording, or one for all. */
static struct error *split_times(struct diff *diff, char *times)
{
	if (count_given(diff->options->times) > 1) {
		for (size_t i = 0; i < diff->file_count; i++)
			diff->files[i].options.time = one_of(diff->options->times, i);
		return NULL;
	}
	if (!strchr(times, ':')) {
		for (size_t i = 0; i < diff->file_count; i++)
			diff->files[i].options.time = times;
		return NULL;
	}
	for (size_t i = 0; i < diff->file_count; i++) {
		char *range = strsep(&times, ":");
		if (!range)
			return error_new_kind(ERROR_USAGE, "--time has fewer ranges than there are recordings");
		diff->files[i].options.time = *range ? range : NULL;
	}
	return times ? error_new_kind(ERROR_USAGE, "--time has more ranges than there are recordings") : NULL;
}

static bool wants_errors(const struct diff_options *options)
{
	return options->significance || options->fails;
}

/* With --from: so many as there are times or conditions. Each question is asked now, before the sandbox. */
static struct error *ask_files(struct diff *diff)
{
	enum { SLICES = 100 };
	const struct diff_options *options = diff->options;
	size_t times = count_given(options->times), wheres = count_given(options->wheres), count = times > wheres ? times : wheres;
	struct error *error = NULL;
	if (count < 2 || (times > 1 && wheres > 1 && times != wheres))
		return error_new_kind(ERROR_USAGE,
				      "--from: give --time or --where once for each that is compared, the baseline first, such as "
				      "--time -2h,-1h --time -1h");
	diff->file_count = count;
	diff->files = mem_zalloc_array(count, sizeof(*diff->files));
	for (size_t i = 0; i < count && !error; i++) {
		struct diff_file *file = &diff->files[i];
		const char *time = one_of(options->times, i), *where = one_of(options->wheres, i);
		file->options = options->report;
		file->options.input.from.where = where;
		file->options.time = time;
		file->report.options = &file->options;
		file->report.whole_rows = true;
		file->path =
			mem_printf("%s%s%s", time ? time : "", time && where ? ", " : "", where ? where : ""); /* as long as the program */
		error = from_apply(&file->options.input, &file->options.time, wants_errors(options) ? SLICES : 0);
	}
	return error;
}

static struct error *name_files(struct diff *diff, char *const *words, size_t count)
{
	const char *input = diff->options->report.input.input;
	if (diff->options->report.input.from.url)
		return input || count ? error_new_kind(ERROR_USAGE, "--from takes the place of recordings") : ask_files(diff);
	if (diff->options->wheres[0] || diff->options->report.input.from.labels[0])
		return error_new_kind(ERROR_USAGE, "--where and --label go with --from");
	const char *defaults[] = {"perf.data.old", input ? input : "perf.data"};
	if (input && count)
		return error_new_kind(ERROR_USAGE, "-i %s: give the recordings as words, the baseline first", input);
	if (count > COMPARISON_FILES_MAX)
		return error_new_kind(ERROR_USAGE, "no more than %d recordings can be compared", COMPARISON_FILES_MAX);
	if (count == 1)
		defaults[1] = words[0];
	diff->file_count = count > 1 ? count : 2;
	diff->files = mem_zalloc_array(diff->file_count, sizeof(*diff->files));
	for (size_t i = 0; i < diff->file_count; i++) {
		struct diff_file *file = &diff->files[i];
		file->path = count > 1 ? words[i] : defaults[i];
		file->options = diff->options->report;
		file->options.input.input = file->path;
		file->options.time = NULL;
		file->report.options = &file->options;
		file->report.whole_rows = true;
	}
	return NULL;
}

/* Samples are told apart by slices of time as well, as by a key behind all others. */
static struct error *add_slices(const struct diff *diff, struct diff_file *file)
{
	enum { SLICES = 100 };
	struct report *report = &file->report;
	const struct session *session = report->session;
	const struct key *time = key_find("time", false);
	if (!wants_errors(diff->options))
		return NULL;
	for (size_t i = 0; i < report->sort.keys.len; i++)
		if (report->sort.keys.data[i] == time)
			return error_new_kind(ERROR_USAGE,
					      "-s time: what chance does to slices of time cannot be estimated from other slices");
	if (report->sort.keys.len + 1 >= ROWS_KEYS_MAX || report->extra_words >= ROWS_KEYS_MAX)
		return error_new_kind(ERROR_USAGE, "-s: too many keys with --significance or --fail-above");
	report->context.time_quantum_ns = (session->last_time - session->first_time) / SLICES + 1;
	vec_push(&report->sort.keys, time);
	vec_push(&report->extras.keys, time);
	report->extra_words++;
	return NULL;
}

static struct error *read_file(const struct diff *diff, size_t index)
{
	struct diff_file *file = &diff->files[index];
	struct report *report = &file->report;
	/* The rights that reading doesn't need are given up once. */
	const struct opening_options opening = {.input = &file->options.input,
						.cpus = file->options.cpus,
						.time = file->options.time,
						.confined = index ? NULL : "diff",
						.output = diff->options->flamegraph};
	struct error *error = opening_begin(&report->opening, &opening);
	if (error) {
		/* A mistake in the options is told first. */
		struct error *mistake = report_check_keys(&file->options);
		if (mistake)
			error_free(error);
		return mistake ? mistake : error;
	}
	report->session = report->opening.session;
	if (file->options.dump)
		return NULL;
	error = report_prepare(report);
	if (!error)
		error = add_slices(diff, file);
	bool rows = !diff->options->flamegraph && !diff->options->stream;
	if (!error && rows)
		error = report_make_fold(report);
	if (!error && !file->options.output.quiet && rows)
		report_hints(report);
	return error;
}

static void release_rows(struct diff *diff)
{
	for (size_t i = 0; i < diff->file_count; i++) {
		rows_destroy(diff->files[i].rows);
		rows_destroy(diff->files[i].slices);
		diff->files[i].rows = diff->files[i].slices = NULL;
		diff->files[i].keys = diff->files[i].slice_keys = (struct report_keys){0};
	}
}

static void release(struct diff *diff)
{
	for (size_t i = 0; i < diff->file_count; i++) {
		fold_parts_destroy(diff->files[i].parts);
		report_deinit(&diff->files[i].report);
	}
	free(diff->files);
}

/* ---- events ---- */

/* Tracepoints have other numbers on other machines, but the same names. Of imported profiles several events may be of one kind: the name
 * goes first. */
static const struct event *find_event(const struct event_list *list, const struct event *wanted)
{
	for (size_t i = 0; i < list->events.len; i++)
		if (list->events.data[i]->attr.type == wanted->attr.type && !strcmp(list->events.data[i]->name, wanted->name))
			return list->events.data[i];
	for (size_t i = 0; i < list->events.len; i++) {
		const struct event *event = list->events.data[i];
		bool tracepoint = wanted->attr.type == PERF_TYPE_TRACEPOINT;
		if (event->attr.type == wanted->attr.type &&
		    (tracepoint ? !strcmp(event->name, wanted->name) : event->attr.config == wanted->attr.config))
			return event;
	}
	return NULL;
}

static struct error *make_rows(const struct diff *diff, struct diff_file *file, const struct event *wanted)
{
	file->event = find_event(&file->report.session->reader->events, wanted);
	if (!file->event)
		return NULL;
	struct error *error = report_choose_keys(&file->report, &file->event, 1, &file->keys);
	if (error)
		return error;
	struct fold *fold = fold_parts_take(file->parts, &file->event, 1);
	if (wants_errors(diff->options)) {
		file->slice_keys = file->keys;
		file->slices = report_make_rows(&file->report, fold, &file->event, 1, &file->slice_keys);
		file->keys.count--; /* without the time */
		file->keys.identity_count--;
	}
	file->rows = report_make_rows(&file->report, fold, &file->event, 1, &file->keys);
	return NULL;
}

static struct error *show_comparison(const struct diff *diff, const struct comparison *comparison, const struct change_error *errors)
{
	const struct report_options *options = &diff->options->report;
	struct table *table = NULL;
	if (diff->options->cycles) {
		struct error *error = diff_blocks_table(diff, comparison, &table);
		if (error)
			return error;
	} else {
		table = diff_table(diff, comparison, diff->options->significance ? errors : NULL, options->format);
	}
	struct view_options view = {.title = table->subject,
				    .header = !options->output.quiet,
				    .columns = output_columns(),
				    .separator = options->separator ? options->separator[0] : 0};
	struct sink out = sink_to_file(stdout);
	struct error *error = view_write_one(view_find(options->format ? options->format : "stdio"),
					     (struct result){RESULT_TABLE, .table = table}, &view, &out);
	table_destroy(table);
	return error;
}

/* --fail-above: each share that has grown too much is told. */
static void find_failures(struct diff *diff, const struct comparison *comparison, const struct change_error *errors)
{
	for (size_t i = 0; i < comparison->shown_count; i++)
		for (size_t file = 1; file < comparison->file_count; file++) {
			uint32_t row = comparison->order[i];
			double old = comparison_share(comparison, row, 0), new = comparison_share(comparison, row, file);
			if (new - old <= diff->options->fail_above || !errors[row * comparison->file_count + file].significant)
				continue;
			struct strbuf name = {0}, safe = {0};
			for (size_t k = 0; k < comparison->key_count; k++) {
				strbuf_add_str(&name, k ? " " : "");
				diff_add_key_text(comparison, row, k, &name);
			}
			text_add_safe(&safe, strbuf_str(&name), name.len);
			log_warning("%s: %s: share grown by %.2f percentage points, from %.2f%% to %.2f%% (limit: %g)",
				    diff->files[file].path, strbuf_str(&safe), new - old, old, new, diff->options->fail_above);
			strbuf_deinit(&name);
			strbuf_deinit(&safe);
			diff->failed = true;
		}
}

static struct error *compare(struct diff *diff)
{
	const struct diff_options *options = diff->options;
	const struct rows *rows[COMPARISON_FILES_MAX], *slices[COMPARISON_FILES_MAX];
	for (size_t i = 0; i < diff->file_count; i++) {
		rows[i] = diff->files[i].rows;
		slices[i] = diff->files[i].slices;
		if (rows[i] && rows[i]->options.key_count != rows[0]->options.key_count)
			return error_new("%s: does not have all fields that -s names in %s", diff->files[i].path, diff->files[0].path);
	}
	struct comparison_options how = options->comparison;
	how.order = options->order < 0 ? !options->cycles : (size_t)options->order;
	how.relative = options->report.relative;
	how.baseline_only = options->baseline_only;
	struct comparison *comparison = comparison_create(rows, diff->file_count, &how);
	struct change_error *errors = wants_errors(options) ? significance_find(comparison, slices) : NULL;
	struct error *error = show_comparison(diff, comparison, errors);
	if (!error && options->fails)
		find_failures(diff, comparison, errors);
	free(errors);
	comparison_destroy(comparison);
	return error;
}

static struct error *compare_events(struct diff *diff)
{
	const struct event_list *events = &diff->files[0].report.session->reader->events;
	bool text = !diff->options->report.format && !diff->options->report.output.quiet;
	struct error *error = NULL;
	for (size_t f = 0; f < diff->file_count; f++)
		diff->files[f].parts = fold_parts_create(diff->files[f].report.fold);
	for (size_t i = 0; !error && i < events->events.len; i++) {
		if (i && text)
			putchar('\n');
		for (size_t f = 0; !error && f < diff->file_count; f++)
			error = make_rows(diff, &diff->files[f], events->events.data[i]);
		if (!error)
			error = compare(diff);
		release_rows(diff);
	}
	return error;
}

/* --stream: all events that both recordings have. */
static struct error *show_streams(struct diff *diff)
{
	const struct event_list *events = &diff->files[0].report.session->reader->events;
	struct error *error = NULL;
	bool any = false;
	for (size_t i = 0; !error && i < events->events.len; i++) {
		for (size_t f = 0; f < diff->file_count; f++)
			diff->files[f].event = find_event(&diff->files[f].report.session->reader->events, events->events.data[i]);
		if (!diff->files[1].event)
			continue;
		any = true;
		error = diff_streams(diff);
	}
	return error || any ? error : error_new("%s has none of the events of %s", diff->files[1].path, diff->files[0].path);
}

/* The first event of the baseline that has samples. */
static struct error *draw(struct diff *diff)
{
	const struct session *session = diff->files[0].report.session;
	const struct event_list *events = &session->reader->events;
	size_t i = 0;
	while (i < events->events.len && !session->event_counts[i].samples)
		i++;
	if (i == events->events.len)
		return error_new("%s has no samples: nothing to compare", diff->files[0].path);
	for (size_t f = 0; f < diff->file_count; f++) {
		struct diff_file *file = &diff->files[f];
		file->event = find_event(&file->report.session->reader->events, events->events.data[i]);
		if (!file->event)
			return error_new("%s has no event '%s', which %s has", file->path, events->events.data[i]->name,
					 diff->files[0].path);
	}
	return diff_draw(diff);
}

static struct error *show(struct diff *diff)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < diff->file_count; i++)
		error = read_file(diff, i);
	if (error)
		return error;
	if (diff->options->flamegraph)
		return draw(diff);
	pager_start("diff");
	if (diff->options->stream && !diff->options->report.dump)
		return show_streams(diff);
	if (!diff->options->report.dump)
		return compare_events(diff);
	for (size_t i = 0; !error && i < diff->file_count; i++)
		error = dumping_all(diff->files[i].report.session);
	return error;
}

static struct error *check_stream(const struct diff *diff)
{
	const struct diff_options *options = diff->options;
	if (diff->file_count != 2)
		return error_new_kind(ERROR_USAGE, "--stream compares two recordings, not %zu", diff->file_count);
	if (options->cycles || options->significance || options->fails || options->flamegraph || options->period || options->formula ||
	    options->report.sort)
		return error_new_kind(
			ERROR_USAGE,
			"--stream makes no table: -c cycles, -s, -p, -F, --significance, --fail-above and --flamegraph do not go with it");
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct diff_options options;
	struct diff diff = {.options = &options};
	int words = 0;
	char *times = NULL;
	init_options(&options);
	struct error *error = config_apply(diff_configuration, diff_option_table, &options);
	if (!error)
		error = options_parse(diff_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error)
		error = name_files(&diff, argv, (size_t)words);
	if (!error && options.order >= (int)diff.file_count)
		error = error_new_kind(ERROR_USAGE, "-o %d: there are only %zu recordings, the baseline being 0", options.order,
				       diff.file_count);
	if (!error && options.cycles_hist && !options.cycles)
		error = error_new_kind(ERROR_USAGE, "--cycles-hist requires -c cycles");
	if (!error && options.cycles)
		error = diff_check_cycles(&diff);
	if (!error && options.stream)
		error = check_stream(&diff);
	if (!error && options.flamegraph)
		error = diff_check_flamegraph(&options);
	if (!error && options.flamegraph && diff.file_count > 2)
		error = error_new_kind(ERROR_USAGE, "--flamegraph compares two recordings, not %zu", diff.file_count);
	if (!error && options.times[0] && !options.report.input.from.url)
		error = split_times(&diff, times = mem_strdup(options.times[0]));
	if (!error)
		error = show(&diff);
	*ret_status = !error && diff.failed;
	release(&diff);
	free(times);
	report_options_deinit(&options.report);
	return error;
}

static const char *const usage[] = {"[OLD] [NEW]… [-c METHOD] [-s KEY,…] [OPTIONS]", NULL};
const struct command cmd_diff = {
	"diff", "Compare recordings: what takes more, what takes less", usage, diff_option_table, run, diff_configuration};

/* perf report: a recording as tables: who used how much, with call graphs.
 *
 * This file has the options and the way through: open, fold, show. Keys and columns are in report_keys.c, filters in report_filter.c, tables in report_table.c,
 * call graph options in report_callgraph.c. */
#include "cmd/report.h"

#include "analysis/source_lines.h"
#include "app/config.h"
#include "app/command.h"
#include "app/pager.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/dumping.h"
#include "cmd/report_callgraph.h"
#include "perfdata/features_print.h"
#include "view/view.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error *parse_list(const struct option *option, const char *argument, bool negated, void *field)
{
	return name_list_set(field, argument);
}

static struct error *parse_percent(const struct option *option, const char *argument, bool negated, void *field)
{
	if (!number_parse_double(argument, field) || *(double *)field < 0 || *(double *)field > 100)
		return error_new_kind(ERROR_USAGE, "'%s' is not a percentage from 0 to 100", argument);
	return NULL;
}

static struct error *parse_percentage(const struct option *option, const char *argument, bool negated, void *field)
{
	bool relative = !strcmp(argument, "relative");
	if (!relative && strcmp(argument, "absolute"))
		return error_new_kind(ERROR_USAGE, "'%s': relative or absolute", argument);
	*(bool *)field = relative;
	return NULL;
}

static struct error *parse_quantum(const struct option *option, const char *argument, bool negated, void *field)
{
	if (!number_parse_duration(argument, "ns", field) || !*(uint64_t *)field)
		return error_new_kind(ERROR_USAGE, "'%s' is no time like 10ms", argument);
	return NULL;
}

static struct error *parse_format(const struct option *option, const char *argument, bool negated, void *field)
{
	static const char *const formats[] = {"csv", "json", "folded"};
	for (size_t i = 0; i < 3; i++)
		if (!strcmp(argument, formats[i])) {
			*(const char **)field = formats[i];
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "'%s': csv, json or folded", argument);
}

static struct error *parse_group_sort(const struct option *option, const char *argument, bool negated, void *field)
{
	uint32_t index;
	if (!number_parse_u32(argument, &index))
		return error_new_kind(ERROR_USAGE, "'%s' is not a number", argument);
	*(int *)field = (int)index;
	return NULL;
}

static struct error *parse_group(const struct option *option, const char *argument, bool negated, void *field)
{
	*(enum group_choice *)field = negated ? GROUPS_NEVER : GROUPS_WANTED;
	return NULL;
}

static struct error *parse_branches(const struct option *option, const char *argument, bool negated, void *field)
{
	*(enum branch_choice *)field = negated ? BRANCHES_NEVER : BRANCHES_WANTED;
	return NULL;
}

static struct error *ignore(const struct option *option, const char *argument, bool negated, void *field)
{
	return NULL;
}

#define TYPE struct report_options
static const struct option report_options[] = {
	OPTION_GROUP(input_option_group, TYPE, input),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_HEADING("Rows and columns"),
	OPTION_STRING('s', "sort", TYPE, sort, "KEY,…", "what rows are told apart by (default comm,dso,symbol); +KEY adds to the default"),
	OPTION_STRING('F', "fields", TYPE, fields, "KEY,…", "columns, also the order of rows; +KEY adds to the default"),
	OPTION_FLAG('n', "show-nr-samples", TYPE, show_samples, "a column with the number of samples"),
	OPTION_FLAG(0, "show-total-period", TYPE, show_period, "a column with the sum of periods"),
	OPTION_FLAG(0, "show-cpu-utilization", TYPE, show_modes, "columns for kernel and user mode"),
	OPTION_FLAG(0, "children", TYPE, children, "add what callees use to their callers (default with call chains; --no-children)"),
	OPTION_CUSTOM_FLAGS(0, "group", TYPE, group, NULL, "all events in one table (default: those that were recorded as a group; --no-group)", parse_group, OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS(0, "group-sort-idx", TYPE, group_sort_index, "N", "sort a group's table by its event N (from 0)", parse_group_sort, OPTION_NO_NEGATION),
	OPTION_FLAG('H', "hierarchy", TYPE, hierarchy, "rows of the first key, below each those of the second, and so on"),
	OPTION_CUSTOM_FLAGS('b', "branch-stack", TYPE, branches, NULL, "rows are branches: from, to (default when there are branch records; --no-branch-stack)", parse_branches, OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS(0, "percent-limit", TYPE, percent_limit, "PERCENT", "leave out rows and branches below it", parse_percent, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "percentage", TYPE, relative, "WHAT", "with a filter: 'relative' to what is left or 'absolute' (default)", parse_percentage, OPTION_NO_NEGATION),
	OPTION_STRING('w', "column-widths", TYPE, widths, "N,…", "widths of the columns"),
	OPTION_STRING('t', "field-separator", TYPE, separator, "CHAR", "between columns, instead of spaces"),
	OPTION_FLAG(0, "raw-trace", TYPE, raw_trace, "fields of tracepoints as recorded"),
	OPTION_FLAG(0, "full-source-path", TYPE, full_source_path, "source files with their paths"),
	OPTION_FLAG(0, "ns", TYPE, nanoseconds, "times with nine decimals"),
	OPTION_CUSTOM_FLAGS(0, "time-quantum", TYPE, time_quantum_ns, "TIME", "steps of the key 'time' (default 100ms)", parse_quantum, OPTION_NO_NEGATION),
	OPTION_FLAG(0, "skip-empty", TYPE, skip_empty, "no tables for events without samples (default)"),
	OPTION_HEADING("Call graphs"),
	OPTION_CUSTOM_FLAGS('g', "call-graph", TYPE, callgraph, "STYLE,…", callgraph_choice_help, callgraph_choice_parse, OPTION_OPTIONAL_ARGUMENT | OPTION_LAST_ARGUMENT),
	OPTION_FLAG(0, "branch-history", TYPE, branch_history, "stacks begin with the last branches before the sample"),
	OPTION_FLAG('G', "inverted", TYPE, inverted, "call graphs from the outermost caller inwards"),
	OPTION_U64(0, "max-stack", TYPE, max_stack, "N", "at most N frames of a stack (127)"),
	OPTION_STRING('p', "parent", TYPE, parent, "REGEX", "callers by which rows are told apart; see the key 'parent'"),
	OPTION_FLAG('x', "exclude-other", TYPE, exclude_other, "only what has a parent by -p"),
	OPTION_HEADING("Which samples"),
	OPTION_STRING('C', "cpu", TYPE, cpus, "CPUS", "of these CPUs, like 0-3,7"),
	OPTION_CUSTOM_FLAGS('c', "comms", TYPE, comms, "NAME,…", "of threads with these names", parse_list, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('d', "dsos", TYPE, dsos, "FILE,…", "in these files", parse_list, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('S', "symbols", TYPE, symbols, "NAME,…", "in these functions", parse_list, OPTION_NO_NEGATION),
	OPTION_STRING(0, "symbol-filter", TYPE, symbol_filter, "TEXT", "in functions whose name contains TEXT"),
	OPTION_CUSTOM_FLAGS(0, "pid", TYPE, pids, "PID,…", "of these processes", parse_list, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "tid", TYPE, tids, "TID,…", "of these threads", parse_list, OPTION_NO_NEGATION),
	OPTION_INT(0, "socket-filter", TYPE, socket, "N", "of this processor socket"),
	OPTION_STRING(0, "time", TYPE, time, "FROM,TO", "in these seconds; or 10%-20%, 10%/2"),
	OPTION_FLAG('U', "hide-unresolved", TYPE, hide_unresolved, "only what has a function name"),
	OPTION_FLAG(0, "inline", TYPE, inlines, "unwound stacks have a frame for each inlined function (default, where there is debug information)"),
	OPTION_STRING(0, "switch-on", TYPE, switch_on, "EVENT", "after this event"),
	OPTION_STRING(0, "switch-off", TYPE, switch_off, "EVENT", "until this event"),
	OPTION_FLAG(0, "show-on-off-events", TYPE, show_on_off, "with the events of --switch-on and --switch-off themselves"),
	OPTION_HEADING("Other reports"),
	OPTION_FLAG('D', "dump-raw-trace", TYPE, dump, "all records, byte by byte"),
	OPTION_FLAG('T', "threads", TYPE, show_threads, "what each thread counted, of recordings made with -s"),
	OPTION_FLAG(0, "stats", TYPE, stats, "how many records of each kind"),
	OPTION_FLAG(0, "tasks", TYPE, tasks, "the tree of tasks"),
	OPTION_FLAG(0, "mmaps", TYPE, mmaps, "the tree of tasks with what they mapped"),
	OPTION_FLAG(0, "header", TYPE, header, "the recording's header above the report"),
	OPTION_FLAG('I', "show-info", TYPE, show_info, "with --header: CPU and NUMA topology too"),
	OPTION_FLAG(0, "header-only", TYPE, header_only, "the recording's header alone"),
	OPTION_HEADING("Output"),
	OPTION_CUSTOM_FLAGS(0, "format", TYPE, format, "FORMAT", "csv, json or folded (stacks), for programs", parse_format, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "stdio", TYPE, input, NULL, "text (the default)", ignore, OPTION_NO_ARGUMENT),
	OPTION_END,
};

static void options_init(struct report_options *options)
{
	*options = (struct report_options){.children = true, .inlines = true, .skip_empty = true, .socket = -1, .time_quantum_ns = 100000000};
	input_options_init(&options->input);
	callgraph_choice_init(&options->callgraph);
}

/* What the recording has decides the defaults. */
static struct error *look_at_recording(struct report *report)
{
	struct report_options *options = report->options;
	const struct event_list *events = &report->session->reader->events;
	uint64_t types = 0, branches = 0;
	for (size_t i = 0; i < events->events.len; i++) {
		types |= events->events.data[i]->attr.sample_type;
		branches |= events->events.data[i]->attr.branch_sample_type;
	}
	bool lbr_stacks = (types & PERF_SAMPLE_BRANCH_STACK) && (branches & PERF_SAMPLE_BRANCH_CALL_STACK);
	report->unwound = (types & PERF_SAMPLE_REGS_USER) && (types & PERF_SAMPLE_STACK_USER);
	report->chains = (types & PERF_SAMPLE_CALLCHAIN) || lbr_stacks;
	bool has_branches = (types & PERF_SAMPLE_BRANCH_STACK) && !lbr_stacks;
	report->branch_history = options->branch_history && has_branches;
	if (options->branch_history && !has_branches && !report->chains)
		return error_new("--branch-history: the recording has neither branch records nor call chains; record with -b or -g");
	bool recorded_chains = report->chains;
	report->chains |= report->branch_history;
	report->branch_mode = has_branches && options->branches != BRANCHES_NEVER && !report->branch_history;
	if (options->branches == BRANCHES_WANTED && !has_branches)
		return error_new("-b: the recording has no branch records; record with -b");
	if (options->callgraph.given && !report->chains)
		return error_new("-g: the recording has no call chains; record with -g");
	report->children = options->children && recorded_chains && !report->branch_mode && !options->hierarchy;
	report->group = options->group == GROUPS_WANTED;
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->members > 1 && options->group != GROUPS_NEVER)
			report->group = true;
	report->caller_order = options->callgraph.order_given ? options->callgraph.caller : options->inverted || report->children || (options->hierarchy && options->children && report->chains);
	return NULL;
}

static struct error *setup_parent(struct report *report)
{
	static const char default_pattern[] = "^sys_|^do_page_fault";
	const char *pattern = report->options->parent ? report->options->parent : default_pattern;
	if (regcomp(&report->parent_regex, pattern, REG_EXTENDED))
		return error_new_kind(ERROR_USAGE, "-p %s: not a regular expression", pattern);
	report->has_parent_regex = true;
	report->context.parent_regex = &report->parent_regex;
	return NULL;
}

static void setup_context(struct report *report)
{
	const struct report_options *options = report->options;
	report->context = (struct key_context){
		.session = report->session,
		.resolver = report->opening.resolver,
		.strings = &report->strings,
		.arena = &report->arena,
		.verbose = options->output.verbose > 0,
		.nanoseconds = options->nanoseconds,
		.raw_trace = options->raw_trace,
		.time_quantum_ns = options->time_quantum_ns,
	};
	report->context.lines = source_lines_create(report->opening.resolver, options->full_source_path, options->inlines && report->unwound);
}

/* Whether what is shown depends on whole stacks; else the sampled address is enough, which is much quicker. */
static bool needs_stacks(const struct report *report)
{
	const struct report_options *options = report->options;
	if (!report->chains || report->branch_mode)
		return false;
	bool parents = options->exclude_other;
	for (size_t i = 0; i < report->sort.keys.len; i++)
		parents |= report->sort.keys.data[i]->domain == KEY_STACK;
	for (size_t i = 0; i < report->shown.keys.len; i++)
		parents |= report->shown.keys.data[i]->domain == KEY_STACK;
	return report->children || parents || options->format || options->callgraph.mode != CALLGRAPH_NONE;
}

/* Whether threads of one name are told apart by what is shown. */
static bool needs_threads(const struct report *report)
{
	if (report->options->pids.names.len || report->options->tids.names.len)
		return true;
	for (size_t i = 0; i < report->sort.keys.len; i++)
		if (report->sort.keys.data[i]->domain == KEY_ACTOR && strcmp(report->sort.keys.data[i]->name, "comm") != 0)
			return true;
	return false;
}

static struct error *make_fold(struct report *report)
{
	const struct report_options *options = report->options;
	bool filters = report->windows || options->socket >= 0;
	struct fold_options fold = {
		.chains = needs_stacks(report),
		.branches = report->branch_mode,
		.threads = needs_threads(report),
		.by_address = options->callgraph.by_address || report->branch_history,
		.by_line = report->by_line,
		.branch_history = report->branch_history,
		.keep_outermost = report->caller_order,
		.inlines = options->inlines,
		.hide_unresolved = options->hide_unresolved,
		.max_stack = (unsigned int)options->max_stack,
		.accept = filters ? report_accept : NULL,
		.extra_words = report->extra_words,
		.extra = report->extras.keys.len ? report_extra : NULL,
		.context = report,
	};
	struct error *error = fold_create(report->session, report->opening.resolver, &fold, &report->fold);
	report->context.fold = report->fold;
	return error;
}

static uint64_t lost_samples(const struct session *session)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < session->reader->events.events.len; i++)
		lost += session->event_counts[i].lost_samples;
	return lost;
}

static void print_header(const struct session *session, bool full)
{
	struct strbuf text = {0};
	features_print(session->reader, full, &text);
	fwrite(strbuf_str(&text), 1, text.len, stdout);
	strbuf_deinit(&text);
}

static void print_elided(const struct report *report)
{
	static const char *const names[] = {"comm", "dso", "symbol"};
	const struct report_options *options = report->options;
	const struct name_list *lists[] = {&options->comms, &options->dsos, &options->symbols};
	for (size_t i = 0; i < 3; i++)
		if (lists[i]->names.len == 1 && report_is_elided(report, key_find(names[i], false)))
			printf("# %s: %s\n", names[i], lists[i]->names.data[0]);
}

static void print_top(const struct report *report)
{
	if (report->options->output.quiet || report->options->format)
		return;
	if (report->options->header)
		print_header(report->session, report->options->show_info);
	else
		printf("# To display the perf.data header info, please use --header/--header-only options.\n#\n");
	print_elided(report);
	printf("#\n# Total Lost Samples: %lu\n#\n", lost_samples(report->session));
}

static struct error *show_folded(struct report *report)
{
	struct calltree *tree = fold_calltree(report->fold, &(struct fold_calltree_options){.event = -1, .by_comm = true});
	struct view_options view = {.title = "report"};
	struct error *error = view_find("folded")->calltree(tree, &view, stdout);
	calltree_destroy(tree);
	return error;
}

static struct error *show_tables(struct report *report)
{
	struct error *error = setup_parent(report);
	if (!error)
		error = report_setup_keys(report);
	if (!error)
		error = report_setup_filter(report);
	if (!error)
		error = make_fold(report);
	if (error)
		return error;
	pager_start("report");
	if (!report->fold->entry_count) {
		fprintf(stderr, "The recording has no samples%s.\n", report->session->record_counts[RECORD_SAMPLE] ? " that pass the filter" : "");
		return NULL;
	}
	if (report->options->format && !strcmp(report->options->format, "folded"))
		return show_folded(report);
	print_top(report);
	return report_show_events(report);
}

static struct error *dump_records(struct session *session)
{
	pager_start("report");
	struct strbuf text = {0};
	struct record record;
	struct error *error = NULL;
	uint64_t offset = UINT64_MAX;
	while (session_next(session, &record, &error) > 0) {
		dumping_add_record(session, &record, &offset, &text);
		fwrite(strbuf_str(&text), 1, text.len, stdout);
		strbuf_clear(&text);
	}
	strbuf_deinit(&text);
	if (!error)
		report_stats(session, true);
	return error;
}

static struct error *show(struct report *report)
{
	struct report_options *options = report->options;
	report->session = report->opening.session;
	if (options->header_only) {
		pager_start("report");
		print_header(report->session, options->show_info);
		return NULL;
	}
	if (options->dump)
		return dump_records(report->session);
	if (options->stats || options->tasks || options->mmaps) {
		pager_start("report");
		if (options->stats)
			report_stats(report->session, options->skip_empty);
		else
			report_tasks(report->session, options->mmaps);
		return NULL;
	}
	struct error *error = look_at_recording(report);
	if (error)
		return error;
	setup_context(report);
	error = show_tables(report);
	if (!error && options->show_threads)
		report_threads(report->session);
	if (!error) {
		fflush(stdout);
		report_hints(report);
	}
	return error;
}

static void report_deinit(struct report *report)
{
	fold_destroy(report->fold);
	vec_deinit(&report->sort.keys);
	vec_deinit(&report->shown.keys);
	vec_deinit(&report->extras.keys);
	free(report->windows);
	if (report->has_parent_regex)
		regfree(&report->parent_regex);
	source_lines_destroy(report->context.lines);
	intern_deinit(&report->strings);
	arena_deinit(&report->arena);
	opening_end(&report->opening);
}

/* Keys of the configuration that preset options; the styles of call graphs don't ask for them. */
static const struct config_binding configuration[] = {
	{"report.percent-limit", "percent-limit"},
	{"report.children", "children"},
	{"report.sort_order", "sort"},
	{"report.group", "group"},
	{"report.skip-empty", "skip-empty"},
	{"hist.percentage", "percentage"},
	{"call-graph.print-type", "call-graph"},
	{"call-graph.order", "call-graph"},
	{"call-graph.sort-key", "call-graph"},
	{"call-graph.threshold", "call-graph"},
	{0},
};

static struct error *use_words(int words, char **argv, struct report_options *options)
{
	if (words == 1 && !options->symbol_filter)
		options->symbol_filter = argv[0];
	else if (words)
		return error_new_kind(ERROR_USAGE, "'%s' is not understood", argv[words > 1]);
	if (options->callgraph.mode != CALLGRAPH_NONE && options->percent_limit > 0)
		options->callgraph.min_percent = options->percent_limit;
	return NULL;
}

static void options_deinit(struct report_options *options)
{
	name_list_deinit(&options->comms);
	name_list_deinit(&options->dsos);
	name_list_deinit(&options->symbols);
	name_list_deinit(&options->pids);
	name_list_deinit(&options->tids);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct report_options options;
	options_init(&options);
	int words = 0;
	struct error *error = config_apply(configuration, report_options, &options);
	options.callgraph.given = false;
	if (options.group == GROUPS_WANTED)
		options.group = GROUPS_IF_RECORDED;
	if (!error)
		error = options_parse(report_options, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error)
		error = use_words(words, argv, &options);
	struct report report = {.options = &options};
	struct opening_options opening = {.input = &options.input, .cpus = options.cpus, .time = options.time};
	if (!error)
		error = opening_begin(&report.opening, &opening);
	if (!error)
		error = show(&report);
	report_deinit(&report);
	options_deinit(&options);
	return error;
}

static const char *const usage[] = {"[-i FILE] [-s KEY,…] [-g STYLE] [OPTIONS]", NULL};
const struct command cmd_report = {"report", "Show where time went: tables and call graphs of a recording", usage, report_options, run};

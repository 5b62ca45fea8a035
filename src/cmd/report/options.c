/* perf report: its options. */
#include "cmd/report/report.h"

#include "app/format_option.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/report/callgraph.h"
#include "cmd/sides.h"

#include <string.h>

struct error *report_option_percentage(const struct option *option, const char *argument, bool negated, void *field)
{
	bool relative = !strcmp(argument, "relative");
	if (!relative && strcmp(argument, "absolute"))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': use relative or absolute", argument);
	*(bool *)field = relative;
	return NULL;
}

/* Of rows and of what hangs below them; a -g that follows may say something else of the latter. */
static struct error *parse_limit(const struct option *option, const char *argument, bool negated, void *field)
{
	struct report_options *options = (struct report_options *)((char *)field - offsetof(struct report_options, percent_limit));
	struct error *error = option_percent(option, argument, negated, field);
	if (!error)
		options->callgraph.min_percent = options->percent_limit;
	return error;
}

static struct error *parse_quantum(const struct option *option, const char *argument, bool negated, void *field)
{
	if (!number_parse_duration(argument, "ns", field) || !*(uint64_t *)field)
		return error_new_kind(ERROR_USAGE, "invalid time '%s': expected a time such as 10ms", argument);
	return NULL;
}

static struct error *parse_format(const struct option *option, const char *argument, bool negated, void *field)
{
	static const enum result_kind kinds[] = {RESULT_TABLE, RESULT_CALLTREE};
	return format_parse(argument, kinds, 2, field);
}

static struct error *parse_stats(const struct option *option, const char *argument, bool negated, void *field)
{
	if (argument && strcmp(argument, "records") && strcmp(argument, "stacks"))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': use records or stacks", argument);
	*(enum stats_choice *)field = negated ? STATS_NONE : argument && *argument == 's' ? STATS_STACKS : STATS_RECORDS;
	return NULL;
}

static struct error *parse_group_sort(const struct option *option, const char *argument, bool negated, void *field)
{
	uint32_t index;
	if (!number_parse_u32(argument, &index))
		return error_new_kind(ERROR_USAGE, "invalid number '%s'", argument);
	*(int *)field = (int)index;
	return NULL;
}

static struct error *parse_widths(const struct option *option, const char *argument, bool negated, void *field)
{
	bool fine = *argument && !strstr(argument, ",,") && *argument != ',' && strspn(argument, "0123456789,") == strlen(argument);
	if (!fine)
		return error_new_kind(ERROR_USAGE, "invalid value '%s': expected numbers separated by commas", argument);
	*(const char **)field = argument;
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

static struct error *parse_pretty(const struct option *option, const char *argument, bool negated, void *field)
{
	bool raw = !strcmp(argument, "raw");
	if (!raw && strcmp(argument, "normal"))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': use normal or raw", argument);
	*(bool *)field = raw;
	return NULL;
}

struct error *report_option_screen(const struct option *option, const char *argument, bool negated, void *field)
{
	*(enum screen_choice *)field = *option->long_name == 't' ? SCREEN_WANTED : SCREEN_NEVER;
	return NULL;
}

#define TYPE struct report_options
const struct option report_option_table[] = {
	OPTION_GROUP(input_option_group, TYPE, input),
	OPTION_GROUP(guest_option_group, TYPE, input),
	OPTION_SIDES(TYPE, sides),
	OPTION_GROUP(from_option_group, TYPE, input.from),
	OPTION_SANDBOX(TYPE, input.sandbox),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_HEADING("Rows and columns"),
	OPTION_STRING('s', "sort", TYPE, sort, "KEY,…", "keys to group samples by (default comm,dso,symbol); +KEY adds to the default"),
	OPTION_STRING('F', "fields", TYPE, fields, "KEY,…", "output columns, which also give the order of rows; +KEY adds to the default"),
	OPTION_FLAG('n', "show-nr-samples", TYPE, show_samples, "show a column with the number of samples"),
	OPTION_FLAG(0, "show-total-period", TYPE, show_period, "show a column with the sum of periods"),
	OPTION_FLAG(0, "show-cpu-utilization", TYPE, show_modes, "show columns for kernel and user mode"),
	{OPTION_KIND_FLAG, 0, "showcpuutilization", offsetof(TYPE, show_modes), NULL, "the same", NULL, NULL, OPTION_HIDDEN},
	OPTION_FLAG(0, "children", TYPE, children,
		    "add the samples of callees to their callers (default with call chains; "
		    "--no-children: do not)"),
	OPTION_CUSTOM_FLAGS(0, "group", TYPE, group, NULL,
			    "show all events in one table (default: only those recorded as a group; --no-group: none)", parse_group,
			    OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS(0, "group-sort-idx", TYPE, group_sort_index, "N", "sort the table of a group by its event N (from 0)",
			    parse_group_sort, OPTION_NO_NEGATION),
	OPTION_FLAG('H', "hierarchy", TYPE, hierarchy, "show rows of the first key, with those of the second key below each, and so on"),
	OPTION_CUSTOM_FLAGS('b', "branch-stack", TYPE, branches, NULL,
			    "show branches as rows: from, to (default with branch records; --no-branch-stack: do not)", parse_branches,
			    OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS(0, "percent-limit", TYPE, percent_limit, "PERCENT",
			    "omit rows below this percentage, and branches of call graphs unless a later -g says otherwise", parse_limit,
			    OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "percentage", TYPE, relative, "WHAT",
			    "with a filter: percentages 'relative' to the filtered total or "
			    "'absolute' (default)",
			    report_option_percentage, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('w', "column-widths", TYPE, widths, "N,…", "column widths", parse_widths, OPTION_NO_NEGATION),
	OPTION_STRING('t', "field-separator", TYPE, separator, "CHAR", "separate columns with this instead of spaces"),
	OPTION_FLAG(0, "raw-trace", TYPE, raw_trace, "show fields of tracepoints as recorded"),
	OPTION_FLAG(0, "full-source-path", TYPE, full_source_path, "show full paths of source files"),
	OPTION_FLAG(0, "ns", TYPE, nanoseconds, "show times with nine decimals"),
	OPTION_CUSTOM_FLAGS(0, "time-quantum", TYPE, time_quantum_ns, "TIME", "interval of the key 'time' (default 100ms)", parse_quantum,
			    OPTION_NO_NEGATION),
	OPTION_FLAG(0, "skip-empty", TYPE, skip_empty, "omit the tables of events without samples (default)"),
	OPTION_HEADING("Call graphs"),
	OPTION_CUSTOM_FLAGS('g', "call-graph", TYPE, callgraph, "STYLE,…", callgraph_choice_help, callgraph_choice_parse,
			    OPTION_OPTIONAL_ARGUMENT | OPTION_LAST_ARGUMENT),
	OPTION_FLAG(0, "branch-history", TYPE, branch_history, "start stacks with the last branches before the sample"),
	OPTION_FLAG('G', "inverted", TYPE, inverted, "show call graphs from the outermost caller inwards"),
	OPTION_FLAG(0, "show-ref-call-graph", TYPE, reference_graphs,
		    "for events recorded without call chains, show those of an event that has them"),
	OPTION_U64(0, "max-stack", TYPE, max_stack, "N", "use at most N frames of a stack (default 127)"),
	OPTION_STRING(0, "ignore-callees", TYPE, ignore_callees, "REGEX", "omit the callers of these functions from stacks"),
	OPTION_STRING('p', "parent", TYPE, parent, "REGEX", "group rows by callers matching this pattern; see the key 'parent'"),
	OPTION_FLAG('x', "exclude-other", TYPE, exclude_other,
		    "show only samples with a parent by -p (default pattern "
		    "^sys_|^do_page_fault)"),
	OPTION_HEADING("Filters"),
	OPTION_STRING('C', "cpu", TYPE, cpus, "CPUS", "only samples on these CPUs, such as 0-3,7"),
	OPTION_CUSTOM_FLAGS('c', "comms", TYPE, comms, "NAME,…", "only samples of threads with these names", name_list_option,
			    OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('d', "dsos", TYPE, dsos, "FILE,…", "only samples in these files", name_list_option, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('S', "symbols", TYPE, symbols, "NAME,…", "only samples in these functions", name_list_option,
			    OPTION_NO_NEGATION),
	OPTION_STRING(0, "symbol-filter", TYPE, symbol_filter, "TEXT", "only samples in functions whose name contains TEXT"),
	OPTION_CUSTOM_FLAGS(0, "pid", TYPE, pids, "PID,…", "only samples of these processes", name_list_option, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "tid", TYPE, tids, "TID,…", "only samples of these threads", name_list_option, OPTION_NO_NEGATION),
	OPTION_INT(0, "socket-filter", TYPE, socket, "N", "only samples on this processor socket"),
	OPTION_STRING(0, "time", TYPE, time, "FROM,TO", "only samples in this time range, in seconds; or 10%-20%, 10%/2"),
	OPTION_FLAG('U', "hide-unresolved", TYPE, hide_unresolved, "only samples with a function name"),
	OPTION_INLINE(TYPE, inlines),
	OPTION_FLAG(0, "stitch-lbr", TYPE, stitch_lbr,
		    "extend call graphs of --call-graph lbr beyond the number of branch registers, with callers from earlier samples that "
		    "are certain to be still valid"),
	OPTION_STRING(0, "switch-on", TYPE, switch_on, "EVENT", "only samples after this event"),
	OPTION_STRING(0, "switch-off", TYPE, switch_off, "EVENT", "only samples before this event"),
	OPTION_FLAG(0, "show-on-off-events", TYPE, show_on_off, "also show the events of --switch-on and --switch-off themselves"),
	OPTION_HEADING("Other reports"),
	OPTION_FLAG('D', "dump-raw-trace", TYPE, dump, "dump all records, byte by byte"),
	OPTION_FLAG(0, "disable-order", TYPE, disable_order, "with -D: in file order instead of time order"),
	OPTION_FLAG(0, "mem-mode", TYPE, mem_mode,
		    "profile memory accesses: show the data accessed and where it came from, weighted by cost"),
	OPTION_U64(0, "samples", TYPE, single_samples, "N",
		   "on the screen, the menu of a row offers N single samples of it, and what happened around each"),
	OPTION_FLAG(0, "total-cycles", TYPE, total_cycles,
		    "show the code blocks between branches that took the most cycles, from "
		    "branch records"),
	OPTION_FLAG('T', "threads", TYPE, show_threads, "show the counts of each thread, from recordings made with -s"),
	OPTION_CUSTOM_FLAGS(0, "pretty", TYPE, raw_counts, "STYLE", "with -T: 'normal', one line per thread, or 'raw', one line per count",
			    parse_pretty, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(
		0, "stats", TYPE, stats, "WHICH",
		"show the number of records of each type (records, the default), or where stacks end that lack callers (stacks)",
		parse_stats, OPTION_OPTIONAL_ARGUMENT),
	OPTION_FLAG(0, "tasks", TYPE, tasks, "show the task tree"),
	OPTION_FLAG(0, "mmaps", TYPE, mmaps, "show the task tree with memory maps"),
	OPTION_FLAG(0, "header", TYPE, header, "show the recording's header above the report"),
	OPTION_FLAG('I', "show-info", TYPE, show_info, "with --header: also show CPU and NUMA topology"),
	OPTION_FLAG(0, "header-only", TYPE, header_only, "show only the recording's header"),
	OPTION_HEADING("Instructions of functions that are opened on the screen"),
	OPTION_GROUP(code_option_group, TYPE, code),
	OPTION_HEADING("Output"),
	OPTION_CUSTOM_FLAGS(0, "format", TYPE, format, "FORMAT", "machine-readable output: csv, json or folded (stacks)", parse_format,
			    OPTION_NO_NEGATION),
	OPTION_STRING(
		0, "html", TYPE, html, "FILE",
		"write an interactive page: flame graph, heat map, threads and CPUs over time, functions, code; one file that loads no others"),
	OPTION_FLAG(0, "mouse", TYPE, mouse, "the screen takes clicks and the wheel of the mouse (its key: M)"),
	OPTION_CUSTOM_FLAGS(0, "tui", TYPE, screen, NULL, "show the tables on a screen (default on terminals)", report_option_screen,
			    OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "stdio", TYPE, screen, NULL, "show the tables as text (default in pipes and files)", report_option_screen,
			    OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "stdio-color", TYPE, color, "WHEN",
			    "when to colour percentages: always, never or auto (on terminals; default)", color_choice_option,
			    OPTION_NO_NEGATION),
	OPTION_ITRACE(TYPE, itrace),
	OPTION_REFUSED(0, "gtk", NULL, "there are no windows of GTK; use --tui, or 'perf flamegraph' for a graph in a browser"),
	OPTION_END,
};

void report_options_init(struct report_options *options)
{
	*options = (struct report_options){.children = true,
					   .inlines = STACK_INLINES_ALL,
					   .skip_empty = true,
					   .socket = -1,
					   .max_stack = 127,
					   .time_quantum_ns = 100000000};
	input_options_init(&options->input);
	code_options_init(&options->code);
	callgraph_choice_init(&options->callgraph);
}

const struct config_binding report_configuration[] = {
	{"report.percent-limit", "percent-limit"},
	{"report.children", "children"},
	{"report.sort_order", "sort"},
	{"report.group", "group"},
	{"report.skip-empty", "skip-empty"},
	{"tui.mouse", "mouse"},
	{"hist.percentage", "percentage"},
	{"call-graph.print-type", "call-graph"},
	{"call-graph.order", "call-graph"},
	{"call-graph.sort-key", "call-graph"},
	{"call-graph.threshold", "call-graph"},
	{"annotate.disassembler_style", "disassembler-style"},
	{0},
};

void report_options_deinit(struct report_options *options)
{
	name_list_deinit(&options->comms);
	name_list_deinit(&options->dsos);
	name_list_deinit(&options->symbols);
	name_list_deinit(&options->pids);
	name_list_deinit(&options->tids);
}

/* perf report: its options. */
#include "cmd/report.h"

#include "base/number.h"
#include "base/text.h"
#include "cmd/report_callgraph.h"

#include <string.h>

static struct error *parse_percentage(const struct option *option, const char *argument, bool negated, void *field)
{
	bool relative = !strcmp(argument, "relative");
	if (!relative && strcmp(argument, "absolute"))
		return error_new_kind(ERROR_USAGE, "'%s': relative or absolute", argument);
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
	return error_new_kind(ERROR_USAGE, "invalid value '%s': csv, json or folded", argument);
}

static struct error *parse_stats(const struct option *option, const char *argument, bool negated, void *field)
{
	if (argument && strcmp(argument, "records") && strcmp(argument, "stacks"))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': records or stacks", argument);
	*(enum stats_choice *)field = negated ? STATS_NONE : argument && *argument == 's' ? STATS_STACKS : STATS_RECORDS;
	return NULL;
}

static struct error *parse_group_sort(const struct option *option, const char *argument, bool negated, void *field)
{
	uint32_t index;
	if (!number_parse_u32(argument, &index))
		return error_new_kind(ERROR_USAGE, "'%s' is not a number", argument);
	*(int *)field = (int)index;
	return NULL;
}

static struct error *parse_widths(const struct option *option, const char *argument, bool negated, void *field)
{
	bool fine = *argument && !strstr(argument, ",,") && *argument != ',' && strspn(argument, "0123456789,") == strlen(argument);
	if (!fine)
		return error_new_kind(ERROR_USAGE, "'%s': numbers with commas between them", argument);
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
		return error_new_kind(ERROR_USAGE, "'%s': normal or raw", argument);
	*(bool *)field = raw;
	return NULL;
}

static struct error *ignore(const struct option *option, const char *argument, bool negated, void *field)
{
	return NULL;
}

#define TYPE struct report_options
const struct option report_option_table[] = {
	OPTION_GROUP(input_option_group, TYPE, input),
	OPTION_SANDBOX(TYPE, input.sandbox),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_HEADING("Rows and columns"),
	OPTION_STRING('s', "sort", TYPE, sort, "KEY,…", "what rows are told apart by (default comm,dso,symbol); +KEY adds to the default"),
	OPTION_STRING('F', "fields", TYPE, fields, "KEY,…", "columns, also the order of rows; +KEY adds to the default"),
	OPTION_FLAG('n', "show-nr-samples", TYPE, show_samples, "a column with the number of samples"),
	OPTION_FLAG(0, "show-total-period", TYPE, show_period, "a column with the sum of periods"),
	OPTION_FLAG(0, "show-cpu-utilization", TYPE, show_modes, "columns for kernel and user mode"),
	{OPTION_KIND_FLAG, 0, "showcpuutilization", offsetof(TYPE, show_modes), NULL, "the same", NULL, NULL, OPTION_HIDDEN},
	OPTION_FLAG(0, "children", TYPE, children, "add what callees use to their callers (default with call chains; --no-children)"),
	OPTION_CUSTOM_FLAGS(0, "group", TYPE, group, NULL, "all events in one table (default: those that were recorded as a group; --no-group)", parse_group, OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS(0, "group-sort-idx", TYPE, group_sort_index, "N", "sort a group's table by its event N (from 0)", parse_group_sort, OPTION_NO_NEGATION),
	OPTION_FLAG('H', "hierarchy", TYPE, hierarchy, "rows of the first key, below each those of the second, and so on"),
	OPTION_CUSTOM_FLAGS('b', "branch-stack", TYPE, branches, NULL, "rows are branches: from, to (default when there are branch records; --no-branch-stack)", parse_branches, OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS(0, "percent-limit", TYPE, percent_limit, "PERCENT", "leave out rows below it, and branches of call graphs unless -g behind it says otherwise", parse_limit, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "percentage", TYPE, relative, "WHAT", "with a filter: 'relative' to what is left or 'absolute' (default)", parse_percentage, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('w', "column-widths", TYPE, widths, "N,…", "widths of the columns", parse_widths, OPTION_NO_NEGATION),
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
	OPTION_FLAG(0, "show-ref-call-graph", TYPE, reference_graphs, "events that were recorded without call chains show those of one that has them"),
	OPTION_U64(0, "max-stack", TYPE, max_stack, "N", "at most N frames of a stack (127)"),
	OPTION_STRING(0, "ignore-callees", TYPE, ignore_callees, "REGEX", "stacks begin at these functions: what they call counts as theirs"),
	OPTION_STRING('p', "parent", TYPE, parent, "REGEX", "callers by which rows are told apart; see the key 'parent'"),
	OPTION_FLAG('x', "exclude-other", TYPE, exclude_other, "only what has a parent by -p, which is ^sys_|^do_page_fault unless given"),
	OPTION_HEADING("Which samples"),
	OPTION_STRING('C', "cpu", TYPE, cpus, "CPUS", "of these CPUs, like 0-3,7"),
	OPTION_CUSTOM_FLAGS('c', "comms", TYPE, comms, "NAME,…", "of threads with these names", name_list_option, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('d', "dsos", TYPE, dsos, "FILE,…", "in these files", name_list_option, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('S', "symbols", TYPE, symbols, "NAME,…", "in these functions", name_list_option, OPTION_NO_NEGATION),
	OPTION_STRING(0, "symbol-filter", TYPE, symbol_filter, "TEXT", "in functions whose name contains TEXT"),
	OPTION_CUSTOM_FLAGS(0, "pid", TYPE, pids, "PID,…", "of these processes", name_list_option, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "tid", TYPE, tids, "TID,…", "of these threads", name_list_option, OPTION_NO_NEGATION),
	OPTION_INT(0, "socket-filter", TYPE, socket, "N", "of this processor socket"),
	OPTION_STRING(0, "time", TYPE, time, "FROM,TO", "in these seconds; or 10%-20%, 10%/2"),
	OPTION_FLAG('U', "hide-unresolved", TYPE, hide_unresolved, "only what has a function name"),
	OPTION_INLINE(TYPE, inlines),
	OPTION_FLAG(0, "stitch-lbr", TYPE, stitch_lbr, "call graphs of --call-graph lbr that are longer than the branch registers: callers beyond come from earlier samples, where these certainly still hold"),
	OPTION_STRING(0, "switch-on", TYPE, switch_on, "EVENT", "after this event"),
	OPTION_STRING(0, "switch-off", TYPE, switch_off, "EVENT", "until this event"),
	OPTION_FLAG(0, "show-on-off-events", TYPE, show_on_off, "with the events of --switch-on and --switch-off themselves"),
	OPTION_HEADING("Other reports"),
	OPTION_FLAG('D', "dump-raw-trace", TYPE, dump, "all records, byte by byte"),
	OPTION_FLAG(0, "disable-order", TYPE, disable_order, "with -D: in the order of the file, not of time"),
	OPTION_FLAG(0, "mem-mode", TYPE, mem_mode, "of sampled memory accesses: which data they were to, where it came from, weighed by what they cost"),
	OPTION_FLAG(0, "total-cycles", TYPE, total_cycles, "of branch records: the blocks of code between branches that took most cycles"),
	OPTION_FLAG('T', "threads", TYPE, show_threads, "what each thread counted, of recordings made with -s"),
	OPTION_CUSTOM_FLAGS(0, "pretty", TYPE, raw_counts, "STYLE", "of -T: 'normal', a line for each thread, or 'raw', a line for each count", parse_pretty, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "stats", TYPE, stats, "WHICH", "how many records of each kind there are (records, the default), or where stacks end that lack callers (stacks)", parse_stats, OPTION_OPTIONAL_ARGUMENT),
	OPTION_FLAG(0, "tasks", TYPE, tasks, "the tree of tasks"),
	OPTION_FLAG(0, "mmaps", TYPE, mmaps, "the tree of tasks with what they mapped"),
	OPTION_FLAG(0, "header", TYPE, header, "the recording's header above the report"),
	OPTION_FLAG('I', "show-info", TYPE, show_info, "with --header: CPU and NUMA topology too"),
	OPTION_FLAG(0, "header-only", TYPE, header_only, "the recording's header alone"),
	OPTION_HEADING("Output"),
	OPTION_CUSTOM_FLAGS(0, "format", TYPE, format, "FORMAT", "csv, json or folded (stacks), for programs", parse_format, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "stdio", TYPE, input, NULL, "text (the default)", ignore, OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS(0, "stdio-color", TYPE, color, "WHEN", "percentages in colours: always, never or auto (on terminals, the default)", color_choice_option, OPTION_NO_NEGATION),
	OPTION_REFUSED(0, "itrace", "OPTIONS", "instruction traces of hardware (Intel PT, Arm CoreSight) aren't decoded; record branches with -b instead"),
	OPTION_REFUSED('M', "disassembler-style", "STYLE", "the report shows no instructions; use 'perf annotate'"),
	OPTION_REFUSED(0, "asm-raw", NULL, "the report shows no instructions; use 'perf annotate'"),
	OPTION_REFUSED(0, "source", NULL, "the report shows no source text; use 'perf annotate', or the keys srcline and srcfile"),
	OPTION_REFUSED(0, "prefix", "PATH", "the report shows no source text; use 'perf annotate', or the keys srcline and srcfile"),
	OPTION_REFUSED(0, "prefix-strip", "N", "the report shows no source text; use 'perf annotate', or the keys srcline and srcfile"),
	OPTION_REFUSED(0, "percent-type", "TYPE", "the report shows no instructions; use 'perf annotate', and here -n and --show-total-period"),
	OPTION_REFUSED(0, "objdump", "PATH", "no program is needed to take code apart; use 'perf annotate'"),
	OPTION_REFUSED(0, "addr2line", "PATH", "no program is needed to find source lines; use the key srcline"),
	OPTION_REFUSED(0, "samples", "N", "rows can't be opened to see single samples; use 'perf script' with -S, --comms or --time"),
	OPTION_REFUSED(0, "tui", NULL, "the report is text; use --stdio, or 'perf flamegraph' for a picture to click on"),
	OPTION_REFUSED(0, "gtk", NULL, "the report is text; use --stdio, or 'perf flamegraph' for a picture to click on"),
	OPTION_END,
};

void report_options_init(struct report_options *options)
{
	*options = (struct report_options){.children = true, .inlines = STACK_INLINES_ALL, .skip_empty = true, .socket = -1, .max_stack = 127, .time_quantum_ns = 100000000};
	input_options_init(&options->input);
	callgraph_choice_init(&options->callgraph);
}

const struct config_binding report_configuration[] = {
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

void report_options_deinit(struct report_options *options)
{
	name_list_deinit(&options->comms);
	name_list_deinit(&options->dsos);
	name_list_deinit(&options->symbols);
	name_list_deinit(&options->pids);
	name_list_deinit(&options->tids);
}

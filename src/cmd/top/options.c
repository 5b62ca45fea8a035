/* The options of perf top: how to sample as of perf record, what to show as of perf report. */
#include "cmd/top/top.h"

#include "app/color.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "cmd/report/callgraph.h"
#include "cmd/sampling_options.h"
#include "cmd/sides.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <string.h>

#define O struct top_options

static struct top_options *whole(void *field)
{
	return field;
}

/* How stacks are recorded comes first, with the size of a copy; the rest is how they are shown: "dwarf,4096,graph,0.5,caller". */
static struct error *parse_callgraph(const struct option *option, const char *argument, bool negated, void *field)
{
	struct top_options *options = whole(field);
	if (negated) {
		options->sampling.callgraph = CALLCHAIN_NONE;
		return NULL;
	}
	static const char *const modes[] = {"auto", "fp", "dwarf", "lbr"};
	size_t mode = strcspn(argument, ",");
	bool recorded = false;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		recorded |= mode == strlen(modes[i]) && !strncmp(argument, modes[i], mode);
	if (!recorded) {
		struct error *error = sampling_option_g(option, NULL, false, &options->sampling);
		return error ? error : callgraph_choice_parse(option, argument, false, &options->report.callgraph);
	}
	if (argument[mode] && isdigit((unsigned char)argument[mode + 1]) && *argument == 'd')
		mode += 1 + strcspn(argument + mode + 1, ",");
	cleanup_free char *how = mem_printf("%.*s", (int)mode, argument);
	struct error *error = sampling_parse_callgraph(how, &options->sampling);
	if (error || !argument[mode])
		return error;
	return callgraph_choice_parse(option, argument + mode + 1, false, &options->report.callgraph);
}

static struct error *parse_delay(const struct option *option, const char *argument, bool negated, void *field)
{
	if (!number_parse_u64(argument, field) || !*(uint64_t *)field || *(uint64_t *)field > UINT32_MAX)
		return error_new_kind(ERROR_USAGE, "invalid number of seconds '%s'", argument);
	return NULL;
}

#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)
const struct option top_option_table[] = {
	OPTION_HEADING("Events and targets"),
	OPTION_GROUP(targets_group, O, targets),
	CUSTOM('e', "event", words, "EVENT", "events to sample: cycles, cpu-clock:u, sched:sched_switch, …; may be repeated",
	       event_words_parse_event),
	OPTION_SIDES(O, words.sides),
	CUSTOM(0, "pfm-events", words, "EVENT", "events by their libpfm4 names ('perf list pfm'), with its modifiers and groups {…}",
	       event_words_parse_pfm),
	CUSTOM(0, "filter", words, "FILTER", "filter for the preceding tracepoints, on their fields", event_words_parse_filter),
	CUSTOM('G', "cgroup", words, "NAMES", "only tasks in this control group", event_words_parse_cgroup),
	CUSTOM('F', "freq", sampling, "HZ", "sampling frequency in samples per second, or 'max' (default 4000)", sampling_option_freq),
	CUSTOM('c', "count", sampling.period, "N", "take a sample every N events, instead of -F", sampling_option_count),
	OPTION_FLAG('i', "no-inherit", O, sampling.no_inherit, "do not follow child processes and new threads"),
	OPTION_FLAG(0, "group", O, sampling.group, "put all events into one group, shown in one table"),
	OPTION_CUSTOM_FLAGS('g', NULL, O, sampling, NULL, "record complete call chains", sampling_option_g, OPTION_NO_ARGUMENT),
	OPTION_WHOLE(0, "call-graph", "MODE,STYLE,…",
		     "record call chains by auto, fp, dwarf[,BYTES] or lbr; then how to show them, as with 'perf report -g'",
		     parse_callgraph, 0),
	OPTION_CUSTOM_FLAGS('b', "branch-any", O, sampling.branch_type, NULL, "show the branches taken, of any kind",
			    sampling_option_branch_any, OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	CUSTOM('j', "branch-filter", sampling.branch_type, "KINDS", "show the branches taken: any, any_call, u, k, …",
	       sampling_option_branch),
	OPTION_FLAG(0, "namespaces", O, sampling.namespaces, "record namespaces of processes, for the sort key cgroup_id"),
	OPTION_FLAG(0, "all-cgroups", O, sampling.cgroups, "record control groups of samples, for the sort key cgroup"),
	OPTION_FLAG(0, "no-bpf-event", O, sampling.no_bpf_event, "do not follow the loading of BPF programs"),
	CUSTOM('m', "mmap-pages", ring_pages, "PAGES", "size of each buffer in pages, or such as 64K, 1M", option_ring_pages),
	OPTION_FLAG(0, "overwrite", O, overwrite,
		    "where more samples come than are read, lose the oldest ones instead of the newest; those aren't counted as lost"),
	OPTION_U64(0, "proc-map-timeout", O, map_timeout_ms, "MS", "give up reading the maps of a process after this time (default 500)"),
	OPTION_INT(0, "num-thread-synthesize", O, synth_jobs, "N", "number of threads that read /proc (default: one per CPU)"),
	OPTION_STRING(0, "switch-on", O, report.switch_on, "EVENT", "count samples only after this event"),
	OPTION_STRING(0, "switch-off", O, report.switch_off, "EVENT", "count no more samples after this event"),
	OPTION_FLAG(0, "show-on-off-events", O, report.show_on_off, "also count the events of --switch-on and --switch-off themselves"),
	OPTION_INT('r', "realtime", O, realtime, "PRIORITY", "run with this real-time priority (1 to 99)"),

	OPTION_GROUP(from_option_group, O, from),

	OPTION_HEADING("Screens"),
	CUSTOM('d', "delay", delay_s, "SECONDS", "time between two screens (default 2)", parse_delay),
	OPTION_U64('E', "entries", O, entries, "N", "show at most N rows (default: as many as fit)"),
	OPTION_FLAG('z', "zero", O, zero, "show only samples since the last screen"),
	OPTION_FLAG('K', "hide_kernel_symbols", O, hide_kernel, "hide kernel functions"),
	OPTION_FLAG('U', "hide_user_symbols", O, hide_user, "hide user functions"),
	OPTION_U64('f', "count-filter", O, report.least_samples, "N", "show only rows with more than N samples"),
	OPTION_CUSTOM_FLAGS(0, "percent-limit", O, report.percent_limit, "PERCENT", "hide rows below this percentage", option_percent,
			    OPTION_NO_NEGATION),
	OPTION_FLAG(0, "mouse", O, report.mouse, "the screen takes clicks and the wheel of the mouse (its key: M)"),
	OPTION_CUSTOM_FLAGS(0, "tui", O, report.screen, NULL, "show rows on a screen with a cursor (default on terminals)",
			    report_option_screen, OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "stdio", O, report.screen, NULL, "show rows as text (default in pipes and files)", report_option_screen,
			    OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	CUSTOM(0, "stdio-color", report.color, "WHEN", "percentages in colours: always, never or auto (on terminals, the default)",
	       color_choice_option),

	OPTION_HEADING("Rows and columns"),
	OPTION_STRING('s', "sort", O, report.sort, "KEY,…", "keys to group samples by (default dso,symbol); +KEY adds to the default"),
	OPTION_STRING(0, "fields", O, report.fields, "KEY,…",
		      "output columns, which also give the order of rows; +KEY adds to the default"),
	OPTION_FLAG('n', "show-nr-samples", O, report.show_samples, "show a column with the number of samples"),
	OPTION_FLAG(0, "show-total-period", O, report.show_period, "show a column with the sum of periods"),
	OPTION_FLAG(0, "children", O, report.children, "add what callees use to their callers (default with call chains; --no-children)"),
	OPTION_FLAG('H', "hierarchy", O, report.hierarchy,
		    "show rows of the first key, with those of the second key below each, and so on"),
	OPTION_INT(0, "group-sort-idx", O, report.group_sort_index, "N", "sort a group's table by its event N (from 0)"),
	OPTION_STRING('w', "column-widths", O, report.widths, "N,…", "column widths"),
	OPTION_FLAG(0, "raw-trace", O, report.raw_trace, "show fields of tracepoints as recorded"),
	OPTION_FLAG(0, "branch-history", O, report.branch_history, "start stacks with the last branches before the sample; implies -b"),
	OPTION_STRING(0, "ignore-callees", O, report.ignore_callees, "REGEX", "omit the callers of these functions from stacks"),
	OPTION_U64(0, "max-stack", O, report.max_stack, "N", "use at most N frames of a stack (default 127)"),
	OPTION_CUSTOM_FLAGS(0, "comms", O, report.comms, "NAME,…", "only samples of threads with these names", name_list_option,
			    OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "dsos", O, report.dsos, "FILE,…", "only samples in these files", name_list_option, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "symbols", O, report.symbols, "NAME,…", "only samples in these functions", name_list_option,
			    OPTION_NO_NEGATION),
	OPTION_STRING(0, "symbol-filter", O, report.symbol_filter, "TEXT", "only functions whose name contains TEXT"),
	CUSTOM(0, "percentage", report.relative, "WHAT", "with a filter: 'relative' to what is left or 'absolute' (default)",
	       report_option_percentage),

	OPTION_HEADING("Instructions of functions that are opened on the screen"),
	OPTION_STRING(0, "sym-annotate", O, sym_annotate, "FUNCTION",
		      "open this function at once; as text (--stdio): its instructions in place of rows"),
	OPTION_GROUP(code_option_group, O, report.code),

	OPTION_HEADING("Symbols"),
	OPTION_STRING('k', "vmlinux", O, report.input.vmlinux, "FILE", "read kernel symbols from this kernel image"),
	OPTION_GROUP(guest_option_group, O, report.input),
	OPTION_STRING(0, "kallsyms", O, report.input.kallsyms, "FILE", "read kernel symbols from this file instead of /proc/kallsyms"),
	OPTION_FLAG(0, "ignore-vmlinux", O, report.input.ignore_vmlinux, "do not look for the kernel's image"),
	OPTION_FLAG(0, "demangle-kernel", O, report.input.demangle_kernel, "demangle C++ and Rust names in the kernel"),
	OPTION_FLAG(0, "force", O, report.input.force, "read perf-PID.map files of other users, too"),
	OPTION_FLAG('D', "dump-symtab", O, dump_symbols,
		    "at the end, print to standard error each file and the symbols that were read of it"),
	OPTION_GROUP(output_option_group, O, report.output),
	OPTION_REFUSED(0, "stitch-lbr", NULL,
		       "callers are carried over from earlier samples of recordings only; 'perf record --call-graph lbr' and "
		       "'perf report --stitch-lbr' do it"),
	OPTION_END,
};

void top_options_init(struct top_options *options)
{
	*options = (struct top_options){.delay_s = 2, .map_timeout_ms = 500, .sampling.callgraph_default = CALLCHAIN_AUTO};
	report_options_init(&options->report);
	options->report.default_sort = "dso,symbol";
	options->report.output.quiet = true; /* no header above the rows */
}

struct error *top_options_check(struct top_options *options)
{
	struct sampling *sampling = &options->sampling;
	targets_settle(&options->targets, false);
	if (options->report.branch_history && !sampling->branch_type)
		sampling->branch_type = PERF_SAMPLE_BRANCH_ANY;
	if (options->synth_jobs < 0)
		return error_new_kind(ERROR_USAGE, "--num-thread-synthesize: invalid number %d", options->synth_jobs);
	sampling->by_cpu = targets_are_cpus(&options->targets);
	sampling->no_inherit |= options->targets.tids != NULL;
	sampling->address = sampling->callgraph == CALLCHAIN_DWARF ||
			    sampling->callgraph == CALLCHAIN_AUTO; /* so that maps of data are known as well: frames may lie anywhere */
	options->report.group = sampling->group ? GROUPS_WANTED : GROUPS_IF_RECORDED;
	struct error *error = code_options_check(&options->report.code);
	return error ? error : sampling_check_freq(sampling);
}

void top_options_deinit(struct top_options *options)
{
	report_options_deinit(&options->report);
	vec_deinit(&options->words);
}

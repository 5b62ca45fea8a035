/* The options of `perf stat`. */
#include "cmd/stat/stat.h"

#include "base/log.h"
#include "base/number.h"

#include <string.h>

static struct error *parse_delay(const struct option *option, const char *argument, bool negated, void *field)
{
	int64_t *ret = field;

	if (!number_parse_s64(argument, ret) || *ret < -1)
		return error_new_kind(ERROR_USAGE, "invalid delay '%s': expected milliseconds, or -1 (start disabled)", argument);
	return NULL;
}

static struct error *parse_repeat(const struct option *option, const char *argument, bool negated, void *field)
{
	struct stat_options *options = field;
	uint32_t runs;

	if (!number_parse_u32(argument, &runs) || runs > 1000000)
		return error_new_kind(ERROR_USAGE, "invalid number of runs '%s' (0: until Ctrl-C)", argument);
	options->repeat = (int)runs;
	options->repeat_given = true;
	return NULL;
}

static struct error *parse_milliseconds(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t *ret = field;

	if (!number_parse_u64(argument, ret) || *ret > 1u << 31)
		return error_new_kind(ERROR_USAGE, "invalid number of milliseconds '%s'", argument);
	if (*ret < 10 && !strcmp(option->long_name, "timeout"))
		return error_new_kind(ERROR_USAGE, "at least 10 milliseconds");
	if (!*ret)
		return error_new_kind(ERROR_USAGE, "at least 1 millisecond");
	return NULL;
}

static struct error *parse_separator(const struct option *option, const char *argument, bool negated, void *field)
{
	struct stat_display *display = field;

	display->separator = strcmp(argument, "\\t") ? argument : "\t";
	display->format = "csv";
	return NULL;
}

static struct error *parse_json(const struct option *option, const char *argument, bool negated, void *field)
{
	*(const char **)field = negated ? NULL : "json";
	return NULL;
}

static struct error *parse_metrics(const struct option *option, const char *argument, bool negated, void *field)
{
	struct stat_options *options = field;

	vec_push(&options->metric_words, argument);
	return NULL;
}

/* Options of the kernel's tool that cannot be had: each says what to use instead. */
static struct error *refuse(const struct option *option, const char *argument, bool negated, void *field)
{
	static const struct {
		const char *name, *instead;
	} refusals[] = {
		{"iostat", "I/O bandwidth of PCIe ports (IIO counters of Intel Xeon servers) is not supported. For block devices:  "
			   "perf stat -e 'block:*' -a"},
		{"record-tpebs",
		 "latencies of instructions' retirement come from timed PEBS of Intel processors since Granite Rapids, which "
		 "is not supported; on them, 'perf record -W' samples latencies"},
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (!negated && !strcmp(option->long_name, refusals[i].name))
			return error_new_kind(ERROR_UNSUPPORTED, "%s", refusals[i].instead);
	return NULL;
}

/* It does not ask for --topdown by itself, as it does not in the kernel's tool. */
static struct error *parse_topdown_level(const struct option *option, const char *argument, bool negated, void *field)
{
	uint32_t level;

	if (!number_parse_u32(argument, &level))
		return error_new_kind(ERROR_USAGE, "invalid level '%s': --topdown has levels 1 and 2", argument);
	if (level > TOPDOWN_LEVELS)
		return error_new_kind(ERROR_UNSUPPORTED, "--topdown supports levels 1 and 2 only");
	*(uint32_t *)field = level;
	return NULL;
}

static struct error *set_per(struct stat_display *display, enum stat_per per, bool negated)
{
	display->per = negated ? STAT_PER_ALL : per;
	display->per_given = true;
	return NULL;
}

#define PER(function, place)                                                                                        \
	static struct error *function(const struct option *option, const char *argument, bool negated, void *field) \
	{                                                                                                           \
		return set_per(field, place, negated);                                                              \
	}
PER(parse_per_cpu, STAT_PER_CPU)
PER(parse_per_socket, STAT_PER_SOCKET)
PER(parse_per_die, STAT_PER_DIE)
PER(parse_per_cluster, STAT_PER_CLUSTER)
PER(parse_per_core, STAT_PER_CORE)
PER(parse_per_node, STAT_PER_NODE)
PER(parse_per_thread, STAT_PER_THREAD)

static struct error *parse_per_cache(const struct option *option, const char *argument, bool negated, void *field)
{
	struct stat_display *display = field;
	const char *digits = argument && (*argument == 'l' || *argument == 'L') ? argument + 1 : argument;
	uint32_t level = 0;

	if (digits && (!number_parse_u32(digits, &level) || level < 1 || level > 9))
		return error_new_kind(ERROR_USAGE, "invalid cache level '%s': expected a level such as L2", argument);
	display->cache_level = (int)level;
	return set_per(display, STAT_PER_CACHE, negated);
}

#define O struct stat_options
#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)

/* How counts are shown; the field is a struct stat_display. */
const struct option stat_display_group[] = {
	OPTION_HEADING("Aggregation"),
	OPTION_WHOLE('A', "no-aggr", NULL, "do not aggregate; count per CPU (with -a or -C)", parse_per_cpu, OPTION_NO_ARGUMENT),
	OPTION_WHOLE(0, "per-socket", NULL, "aggregate by socket", parse_per_socket, OPTION_NO_ARGUMENT),
	OPTION_WHOLE(0, "per-die", NULL, "aggregate by die", parse_per_die, OPTION_NO_ARGUMENT),
	OPTION_WHOLE(0, "per-cluster", NULL, "aggregate by cluster of cores", parse_per_cluster, OPTION_NO_ARGUMENT),
	OPTION_WHOLE(0, "per-cache", "LEVEL", "aggregate by shared cache of this level (L2, L3 …; default: the last level)",
		     parse_per_cache, OPTION_OPTIONAL_ARGUMENT),
	OPTION_WHOLE(0, "per-core", NULL, "aggregate by core", parse_per_core, OPTION_NO_ARGUMENT),
	OPTION_WHOLE(0, "per-node", NULL, "aggregate by memory node", parse_per_node, OPTION_NO_ARGUMENT),
	OPTION_FLAG(0, "percore-show-thread", struct stat_display, percore_threads,
		    "with -A and the event term percore: show the sum of the core for each of its CPUs"),
	OPTION_WHOLE(0, "per-thread", NULL, "aggregate by thread (with -p, -t, -u or -a)", parse_per_thread, OPTION_NO_ARGUMENT),
	OPTION_FLAG(0, "no-merge", struct stat_display, no_merge, "do not merge the counts of several PMUs of one kind (uncore)"),
	OPTION_FLAG(0, "hybrid-merge", struct stat_display, merge_cores, "merge the counts of an event on several core types"),

	OPTION_HEADING("Output"),
	OPTION_WHOLE('x', "field-separator", "SEPARATOR", "machine-readable output with this field separator", parse_separator,
		     OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('j', "json-output", struct stat_display, format, NULL, "JSON output, one object per line", parse_json,
			    OPTION_NO_ARGUMENT),
	OPTION_STRING('o', "output", struct stat_display, output, "FILE", "write to this file"),
	OPTION_FLAG(0, "append", struct stat_display, append, "with -o: append to the file"),
	OPTION_INT(0, "log-fd", struct stat_display, log_fd, "N", "write to this file descriptor"),
	OPTION_FLAG(0, "no-csv-summary", struct stat_display, no_csv_summary,
		    "with --summary and -x: do not mark the lines of the summary"),
	OPTION_FLAG_INVERTED(0, "advice", struct stat_display, no_advice, "print advice on the results (default; --no-advice: none)"),
	OPTION_FLAG(0, "table", struct stat_display, table, "with -r: show the time of each run"),
	OPTION_FLAG_INVERTED('B', "big-num", struct stat_display, ungrouped,
			     "group thousands as the locale does (LC_NUMERIC; default; --no-big-num: do not)"),
	OPTION_FLAG(0, "skip-empty", struct stat_display, skip_empty, "omit events with a count of 0"),
	OPTION_FLAG(0, "metric-only", struct stat_display, metric_only, "show only metrics, no counts"),
	OPTION_FLAG(0, "interval-clear", struct stat_display, interval_clear, "with -I: clear the screen before each interval"),
	OPTION_END,
};

const struct option stat_option_table[] = {
	OPTION_HEADING("Targets and runs"),
	OPTION_GROUP(targets_group, O, targets),
	OPTION_FLAG('i', "no-inherit", O, no_inherit, "do not follow child processes and new threads"),
	OPTION_STRING('b', "bpf-prog", O, bpf_programs, "IDS", "count only while these BPF programs run (ids as in 'bpftool prog')"),
	OPTION_FLAG(0, "bpf-counters", O, bpf_task_counters,
		    "count with one counter per CPU and a BPF program that adds up by task, instead of one counter per task (Linux "
		    "5.13, root)"),
	OPTION_STRING(0, "bpf-attr-map", O, attribute_map, "PATH",
		      "for old command lines: counters are not shared with other processes, and no such map is needed"),
	CUSTOM('D', "delay", delay_ms, "MS", "start counting MS milliseconds after the command; -1: on 'enable' from --control",
	       parse_delay),
	CUSTOM(0, "timeout", timeout_ms, "MS", "stop after this time", parse_milliseconds),
	OPTION_WHOLE('r', "repeat", "N", "run the command N times and show means and deviations; 0: repeat until Ctrl-C", parse_repeat,
		     OPTION_NO_NEGATION),
	OPTION_FLAG('S', "sync", O, sync, "call sync() before each run"),
	OPTION_STRING(0, "pre", O, pre, "COMMAND", "run this command before each run"),
	OPTION_STRING(0, "post", O, post, "COMMAND", "run this command after each run"),
	OPTION_STRING(0, "control", O, control, "CHANNEL", "read commands (enable, disable, stop, ping) from fd:IN[,OUT] or fifo:IN[,OUT]"),

	OPTION_HEADING("Events"),
	CUSTOM('e', "event", words, "EVENT", "events to count: cycles, page-faults, 'syscalls:*', …; may be repeated",
	       event_words_parse_event),
	OPTION_COUNT('d', "detailed", O, detailed, "also count cache events (-dd: more of them, -ddd: prefetches)"),
	CUSTOM(0, "pfm-events", words, "EVENT", "events by their libpfm4 names ('perf list pfm'), with their modifiers and groups {…}",
	       event_words_parse_pfm),
	OPTION_STRING(0, "cputype", O, cputype, "KIND", "on hybrid machines: only events of this core type (core, atom)"),
	CUSTOM(0, "filter", words, "FILTER", "filter on the fields of the preceding tracepoints", event_words_parse_filter),
	CUSTOM('G', "cgroup", words, "NAMES", "only tasks in this control group: one for each preceding event, or one for all",
	       event_words_parse_cgroup),
	OPTION_STRING(0, "for-each-cgroup", O, for_each_cgroup, "NAMES",
		      "count all events in each of these control groups (names or an expression)"),
	OPTION_FLAG(0, "all-kernel", O, all_kernel, "measure kernel space only"),
	OPTION_FLAG(0, "all-user", O, all_user, "measure user space only"),
	OPTION_FLAG('n', "null", O, null_run, "use no counters: measure only the time"),
	OPTION_FLAG('g', "group", O, group, "put all events into one group: counted together or not at all"),
	OPTION_FLAG_INVERTED('c', "scale", O, no_scale, "scale counters that ran only part of the time (default; --no-scale: raw counts)"),
	OPTION_FLAG('T', "transaction", O, transaction, "count hardware transactions (Intel TSX)"),

	OPTION_HEADING("Metrics"),
	OPTION_WHOLE('M', "metrics", "METRICS",
		     "compute these metrics or groups of metrics (comma-separated); 'perf list metric' lists them", parse_metrics,
		     OPTION_NO_NEGATION),
	OPTION_FLAG(0, "metric-no-group", O, metrics.no_group, "do not put the events of a metric into a group"),
	OPTION_FLAG(0, "metric-no-merge", O, metrics.no_merge, "do not share events between metrics"),
	OPTION_FLAG(0, "metric-no-threshold", O, metrics.no_threshold, "do not highlight metrics"),
	OPTION_FLAG(0, "topdown", O, topdown, "top-down analysis of the processor's slots: retiring, bad speculation, front end, back end"),
	CUSTOM(0, "td-level", topdown_level, "N", "with --topdown: level 1 (default) or 2 (more detail)", parse_topdown_level),
	OPTION_FLAG(0, "smi-cost", O, smi_cost, "measure the cost of system management interrupts; counters are frozen during them"),
	{OPTION_KIND_CUSTOM, 0, "iostat", 0, "PORTS", "", refuse, NULL, OPTION_HIDDEN | OPTION_OPTIONAL_ARGUMENT},
	{OPTION_KIND_CUSTOM, 0, "record-tpebs", 0, NULL, "", refuse, NULL, OPTION_HIDDEN | OPTION_NO_ARGUMENT},

	OPTION_HEADING("Intervals"),
	CUSTOM('I', "interval-print", interval_ms, "MS", "print counts every MS milliseconds", parse_milliseconds),
	OPTION_U64(0, "interval-count", O, interval_count, "N", "with -I: stop after N intervals"),
	OPTION_FLAG(0, "summary", O, summary, "with -I: print the totals at the end"),
	OPTION_GROUP(stat_display_group, O, display),
	OPTION_GROUP(output_option_group, O, verbosity),
	OPTION_END,
};

void stat_options_init(struct stat_options *options)
{
	*options = (struct stat_options){.repeat = 1, .display.log_fd = -1};
}

struct error *stat_display_check(const struct stat_display *display)
{
	if (display->output && display->log_fd >= 0)
		return error_new_kind(ERROR_USAGE, "-o and --log-fd cannot be combined");
	if (display->separator && display->format && strcmp(display->format, "csv") != 0)
		return error_new_kind(ERROR_USAGE, "-x and -j cannot be combined");
	if (display->append && !display->output && display->log_fd < 0)
		return error_new_kind(ERROR_USAGE, "--append needs -o");
	return NULL;
}

static struct error *check_output(const struct stat_options *options)
{
	if (options->interval_count && !options->interval_ms)
		return error_new_kind(ERROR_USAGE, "--interval-count requires -I");
	if (options->display.interval_clear && !options->interval_ms)
		return error_new_kind(ERROR_USAGE, "--interval-clear requires -I");
	if (options->timeout_ms && options->interval_ms)
		return error_new_kind(ERROR_USAGE, "--timeout and -I cannot be combined: use --interval-count");
	if (options->display.table && options->repeat <= 1)
		return error_new_kind(ERROR_USAGE, "--table requires -r");
	return stat_display_check(&options->display);
}

/* What a recording of counts cannot hold. */
static struct error *check_recorded(const struct stat_options *options)
{
	if (!options->recorded)
		return NULL;
	if (options->repeat_given)
		return error_new_kind(ERROR_USAGE, "-r and 'record' cannot be combined: a recording holds one run");
	if (options->null_run)
		return error_new_kind(ERROR_USAGE, "-n and 'record' cannot be combined: nothing would be recorded");
	return NULL;
}

struct error *stat_options_check(struct stat_options *options, bool workload)
{
	if (options->bpf_programs) {
		struct error *error = stat_programs_check(options);
		if (error)
			return error;
		options->targets.system_wide |= !options->targets.cpus;
	}
	if (options->attribute_map)
		log_info("--bpf-attr-map: %s isn't used: no counters are shared with other processes", options->attribute_map);
	targets_settle(&options->targets, workload);
	if (!targets_are_cpus(&options->targets) && options->display.per != STAT_PER_ALL && options->display.per != STAT_PER_THREAD)
		return error_new_kind(ERROR_USAGE, "aggregation by CPU, core, socket … requires -a or -C");
	bool only_workload = workload && !targets_are_tasks(&options->targets) && !options->targets.system_wide;
	if (options->display.per == STAT_PER_THREAD && (only_workload || options->targets.cpus))
		return error_new_kind(ERROR_USAGE, "--per-thread requires -p, -t, -u or -a");
	if (options->repeat_given && !workload)
		return error_new_kind(ERROR_USAGE, "-r requires a command");
	if (options->all_kernel && options->all_user)
		return error_new_kind(ERROR_USAGE, "--all-kernel and --all-user cannot be combined");
	if (options->delay_ms < 0 && !options->control)
		log_warning("-D -1 without --control: nothing will enable the events");
	if (options->for_each_cgroup && !targets_are_cpus(&options->targets))
		return error_new_kind(ERROR_USAGE, "--for-each-cgroup measures control groups on whole CPUs: it requires -a or -C");
	struct error *error = check_recorded(options);
	return error ? error : check_output(options);
}

/* The options of `perf stat`. */
#include "cmd/stat.h"

#include "base/log.h"
#include "base/number.h"

#include <string.h>

static struct error *parse_delay(const struct option *option, const char *argument, bool negated, void *field)
{
	int64_t *ret = field;

	if (!number_parse_s64(argument, ret) || *ret < -1)
		return error_new_kind(ERROR_USAGE, "'%s' is no delay in milliseconds, nor -1 (start disabled)", argument);
	return NULL;
}

static struct error *parse_repeat(const struct option *option, const char *argument, bool negated, void *field)
{
	struct stat_options *options = field;
	uint32_t runs;

	if (!number_parse_u32(argument, &runs) || runs > 1000000)
		return error_new_kind(ERROR_USAGE, "'%s' is no number of runs (0 = until Ctrl-C)", argument);
	options->repeat = (int)runs;
	options->repeat_given = true;
	return NULL;
}

static struct error *parse_milliseconds(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t *ret = field;

	if (!number_parse_u64(argument, ret) || *ret > 1u << 31)
		return error_new_kind(ERROR_USAGE, "'%s' is no number of milliseconds", argument);
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
	display->format = STAT_CSV;
	return NULL;
}

static struct error *parse_json(const struct option *option, const char *argument, bool negated, void *field)
{
	*(enum stat_format *)field = negated ? STAT_TEXT : STAT_JSON;
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
		{"iostat", "I/O bandwidth of PCIe ports needs the IIO counters of Intel Xeon servers, which this tool does not know; block "
			   "devices:  perf stat -e 'block:*' -a"},
		{"bpf-prog", "counting while a BPF program runs needs programs attached to its entry and exit (fentry, fexit; Linux 5.5, BTF), which "
			     "this version does not load; what the program costs as a whole:  sudo sysctl kernel.bpf_stats_enabled=1; bpftool prog"},
		{"bpf-attr-map", "counters shared through a pinned BPF map are not supported; counts kept in the kernel:  --bpf-counters"},
		{"smi-cost", "the cost of system management interrupts needs counters that stop during them (freeze_on_smi of Intel's PMU), which this "
			     "version does not switch; how many there are:  perf stat -a -e msr/smi/"},
		{"td-level", "only the first level of --topdown is known without the vendors' tables"},
		{"record-tpebs", "latencies by timed PEBS need a recorder beside the counters, which this tool does not have"},
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (!negated && !strcmp(option->long_name, refusals[i].name))
			return error_new_kind(ERROR_UNSUPPORTED, "%s", refusals[i].instead);
	return NULL;
}

/* 0 = as deep as known, and 1 is. */
static struct error *parse_topdown_level(const struct option *option, const char *argument, bool negated, void *field)
{
	return !strcmp(argument, "0") || !strcmp(argument, "1") ? NULL : refuse(option, argument, negated, field);
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
		return error_new_kind(ERROR_USAGE, "'%s' is no cache level such as L2", argument);
	display->cache_level = (int)level;
	return set_per(display, STAT_PER_CACHE, negated);
}

#define O struct stat_options
#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)
/* The callback gets the whole structure. */
#define WHOLE(s, l, a, h, p, f)                               \
	{                                                     \
		OPTION_KIND_CUSTOM, s, l, 0, a, h, p, NULL, f \
	}

/* How counts are shown; the field is a struct stat_display. */
const struct option stat_display_group[] = {
	OPTION_HEADING("Kept apart by"),
	WHOLE('A', "no-aggr", NULL, "CPU (with -a or -C)", parse_per_cpu, OPTION_NO_ARGUMENT),
	WHOLE(0, "per-socket", NULL, "socket", parse_per_socket, OPTION_NO_ARGUMENT),
	WHOLE(0, "per-die", NULL, "die", parse_per_die, OPTION_NO_ARGUMENT),
	WHOLE(0, "per-cluster", NULL, "cluster of cores", parse_per_cluster, OPTION_NO_ARGUMENT),
	WHOLE(0, "per-cache", "LEVEL", "shared cache, of this level (L2, L3 …; default: the last)", parse_per_cache, OPTION_OPTIONAL_ARGUMENT),
	WHOLE(0, "per-core", NULL, "core", parse_per_core, OPTION_NO_ARGUMENT),
	WHOLE(0, "per-node", NULL, "memory node", parse_per_node, OPTION_NO_ARGUMENT),
	OPTION_FLAG(0, "percore-show-thread", struct stat_display, percore_threads, "with -A and events with the term percore: each CPU with its core's sum"),
	WHOLE(0, "per-thread", NULL, "thread (with -p, -t, -u or -a)", parse_per_thread, OPTION_NO_ARGUMENT),
	OPTION_FLAG(0, "no-merge", struct stat_display, no_merge, "events of several PMUs that make up one (uncore) one by one"),
	OPTION_FLAG(0, "hybrid-merge", struct stat_display, merge_cores, "the same event of several kinds of cores as one"),

	OPTION_HEADING("Output"),
	WHOLE('x', "field-separator", "SEPARATOR", "fields with this between them, for programs", parse_separator, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('j', "json-output", struct stat_display, format, NULL, "JSON, one object a line", parse_json, OPTION_NO_ARGUMENT),
	OPTION_STRING('o', "output", struct stat_display, output, "FILE", "write to this file"),
	OPTION_FLAG(0, "append", struct stat_display, append, "with -o: to its end"),
	OPTION_INT(0, "log-fd", struct stat_display, log_fd, "N", "write to this descriptor"),
	OPTION_FLAG(0, "no-csv-summary", struct stat_display, no_csv_summary, "with --summary and -x: lines of the summary don't say that they are"),
	OPTION_FLAG_INVERTED(0, "advice", struct stat_display, no_advice, "sentences that read the numbers for you (default; --no-advice: none)"),
	OPTION_FLAG(0, "table", struct stat_display, table, "with -r: the time of each run"),
	OPTION_FLAG_INVERTED('B', "big-num", struct stat_display, ungrouped, "thousands grouped as the locale does it (LC_NUMERIC; the default; --no-big-num: not at all)"),
	OPTION_FLAG(0, "skip-empty", struct stat_display, skip_empty, "no rows of events that were counted 0 times"),
	OPTION_FLAG(0, "metric-only", struct stat_display, metric_only, "only computed figures, no counts"),
	OPTION_FLAG(0, "interval-clear", struct stat_display, interval_clear, "with -I: clear the screen before each"),
	OPTION_END,
};

const struct option stat_option_table[] = {
	OPTION_HEADING("What is measured"),
	OPTION_GROUP(targets_group, O, targets),
	OPTION_FLAG('i', "no-inherit", O, no_inherit, "do not follow children and new threads"),
	OPTION_FLAG(0, "bpf-counters", O, bpf_counters,
		    "counts of tasks are kept by a BPF program from one counter for each CPU, not one for each task (Linux 5.13, root)"),
	CUSTOM('D', "delay", delay_ms, "MS", "start to count so many milliseconds after the command; -1: when --control says enable",
	       parse_delay),
	CUSTOM(0, "timeout", timeout_ms, "MS", "stop after this time", parse_milliseconds),
	WHOLE('r', "repeat", "N", "run the command N times, show means and deviations; 0: again and again, until Ctrl-C", parse_repeat,
	      OPTION_NO_NEGATION),
	OPTION_FLAG('S', "sync", O, sync, "write out the file systems before each run (sync)"),
	OPTION_STRING(0, "pre", O, pre, "COMMAND", "run this before each run"),
	OPTION_STRING(0, "post", O, post, "COMMAND", "run this after each run"),
	OPTION_STRING(0, "control", O, control, "CHANNEL", "take commands (enable, disable, stop, ping) from fd:IN[,OUT] or fifo:IN[,OUT]"),

	OPTION_HEADING("Events"),
	CUSTOM('e', "event", words, "EVENT", "what to count: cycles, page-faults, 'syscalls:*', …; repeatable", event_words_parse_event),
	OPTION_COUNT('d', "detailed", O, detailed, "also the caches (-dd: more of them, -ddd: prefetches)"),
	CUSTOM(0, "pfm-events", words, "EVENT", "the same by the names of libpfm4 (perf list pfm), with its modifiers and in groups {…}",
	       event_words_parse_pfm),
	OPTION_STRING(0, "cputype", O, cputype, "KIND", "events of this kind of cores only, where there are several (core, atom)"),
	CUSTOM(0, "filter", words, "FILTER", "condition on the fields of the tracepoints named before it", event_words_parse_filter),
	CUSTOM('G', "cgroup", words, "NAMES", "only what runs in this control group: one for each event named before it, or one for all",
	       event_words_parse_cgroup),
	OPTION_STRING(0, "for-each-cgroup", O, for_each_cgroup, "NAMES", "all events in each of these control groups (names or an expression)"),
	OPTION_FLAG(0, "all-kernel", O, all_kernel, "only the kernel's part"),
	OPTION_FLAG(0, "all-user", O, all_user, "only the programs' part"),
	OPTION_FLAG('n', "null", O, null_run, "no counters: only the time"),
	OPTION_FLAG('g', "group", O, group, "all events in one group: counted at the same time or not at all"),
	OPTION_FLAG_INVERTED('c', "scale", O, no_scale, "scale counters that ran only part of the time (default; --no-scale: raw)"),
	OPTION_FLAG('T', "transaction", O, transaction, "hardware transactions (Intel TSX)"),

	OPTION_HEADING("Metrics"),
	WHOLE('M', "metrics", "METRICS", "compute these metrics or groups of metrics (comma-separated); 'perf list metric' lists them", parse_metrics,
	      OPTION_NO_NEGATION),
	OPTION_FLAG(0, "metric-no-group", O, metrics.no_group, "do not count the events of a metric at the same time"),
	OPTION_FLAG(0, "metric-no-merge", O, metrics.no_merge, "metrics don't share events"),
	OPTION_FLAG(0, "metric-no-threshold", O, metrics.no_threshold, "do not mark metrics that are worth looking at"),
	OPTION_FLAG(0, "topdown", O, topdown, "where the processor's slots go: retiring, bad speculation, front end, back end"),
	{OPTION_KIND_CUSTOM, 0, "iostat", 0, "PORTS", "", refuse, NULL, OPTION_HIDDEN | OPTION_OPTIONAL_ARGUMENT},
	{OPTION_KIND_CUSTOM, 0, "smi-cost", 0, NULL, "", refuse, NULL, OPTION_HIDDEN | OPTION_NO_ARGUMENT},
	{OPTION_KIND_CUSTOM, 'b', "bpf-prog", 0, "ID", "", refuse, NULL, OPTION_HIDDEN},
	{OPTION_KIND_CUSTOM, 0, "bpf-attr-map", 0, "PATH", "", refuse, NULL, OPTION_HIDDEN},
	{OPTION_KIND_CUSTOM, 0, "td-level", 0, "N", "", parse_topdown_level, NULL, OPTION_HIDDEN},
	{OPTION_KIND_CUSTOM, 0, "record-tpebs", 0, NULL, "", refuse, NULL, OPTION_HIDDEN | OPTION_NO_ARGUMENT},

	OPTION_HEADING("Intervals"),
	CUSTOM('I', "interval-print", interval_ms, "MS", "print what was counted every so many milliseconds", parse_milliseconds),
	OPTION_U64(0, "interval-count", O, interval_count, "N", "with -I: stop after N intervals"),
	OPTION_FLAG(0, "summary", O, summary, "with -I: the whole at the end"),
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
		return error_new_kind(ERROR_USAGE, "-o and --log-fd exclude each other");
	if (display->separator && display->format == STAT_JSON)
		return error_new_kind(ERROR_USAGE, "-x and -j exclude each other");
	if (display->append && !display->output && display->log_fd < 0)
		return error_new_kind(ERROR_USAGE, "--append needs -o");
	return NULL;
}

static struct error *check_output(const struct stat_options *options)
{
	if (options->interval_count && !options->interval_ms)
		return error_new_kind(ERROR_USAGE, "--interval-count needs -I");
	if (options->display.interval_clear && !options->interval_ms)
		return error_new_kind(ERROR_USAGE, "--interval-clear needs -I");
	if (options->timeout_ms && options->interval_ms)
		return error_new_kind(ERROR_USAGE, "--timeout and -I exclude each other: use --interval-count");
	if (options->display.table && options->repeat <= 1)
		return error_new_kind(ERROR_USAGE, "--table shows each of several runs: it needs -r");
	return stat_display_check(&options->display);
}

/* What a recording of counts cannot hold. */
static struct error *check_recorded(const struct stat_options *options)
{
	if (!options->recorded)
		return NULL;
	if (options->repeat_given)
		return error_new_kind(ERROR_USAGE, "-r repeats a command, and a recording holds one run");
	if (options->null_run)
		return error_new_kind(ERROR_USAGE, "-n counts nothing that could be recorded");
	return NULL;
}

struct error *stat_options_check(struct stat_options *options, bool workload)
{
	targets_settle(&options->targets, workload);
	if (!targets_are_cpus(&options->targets) && options->display.per != STAT_PER_ALL && options->display.per != STAT_PER_THREAD)
		return error_new_kind(ERROR_USAGE, "counts can be kept apart by CPU, core, socket … only of whole CPUs: add -a or -C");
	bool only_workload = workload && !targets_are_tasks(&options->targets) && !options->targets.system_wide;
	if (options->display.per == STAT_PER_THREAD && (only_workload || options->targets.cpus))
		return error_new_kind(ERROR_USAGE, "--per-thread needs -p, -t, -u or -a");
	if (options->repeat_given && !workload)
		return error_new_kind(ERROR_USAGE, "-r repeats a command, and there is none");
	if (options->all_kernel && options->all_user)
		return error_new_kind(ERROR_USAGE, "--all-kernel and --all-user exclude each other");
	if (options->delay_ms < 0 && !options->control)
		log_warning("-D -1 without --control: nothing will enable the events");
	if (options->for_each_cgroup && !targets_are_cpus(&options->targets))
		return error_new_kind(ERROR_USAGE, "--for-each-cgroup measures control groups on whole CPUs: it needs -a or -C");
	struct error *error = check_recorded(options);
	return error ? error : check_output(options);
}

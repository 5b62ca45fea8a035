/* The options of `perf record`. */
#include "cmd/record.h"

#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "kernel/cpus.h"
#include "kernel/limits.h"
#include "kernel/mend.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct error *parse_freq(const struct option *option, const char *argument, bool negated, void *field)
{
	struct record_options *options = field;

	options->sampling.freq_given = true;
	if (!strcasecmp(argument, "max")) {
		options->max_freq = true;
		return NULL;
	}
	options->max_freq = false;
	if (!number_parse_u64(argument, &options->sampling.freq))
		return error_new_kind(ERROR_USAGE, "'%s' is no frequency in Hz, nor 'max'", argument);
	return NULL;
}

static struct error *parse_count(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t *period = field;

	if (!number_parse_u64(argument, period) || !*period)
		return error_new_kind(ERROR_USAGE, "'%s' is no number of events from 1 on", argument);
	return NULL;
}

static struct error *parse_no_inherit(const struct option *option, const char *argument, bool negated, void *field)
{
	struct record_options *options = field;

	options->sampling.no_inherit = !negated;
	options->no_inherit_given = true;
	return NULL;
}

/* -g alone: the mode of the configuration, else frame pointers. */
static struct error *configured_callgraph(struct sampling *sampling)
{
	struct config config = {0};
	struct error *error = config_open(&config);
	const char *mode = config_get(&config, "call-graph.record-mode");
	const char *size = config_get(&config, "call-graph.dump-size");
	if (!error && mode) {
		cleanup_free char *text =
			mem_printf("%s%s%s", mode, size && !strcmp(mode, "dwarf") ? "," : "", size && !strcmp(mode, "dwarf") ? size : "");
		error = error_wrap(sampling_parse_callgraph(text, sampling), "configuration: call-graph.record-mode");
	} else {
		sampling->callgraph = CALLGRAPH_FP;
	}
	config_close(&config);
	return error;
}

static struct error *parse_g(const struct option *option, const char *argument, bool negated, void *field)
{
	struct sampling *sampling = field;

	if (negated)
		sampling->callgraph = CALLGRAPH_NONE;
	else if (sampling->callgraph == CALLGRAPH_UNSET || sampling->callgraph == CALLGRAPH_NONE)
		return configured_callgraph(sampling);
	return NULL;
}

static struct error *parse_callgraph(const struct option *option, const char *argument, bool negated, void *field)
{
	struct sampling *sampling = field;

	if (!negated)
		return sampling_parse_callgraph(argument, sampling);
	sampling->callgraph = CALLGRAPH_NONE;
	return NULL;
}

static struct error *parse_branch_any(const struct option *option, const char *argument, bool negated, void *field)
{
	*(uint64_t *)field = PERF_SAMPLE_BRANCH_ANY;
	return NULL;
}

static struct error *parse_branch(const struct option *option, const char *argument, bool negated, void *field)
{
	return sampling_parse_branch(argument, field);
}

static struct error *parse_regs(const struct option *option, const char *argument, bool negated, void *field)
{
	if (argument)
		return sampling_parse_regs(argument, field);
	*(uint64_t *)field = sampling_unwind_regs();
	return NULL;
}

static struct error *parse_period_bit(const struct option *option, const char *argument, bool negated, void *field)
{
	*(enum event_choice *)field = negated ? EVENT_NO : EVENT_YES;
	return NULL;
}

static struct error *parse_timestamp(const struct option *option, const char *argument, bool negated, void *field)
{
	struct sampling *sampling = field;

	sampling->time = !negated;
	sampling->no_time = negated;
	return NULL;
}

/* "16" pages, "64K", "1M"; the kernel wants a power of two. */
static struct error *parse_pages(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t pages, page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t *ret = field;

	if (strchr(argument, ','))
		return error_new_kind(ERROR_USAGE, "'%s': what is behind the comma is for hardware trace, which isn't recorded; leave it out", argument);
	if (!number_parse_u64(argument, &pages)) {
		if (!number_parse_size(argument, &pages))
			return error_new_kind(ERROR_USAGE, "'%s' is no number of pages, nor a size such as 512K", argument);
		pages = (pages + page - 1) / page;
	}
	if (!pages || pages > (1ull << 40) / page)
		return error_new_kind(ERROR_USAGE, "'%s': at least one page, at most 1T", argument);
	for (*ret = 1; *ret < pages;)
		*ret *= 2;
	if (*ret != pages)
		log_info("rounded up to %zu pages", *ret);
	return NULL;
}

static struct error *parse_size(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t *ret = field;

	if (negated)
		*ret = 0;
	else if (!number_parse_size(argument, ret) || !*ret)
		return error_new_kind(ERROR_USAGE, "'%s' is no size such as 512K, 10M or 1G", argument);
	return NULL;
}

static struct error *parse_compression(const struct option *option, const char *argument, bool negated, void *field)
{
	enum { LEVEL_MAX = 22 };
	uint32_t level = 1;

	if (negated)
		level = 0;
	else if (argument && !number_parse_u32(argument, &level))
		return error_new_kind(ERROR_USAGE, "'%s' is not a compression level (0 to %d)", argument, LEVEL_MAX);
	if (level > LEVEL_MAX) {
		log_warning("-z %s: %d is the highest compression level and is used", argument, LEVEL_MAX);
		level = LEVEL_MAX;
	}
	*(int *)field = (int)level;
	return NULL;
}

/* "10-20,30-40": each later than the one before it. */
static bool parse_ranges(const char *text, struct recorder_options *options)
{
	uint64_t last = 0;

	for (;;) {
		unsigned long long on, off;
		int used = 0;
		if (!isdigit((unsigned char)*text) || sscanf(text, "%llu-%llu%n", &on, &off, &used) != 2 || on < last || off <= on || off > UINT32_MAX)
			return false;
		vec_push(&options->edges_ms, on);
		vec_push(&options->edges_ms, off);
		last = off;
		text += used;
		if (!*text)
			return true;
		if (*text++ != ',')
			return false;
	}
}

static struct error *parse_delay(const struct option *option, const char *argument, bool negated, void *field)
{
	struct recorder_options *options = field;
	int64_t delay;

	options->edges_ms.len = 0;
	options->start_disabled = true;
	if (number_parse_s64(argument, &delay) && delay >= -1 && delay <= UINT32_MAX) {
		options->start_disabled = delay != 0;
		if (delay > 0)
			vec_push(&options->edges_ms, (uint64_t)delay);
		return NULL;
	}
	if (!parse_ranges(argument, options))
		return error_new_kind(ERROR_USAGE, "'%s' is no delay in milliseconds, nor ranges such as 10-20,30-40, nor -1 (start disabled)", argument);
	return NULL;
}

/* One thread for each core, package or node. */
static void add_units(struct recorder_options *options, enum cpus_unit unit)
{
	int *cpus;
	size_t count;
	cpu_set_t done;

	CPU_ZERO(&done);
	cpus_online(&cpus, &count);
	for (size_t i = 0; i < count; i++) {
		struct recorder_place place = {0};
		if (CPU_ISSET((size_t)cpus[i], &done))
			continue;
		cpus_mates(cpus[i], unit, &place.cpus);
		CPU_OR(&done, &done, &place.cpus);
		place.affinity = place.cpus;
		vec_push(&options->places, place);
	}
	free(cpus);
}

static bool parse_cpu_set(const char *text, size_t length, cpu_set_t *ret)
{
	char copy[4096];
	int *cpus;
	size_t count;

	snprintf(copy, sizeof(copy), "%.*s", (int)length, text);
	if (length >= sizeof(copy) || !number_parse_list(copy, &cpus, &count))
		return false;
	CPU_ZERO(ret);
	for (size_t i = 0; i < count; i++)
		if (cpus[i] < CPU_SETSIZE)
			CPU_SET((size_t)cpus[i], ret);
	free(cpus);
	return count > 0;
}

/* "0,2-4/2-4:1,5-7/5-7": the CPUs whose buffers a thread reads, and those it may run on. */
static bool parse_places(const char *text, struct recorder_options *options)
{
	cpu_set_t all, both;

	CPU_ZERO(&all);
	for (const char *end; *text; text = *end ? end + 1 : end) {
		const char *slash = strchr(text, '/');
		struct recorder_place place;
		end = text + strcspn(text, ":");
		if (!slash || slash > end || !parse_cpu_set(text, (size_t)(slash - text), &place.cpus) ||
		    !parse_cpu_set(slash + 1, (size_t)(end - slash - 1), &place.affinity))
			return false;
		CPU_AND(&both, &all, &place.cpus);
		if (CPU_COUNT(&both))
			return false;
		CPU_OR(&all, &all, &place.cpus);
		vec_push(&options->places, place);
	}
	return options->places.len > 0;
}

static struct error *parse_threads(const struct option *option, const char *argument, bool negated, void *field)
{
	static const struct {
		const char *name;
		enum cpus_unit unit;
	} units[] = {{"cpu", CPUS_SINGLE}, {"core", CPUS_OF_CORE}, {"package", CPUS_OF_PACKAGE}, {"numa", CPUS_OF_NODE}};
	struct recorder_options *options = field;

	options->places.len = 0;
	if (negated)
		return NULL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(argument ? argument : "cpu", units[i].name)) {
			add_units(options, units[i].unit);
			return NULL;
		}
	if (!parse_places(argument, options))
		return error_new_kind(ERROR_USAGE, "'%s': cpu, core, package, numa, or for each thread CPUs/AFFINITY as in 0-3/0-3:4-7/4-7, no CPU twice",
				      argument);
	return NULL;
}

static struct error *parse_aio(const struct option *option, const char *argument, bool negated, void *field)
{
	enum { BLOCKS_MAX = 4 };
	uint32_t blocks = 1;

	if (!negated && argument && (!number_parse_u32(argument, &blocks) || !blocks || blocks > BLOCKS_MAX))
		return error_new_kind(ERROR_USAGE, "'%s' is no number from 1 to %d", argument, BLOCKS_MAX);
	*(unsigned int *)field = negated ? 0 : blocks;
	return NULL;
}

static struct error *parse_affinity(const struct option *option, const char *argument, bool negated, void *field)
{
	bool node = !strcmp(argument, "node");

	if (!node && strcmp(argument, "cpu"))
		return error_new_kind(ERROR_USAGE, "'%s': node or cpu", argument);
	*(enum recorder_affinity *)field = node ? AFFINITY_NODE : AFFINITY_CPU;
	return NULL;
}

static struct error *parse_switch_output(const struct option *option, const char *argument, bool negated, void *field)
{
	struct recorder_options *options = field;

	options->switch_output = !negated;
	options->switch_size = options->switch_time_ns = 0;
	if (negated || !argument || !strcmp(argument, "signal"))
		return NULL;
	size_t length = strlen(argument);
	const char *units = "smhd";
	const char *unit = length > 1 ? strchr(units, argument[length - 1]) : NULL;
	char number[32];
	uint64_t value;
	static const uint64_t seconds[] = {1, 60, 3600, 86400};
	if (unit && *unit && length < sizeof(number)) {
		snprintf(number, sizeof(number), "%.*s", (int)length - 1, argument);
		if (number_parse_u64(number, &value) && value) {
			options->switch_time_ns = value * seconds[unit - units] * 1000000000u;
			return NULL;
		}
	} else if (number_parse_size(argument, &value) && value) {
		options->switch_size = value;
		return NULL;
	}
	return error_new_kind(ERROR_USAGE, "'%s': signal, a size (BKMG behind it) or a time (smhd behind it)", argument);
}

static struct error *parse_switch_event(const struct option *option, const char *argument, bool negated, void *field)
{
	struct record_options *options = (struct record_options *)((char *)field - offsetof(struct record_options, switch_event));

	options->switch_event = argument;
	options->recorder.switch_output = true;
	return NULL;
}

static struct error *parse_clock(const struct option *option, const char *argument, bool negated, void *field)
{
	struct sampling *sampling = field;

	sampling->clockid_given = !negated;
	return negated ? NULL : sampling_parse_clock(argument, &sampling->clockid);
}

static struct error *parse_synth(const struct option *option, const char *argument, bool negated, void *field)
{
	struct recorder_options *options = field;
	bool all = !strcmp(argument, "all"), none = !strcmp(argument, "no");

	if (!all && !none && strcmp(argument, "task") && strcmp(argument, "mmap") && strcmp(argument, "cgroup"))
		return error_new_kind(ERROR_USAGE, "'%s': no, all, task, mmap or cgroup", argument);
	options->synthesize_tasks = !none && strcmp(argument, "cgroup");
	options->synthesize_cgroups = all || !strcmp(argument, "cgroup");
	return NULL;
}

#define NO_AUX "hardware trace (AUX areas) isn't recorded; use -b for branches, or --overwrite to keep the newest records"
#define NO_BPF_SOURCE "events that are BPF programs in C aren't compiled; use tracepoints with --filter"
#define O struct record_options
#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)
#define NEGATABLE(s, l, field, a, h, p) OPTION_CUSTOM(s, l, O, field, a, h, p)
#define OPTIONAL(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_OPTIONAL_ARGUMENT)
/* The callback gets the whole structure. */
#define WHOLE(s, l, a, h, p, f)                               \
	{                                                     \
		OPTION_KIND_CUSTOM, s, l, 0, a, h, p, NULL, f \
	}

const struct option record_option_table[] = {
	OPTION_HEADING("What is measured"),
	OPTION_GROUP(targets_group, O, targets),
	WHOLE('i', "no-inherit", NULL, "do not follow children and new threads", parse_no_inherit, OPTION_NO_ARGUMENT),
	OPTION_FLAG(0, "per-thread", O, sampling.per_thread, "one buffer for each thread instead of each CPU"),
	CUSTOM('D', "delay", recorder, "MS",
	       "start to measure so many milliseconds after the command; 10-20,30-40: only then; -1: when --control says enable", parse_delay),

	OPTION_HEADING("Events"),
	CUSTOM('e', "event", words, "EVENT", "what to sample: cycles, cpu-clock:u, sched:sched_switch, …; repeatable",
	       event_words_parse_event),
	CUSTOM(0, "pfm-events", words, "EVENT", "the same by the names of libpfm4 (perf list pfm), with its modifiers and in groups {…}",
	       event_words_parse_pfm),
	CUSTOM(0, "filter", words, "FILTER",
	       "condition on the fields of the tracepoints named before it, or on the samples of other events (ip, pid, uid, period, …)",
	       event_words_parse_sample_filter),
	OPTION_CUSTOM_FLAGS(0, "exclude-perf", O, words, NULL, "do not record perf itself (tracepoints named before it)",
			    event_words_parse_exclude_perf, OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	CUSTOM('G', "cgroup", words, "NAMES", "only what runs in this control group: one for each event named before it, or one for all",
	       event_words_parse_cgroup),
	WHOLE('F', "freq", "HZ", "samples a second, or 'max' (default 4000)", parse_freq, OPTION_NO_NEGATION),
	OPTION_FLAG(0, "strict-freq", O, strict_freq, "fail when -F is more than the kernel allows"),
	OPTION_FLAG(0, "group", O, sampling.group, "all events as one group: counted together or not at all"),
	CUSTOM('c', "count", sampling.period, "N", "a sample every N events, instead of -F", parse_count),
	OPTION_FLAG(0, "all-kernel", O, sampling.all_kernel, "only the kernel's part"),
	OPTION_FLAG(0, "all-user", O, sampling.all_user, "only the programs' part"),

	OPTION_HEADING("What a sample holds"),
	OPTION_CUSTOM_FLAGS('g', NULL, O, sampling, NULL, "call chains by frame pointers", parse_g, OPTION_NO_ARGUMENT),
	NEGATABLE(0, "call-graph", sampling, "MODE", "call chains: fp, dwarf[,BYTES] (copies the stack; dwarf,auto: as much as it needs), lbr", parse_callgraph),
	OPTION_FLAG(0, "kernel-callchains", O, sampling.kernel_callchains, "only the kernel's part of call chains"),
	OPTION_FLAG(0, "user-callchains", O, sampling.user_callchains, "only the program's part of call chains"),
	OPTION_CUSTOM_FLAGS('b', "branch-any", O, sampling.branch_type, NULL, "the last taken branches, of any kind", parse_branch_any,
			    OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	CUSTOM('j', "branch-filter", sampling.branch_type, "KINDS", "the last taken branches: any, any_call, u, k, …", parse_branch),
	OPTION_FLAG('d', "data", O, sampling.address, "data addresses"),
	OPTION_FLAG(0, "phys-data", O, sampling.phys_address, "physical data addresses"),
	{OPTION_KIND_FLAG, 0, "phys-addr", offsetof(O, sampling.phys_address), NULL, "the same", NULL, NULL, OPTION_HIDDEN},
	OPTION_FLAG(0, "data-page-size", O, sampling.data_page_size, "page sizes of data addresses"),
	OPTION_FLAG(0, "code-page-size", O, sampling.code_page_size, "page sizes of code addresses"),
	OPTION_FLAG('W', "weight", O, sampling.weight, "weights (latencies), where the event has them"),
	OPTION_FLAG(0, "transaction", O, sampling.transaction, "transaction flags"),
	OPTIONAL('I', "intr-regs", sampling.intr_regs, "REGS", "registers at the interrupt, all or these (ax,ip,…)", parse_regs),
	OPTIONAL(0, "user-regs", sampling.user_regs, "REGS", "registers of the program, all or these", parse_regs),
	OPTION_CUSTOM_FLAGS('P', "period", O, sampling.period_bit, NULL, "the period of each sample", parse_period_bit, OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS('T', "timestamp", O, sampling, NULL, "time stamps", parse_timestamp, OPTION_NO_ARGUMENT),
	OPTION_FLAG(0, "sample-cpu", O, sampling.cpu, "the CPU"),
	OPTION_FLAG(0, "sample-identifier", O, sampling.identifier, "the event's id in front of each record"),
	OPTION_FLAG('R', "raw-samples", O, sampling.raw, "raw data of tracepoints (theirs have it anyway)"),
	OPTION_FLAG('n', "no-samples", O, sampling.no_samples, "no samples at all, only side-band"),
	NEGATABLE('k', "clockid", sampling, "CLOCK", "clock of the time stamps: mono, raw, real, boot, tai", parse_clock),

	OPTION_HEADING("What else is recorded"),
	OPTION_FLAG('s', "stat", O, sampling.thread_counts, "counts for each thread"),
	OPTION_FLAG(0, "running-time", O, sampling.running_time, "how long counters were enabled and running"),
	OPTION_FLAG(0, "switch-events", O, sampling.switch_events, "context switches"),
	OPTION_FLAG(0, "namespaces", O, sampling.namespaces, "namespaces of processes"),
	OPTION_FLAG(0, "all-cgroups", O, sampling.cgroups, "control groups of samples"),
	OPTION_FLAG('B', "no-buildid", O, no_buildid, "do not look for build-ids"),
	OPTION_FLAG('N', "no-buildid-cache", O, no_buildid_cache, "do not keep copies of the recorded programs in ~/.debug"),
	OPTION_FLAG(0, "buildid-all", O, buildid_all, "build-ids of all files, not only of those that samples hit"),
	OPTION_FLAG(0, "buildid-mmap", O, sampling.build_id_mmap, "build-ids in the mmap records, and none afterwards"),
	OPTION_FLAG(0, "no-bpf-event", O, sampling.no_bpf_event, "do not record loading of BPF programs"),
	CUSTOM(0, "synth", recorder, "WHAT", "side-band of what already runs: no, all, task, mmap, cgroup", parse_synth),
	OPTION_U64(0, "proc-map-timeout", O, map_timeout_ms, "MS", "give up reading a process' maps after this time (default 500)"),
	OPTION_INT(0, "num-thread-synthesize", O, synth_jobs, "N", "threads that read /proc (default: one for each CPU)"),
	OPTION_FLAG(0, "tail-synthesize", O, recorder.tail_synthesize, "read /proc at the end instead of the beginning"),

	OPTION_HEADING("Output"),
	OPTION_STRING('o', "output", O, recorder.output, "FILE", "recording (default perf.data, - for standard output)"),
	OPTIONAL('z', "compression-level", recorder.compression_level, "LEVEL", "compress by zstd (1 to 22, default 1)", parse_compression),
	NEGATABLE(0, "max-size", recorder.max_size, "SIZE", "stop when the file is so large", parse_size),
	OPTIONAL(0, "switch-output", recorder, "WHEN", "begin a new file at SIGUSR2, or when it is so large (10M) or old (30s)",
		 parse_switch_output),
	CUSTOM(0, "switch-output-event", switch_event, "EVENT", "begin a new file when this event happens; it isn't recorded itself", parse_switch_event),
	OPTION_INT(0, "switch-max-files", O, switch_max_files, "N", "with --switch-output: keep only the newest N files"),
	OPTION_FLAG(0, "timestamp-filename", O, recorder.timestamp_filename, "put the time behind the file's name"),
	OPTION_FLAG(0, "timestamp-boundary", O, timestamp_boundary, "note the times of the first and last sample in the header"),
	OPTION_FLAG(0, "overwrite", O, sampling.overwrite, "keep only the newest records, written at the end or at SIGUSR2"),
	OPTION_STRING(0, "control", O, recorder.control, "CHANNEL",
		      "take commands (enable, disable, snapshot, stop, ping) from fd:IN[,OUT] or fifo:IN[,OUT]"),

	OPTION_HEADING("How"),
	CUSTOM('m', "mmap-pages", recorder.ring_pages, "PAGES",
	       "size of each buffer in pages, or as 64K, 1M (default 512K, with -a and tracepoints 2M)", parse_pages),
	NEGATABLE(0, "mmap-flush", recorder.flush_bytes, "SIZE", "write a buffer only when it holds so much", parse_size),
	OPTION_FLAG(0, "no-buffering", O, sampling.no_buffering, "write each sample at once"),
	OPTIONAL(0, "threads", recorder, "UNIT", "read the buffers with a thread for each cpu (default), core, package or numa node, or for sets of CPUs "
		 "as in 0-3/0-3:4-7/4-7; the recording is a directory with a file for each buffer", parse_threads),
	OPTIONAL(0, "aio", recorder.async_blocks, "N", "let a thread of its own write, with at most N buffers waiting for it (1 to 4, default 1)", parse_aio),
	CUSTOM(0, "affinity", recorder.affinity, "WHERE", "read each buffer on its CPU's NUMA node (node) or on that CPU (cpu)", parse_affinity),
	OPTION_INT('r', "realtime", O, realtime, "PRIORITY", "collect with this real-time priority, 1 to 99"),
	OPTION_FLAG(0, "dry-run", O, dry_run, "check options and events, measure nothing"),
	OPTION_GROUP(output_option_group, O, verbosity),
	OPTION_REFUSED('S', "snapshot", "OPTIONS", NO_AUX),
	OPTION_REFUSED(0, "aux-sample", "OPTIONS", NO_AUX),
	OPTION_REFUSED(0, "clang-path", "PROGRAM", NO_BPF_SOURCE),
	OPTION_REFUSED(0, "clang-opt", "OPTIONS", NO_BPF_SOURCE),
	OPTION_REFUSED(0, "setup-filter", "ACTION", "a filter that is pinned for users without rights could be changed by each of them; use --filter as root, or with the capabilities CAP_BPF and CAP_PERFMON"),
	OPTION_REFUSED(0, "vmlinux", "FILE", "no symbols are looked up while recording; use -k with report and script"),
	OPTION_REFUSED(0, "kcore", NULL, "the kernel's code isn't copied into a recording; 'perf annotate' reads /proc/kcore while this kernel runs"),
	OPTION_REFUSED(0, "debuginfod", "SERVERS",
		       "nothing is fetched while recording; set DEBUGINFOD_URLS for report, or use 'perf buildid-cache --debuginfod -a FILE'"),
	OPTION_REFUSED(0, "off-cpu", NULL, "time off the CPU isn't sampled by BPF yet; use 'perf record -a -e sched:sched_switch,sched:sched_waking -g', of which 'perf inject -s' makes where tasks slept and for how long"),
	OPTION_END,
};

void record_options_init(struct record_options *options)
{
	*options = (struct record_options){.map_timeout_ms = 500};
	options->recorder.synthesize_tasks = true;
}

struct error *record_options_configure(struct record_options *options)
{
	struct config config = {0};
	struct error *error = config_open(&config);
	const char *mode = config_get(&config, "record.build-id");
	if (mode && !strcmp(mode, "skip"))
		options->no_buildid = true;
	else if (mode && !strcmp(mode, "no-cache"))
		options->no_buildid_cache = true;
	else if (mode && !strcmp(mode, "mmap"))
		options->sampling.build_id_mmap = true;
	else if (mode && strcmp(mode, "cache"))
		error = error_new("configuration: record.build-id: '%s' is none of cache, no-cache, skip, mmap", mode);
	config_close(&config);
	return error;
}

/* What kernel.perf_event_max_sample_rate is when the machine starts (kernel/events/core.c, DEFAULT_MAX_SAMPLE_RATE). */
enum { SAMPLE_RATE_SENSIBLE = 100000 };

static struct error *check_freq(struct record_options *options)
{
	struct sampling *sampling = &options->sampling;
	uint64_t max = limits_max_sample_rate();

	if (options->max_freq) {
		if (!max)
			return error_new("-F max: kernel.perf_event_max_sample_rate cannot be read");
		sampling->freq = max;
		log_info("sampling with the highest frequency that is allowed, %llu Hz", (unsigned long long)max);
	}
	if (sampling->period && sampling->freq_given)
		return error_new_kind(ERROR_USAGE, "-F (samples a second) and -c (a sample every N events) exclude each other");
	if (sampling->period) {
		sampling->freq = 0;
		return NULL;
	}
	if (!sampling->freq_given)
		sampling->freq = SAMPLING_FREQ_DEFAULT;
	if (!sampling->freq)
		return error_new_kind(ERROR_USAGE, "a frequency (-F) of 0 samples nothing");
	if (!max || sampling->freq <= max)
		return NULL;
	struct strbuf remedy = {0};
	struct error *error = NULL;
	/* Beyond the kernel's own default the machine would do little but sample: that limit stands. */
	if (sampling->freq <= SAMPLE_RATE_SENSIBLE) {
		strbuf_add_str(&remedy, ". To raise that limit:  ");
		mend_sample_rate(&remedy, sampling->freq);
	}
	if (options->strict_freq)
		error = error_new("-F %llu exceeds the kernel's limit of %llu Hz%s", (unsigned long long)sampling->freq, (unsigned long long)max,
				  strbuf_str(&remedy));
	else
		log_warning("-F %llu exceeds the kernel's limit: sampling at %llu Hz%s", (unsigned long long)sampling->freq,
			    (unsigned long long)max, strbuf_str(&remedy));
	strbuf_deinit(&remedy);
	sampling->freq = max;
	return error;
}

/* Of what excludes each other one stays, with a word. */
static void check_target(struct record_options *options, bool workload)
{
	targets_settle(&options->targets, workload);
	if (options->sampling.per_thread && targets_are_cpus(&options->targets)) {
		log_warning("-a and -C measure CPUs: --per-thread is left aside");
		options->sampling.per_thread = false;
	}
}

/* --call-graph dwarf,auto: stacks that are too long for the first size are seen so soon. */
enum { LOOK_AT_STACKS_NS = 20000000 };

struct error *record_options_check(struct record_options *options, bool workload)
{
	struct sampling *sampling = &options->sampling;
	struct recorder_options *recorder = &options->recorder;

	check_target(options, workload);
	sampling->by_cpu = targets_are_cpus(&options->targets);
	sampling->workload = workload && !targets_are_tasks(&options->targets) && !sampling->by_cpu;
	sampling->delayed = recorder->start_disabled;
	if (options->targets.tids && !options->no_inherit_given)
		sampling->no_inherit = true;
	if (sampling->callgraph == CALLGRAPH_DWARF)
		sampling->address = true; /* so that data maps are known as well: frames may lie anywhere */
	if (sampling->callgraph == CALLGRAPH_DWARF && sampling->stack_grows && sampling->overwrite)
		return error_new_kind(ERROR_USAGE, "--call-graph dwarf,auto looks at samples all the time, --overwrite only at the end; give the size: dwarf,%d",
				      SAMPLING_STACK_DEFAULT);
	if (sampling->callgraph == CALLGRAPH_DWARF && sampling->stack_grows && !recorder->drain_every_ns)
		recorder->drain_every_ns = LOOK_AT_STACKS_NS;
	if (sampling->kernel_callchains && sampling->user_callchains)
		return error_new_kind(ERROR_USAGE, "--kernel-callchains and --user-callchains exclude each other");
	if (sampling->all_kernel && sampling->all_user)
		return error_new_kind(ERROR_USAGE, "--all-kernel and --all-user exclude each other");
	if (recorder->start_disabled && !recorder->edges_ms.len && !recorder->control)
		log_warning("-D -1 without --control: nothing will enable the events");
	if (recorder->output && !strcmp(recorder->output, "-") && (recorder->switch_output || recorder->timestamp_filename))
		return error_new_kind(ERROR_USAGE, "--switch-output and --timestamp-filename need a file, not standard output");
	if (recorder->places.len && ((recorder->output && !strcmp(recorder->output, "-")) || recorder->switch_output || sampling->overwrite))
		return error_new_kind(ERROR_USAGE, "--threads writes one directory: leave out -o -, --switch-output and --overwrite");
	if (recorder->places.len && recorder->async_blocks)
		return error_new_kind(ERROR_USAGE, "--threads has more than one thread to write already: leave out --aio");
	if (options->switch_max_files < 0)
		return error_new_kind(ERROR_USAGE, "--switch-max-files: a number of files");
	if (options->switch_max_files && !recorder->switch_output)
		log_warning("--switch-max-files without --switch-output: there is only one file");
	recorder->switch_max_files = (unsigned int)options->switch_max_files;
	recorder->quiet = options->verbosity.quiet;
	recorder->namespaces = sampling->namespaces;
	recorder->synthesize_cgroups |= sampling->cgroups;
	recorder->data_maps = sampling->address;
	recorder->is_workload_target = sampling->workload;
	recorder->all_tasks = sampling->by_cpu;
	recorder->map_timeout_ns = options->map_timeout_ms * 1000000u;
	return check_freq(options);
}

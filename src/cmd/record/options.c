/* The options of `perf record`. */
#include "cmd/record/record.h"

#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "bpf/user_stacks_shared.h"
#include "cmd/buildid_cache/buildid_cache.h"
#include "cmd/sampling_options.h"
#include "cmd/sides.h"
#include "kernel/fix.h"
#include "kernel/hardware/cpus.h"
#include "kernel/limits.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct error *parse_no_inherit(const struct option *option, const char *argument, bool negated, void *field)
{
	struct record_options *options = field;

	options->sampling.no_inherit = !negated;
	options->no_inherit_given = true;
	return NULL;
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

static struct error *parse_size(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t *ret = field;

	if (negated)
		*ret = 0;
	else if (!number_parse_size(argument, ret) || !*ret)
		return error_new_kind(ERROR_USAGE, "invalid size '%s': expected a size such as 512K, 10M or 1G", argument);
	return NULL;
}

static struct error *parse_unwind_memory(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t *ret = field;

	if (!number_parse_size(argument, ret) || !*ret || *ret > USER_STACKS_MEMORY)
		return error_new_kind(ERROR_USAGE, "invalid size '%s': expected up to %dM, such as 32M", argument,
				      USER_STACKS_MEMORY >> 20);
	return NULL;
}

static struct error *set_compression(const char *text, int *ret)
{
	enum { LEVEL_MAX = 22 };
	uint32_t level;

	if (!number_parse_u32(text, &level))
		return error_new_kind(ERROR_USAGE, "invalid compression level '%s': expected 0 to %d", text, LEVEL_MAX);
	if (level > LEVEL_MAX) {
		log_warning("-z %s: using %d, the highest compression level", text, LEVEL_MAX);
		level = LEVEL_MAX;
	}
	*ret = (int)level;
	return NULL;
}

static struct error *parse_compression(const struct option *option, const char *argument, bool negated, void *field)
{
	return set_compression(negated ? "0" : argument ? argument : "1", field);
}

/* "10-20,30-40": each later than the one before it. */
static bool parse_ranges(const char *text, struct recorder_options *options)
{
	uint64_t last = 0;

	for (;;) {
		unsigned long long on, off;
		int used = 0;
		if (!isdigit((unsigned char)*text) || sscanf(text, "%llu-%llu%n", &on, &off, &used) != 2 || on < last || off <= on ||
		    off > UINT32_MAX)
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
		return error_new_kind(ERROR_USAGE,
				      "invalid delay '%s': expected milliseconds, ranges such as 10-20,30-40, or -1 (start disabled)",
				      argument);
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
		return error_new_kind(ERROR_USAGE,
				      "invalid value '%s': use cpu, core, package, numa, or CPUs/AFFINITY for each thread, such as "
				      "0-3/0-3:4-7/4-7, without repeating a CPU",
				      argument);
	return NULL;
}

static struct error *parse_aio(const struct option *option, const char *argument, bool negated, void *field)
{
	enum { BLOCKS_MAX = 4 };
	uint32_t blocks = 1;

	if (!negated && argument && (!number_parse_u32(argument, &blocks) || !blocks || blocks > BLOCKS_MAX))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': expected a number from 1 to %d", argument, BLOCKS_MAX);
	*(unsigned int *)field = negated ? 0 : blocks;
	return NULL;
}

static struct error *parse_affinity(const struct option *option, const char *argument, bool negated, void *field)
{
	bool node = !strcmp(argument, "node");

	if (!node && strcmp(argument, "cpu"))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': use node or cpu", argument);
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
	return error_new_kind(ERROR_USAGE,
			      "invalid value '%s': use signal, a size (with suffix B, K, M or G) or a time (with suffix "
			      "s, m, h or d)",
			      argument);
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
		return error_new_kind(ERROR_USAGE, "invalid value '%s': use no, all, task, mmap or cgroup", argument);
	options->synthesize_tasks = !none && strcmp(argument, "cgroup");
	options->synthesize_cgroups = all || !strcmp(argument, "cgroup");
	return NULL;
}

#define NO_BPF_SOURCE "BPF programs in C as events are not supported; use tracepoints with --filter"
static struct error *parse_setup_filter(const struct option *option, const char *argument, bool negated, void *field)
{
	if (strcmp(argument, "pin") != 0 && strcmp(argument, "unpin") != 0)
		return error_new_kind(ERROR_USAGE, "invalid value '%s': use pin or unpin", argument);
	*(const char **)field = argument;
	return NULL;
}

#define O struct record_options
#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)
#define NEGATABLE(s, l, field, a, h, p) OPTION_CUSTOM(s, l, O, field, a, h, p)
#define OPTIONAL(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_OPTIONAL_ARGUMENT)

const struct option record_option_table[] = {
	OPTION_HEADING("Events and targets"),
	OPTION_GROUP(targets_group, O, targets),
	OPTION_WHOLE('i', "no-inherit", NULL, "do not follow child processes and new threads", parse_no_inherit, OPTION_NO_ARGUMENT),
	OPTION_FLAG(0, "per-thread", O, sampling.per_thread, "use one buffer per thread instead of per CPU"),
	CUSTOM('D', "delay", recorder, "MS",
	       "start measuring MS milliseconds after the command; 10-20,30-40: only then; -1: on 'enable' from --control", parse_delay),

	OPTION_HEADING("Events"),
	CUSTOM('e', "event", words, "EVENT", "events to sample: cycles, cpu-clock:u, sched:sched_switch, …; may be repeated",
	       event_words_parse_event),
	OPTION_SIDES(O, words.sides),
	CUSTOM(0, "pfm-events", words, "EVENT", "events by their libpfm4 names ('perf list pfm'), with their modifiers and groups {…}",
	       event_words_parse_pfm),
	CUSTOM(0, "filter", words, "FILTER",
	       "filter for the preceding events: on the fields of tracepoints, on addresses for hardware traces, or on the samples of other events (ip, pid, uid, period, …)",
	       event_words_parse_sample_filter),
	OPTION_CUSTOM_FLAGS(0, "exclude-perf", O, words, NULL, "do not record perf itself (applies to the preceding tracepoints)",
			    event_words_parse_exclude_perf, OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	CUSTOM('G', "cgroup", words, "NAMES", "only tasks in this control group: one for each preceding event, or one for all",
	       event_words_parse_cgroup),
	CUSTOM('F', "freq", sampling, "HZ", "sampling frequency in samples per second, or 'max' (default 4000)", sampling_option_freq),
	OPTION_FLAG(0, "strict-freq", O, sampling.freq_strict, "fail if -F is higher than the kernel allows"),
	OPTION_FLAG(0, "group", O, sampling.group, "put all events into one group: counted together or not at all"),
	CUSTOM('c', "count", sampling.period, "N", "take a sample every N events, instead of -F", sampling_option_count),
	OPTION_FLAG(0, "all-kernel", O, sampling.all_kernel, "measure kernel space only"),
	OPTION_FLAG(0, "all-user", O, sampling.all_user, "measure user space only"),

	OPTION_HEADING("Sample contents"),
	OPTION_CUSTOM_FLAGS('g', NULL, O, sampling, NULL, "record call chains: complete ones where possible (--call-graph auto)",
			    sampling_option_g, OPTION_NO_ARGUMENT),
	NEGATABLE(
		0, "call-graph", sampling, "MODE",
		"record call chains by auto (complete, unwound while recording, by a BPF program where that is possible; auto,bpf or auto,copy: by it, or never), fp, dwarf[,BYTES] (copies the stack; dwarf,auto: as much as needed) or lbr",
		sampling_option_callgraph),
	CUSTOM(0, "unwind-memory", sampling.unwind_memory, "SIZE",
	       "memory for unwind rules in the kernel, for complete call chains (default 200M)", parse_unwind_memory),
	OPTION_FLAG(0, "kernel-callchains", O, sampling.kernel_callchains, "record only the kernel part of call chains"),
	OPTION_FLAG(0, "user-callchains", O, sampling.user_callchains, "record only the user part of call chains"),
	OPTION_CUSTOM_FLAGS('b', "branch-any", O, sampling.branch_type, NULL, "record the last branches taken, of any kind",
			    sampling_option_branch_any, OPTION_NO_ARGUMENT | OPTION_NO_NEGATION),
	CUSTOM('j', "branch-filter", sampling.branch_type, "KINDS", "record the last branches taken: any, any_call, u, k, …",
	       sampling_option_branch),
	OPTION_FLAG('d', "data", O, sampling.address, "record data addresses"),
	OPTION_FLAG(0, "phys-data", O, sampling.phys_address, "record physical data addresses"),
	{OPTION_KIND_FLAG, 0, "phys-addr", offsetof(O, sampling.phys_address), NULL, "the same", NULL, NULL, OPTION_HIDDEN},
	OPTION_FLAG(0, "data-page-size", O, sampling.data_page_size, "record the page sizes of data addresses"),
	OPTION_FLAG(0, "code-page-size", O, sampling.code_page_size, "record the page sizes of code addresses"),
	OPTION_FLAG('W', "weight", O, sampling.weight, "record weights (latencies), if the event has them"),
	OPTION_FLAG(0, "transaction", O, sampling.transaction, "record transaction flags"),
	OPTIONAL('I', "intr-regs", sampling.intr_regs, "REGS", "record registers at the interrupt, all or these (ax,ip,…)", parse_regs),
	OPTIONAL(0, "user-regs", sampling.user_regs, "REGS", "record user-space registers, all or these", parse_regs),
	OPTION_CUSTOM_FLAGS('P', "period", O, sampling.period_bit, NULL, "record the period of each sample", parse_period_bit,
			    OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS('T', "timestamp", O, sampling, NULL, "record time stamps", parse_timestamp, OPTION_NO_ARGUMENT),
	OPTION_FLAG(0, "sample-cpu", O, sampling.cpu, "record the CPU"),
	OPTION_FLAG(0, "sample-identifier", O, sampling.identifier, "put the event's id first in each record"),
	OPTION_FLAG('R', "raw-samples", O, sampling.raw, "record raw data (always recorded for tracepoints)"),
	OPTION_FLAG('n', "no-samples", O, sampling.no_samples, "record no samples, only side-band records"),
	NEGATABLE('k', "clockid", sampling, "CLOCK", "clock for time stamps: mono, raw, real, boot, tai", parse_clock),

	OPTION_HEADING("Other data"),
	OPTION_FLAG('s', "stat", O, sampling.thread_counts, "record counts for each thread"),
	OPTION_FLAG(0, "running-time", O, sampling.running_time, "record how long counters were enabled and running"),
	OPTION_FLAG(0, "switch-events", O, sampling.switch_events, "record context switches"),
	OPTION_FLAG(0, "namespaces", O, sampling.namespaces, "record namespaces of processes"),
	OPTION_FLAG(0, "all-cgroups", O, sampling.cgroups, "record control groups of samples"),
	OPTION_FLAG('B', "no-buildid", O, no_buildid, "do not look for build-ids"),
	OPTION_FLAG('N', "no-buildid-cache", O, no_buildid_cache, "do not copy the recorded programs to ~/.debug"),
	OPTION_FLAG(0, "self-contained", O, self_contained,
		    "store names, source lines and code of what was hit in the recording, so that it can be read on any machine"),
	OPTION_FLAG(0, "buildid-all", O, buildid_all, "store the build-ids of all files, not only of those hit by samples"),
	OPTION_FLAG(0, "buildid-mmap", O, sampling.build_id_mmap, "store build-ids in mmap records instead of at the end"),
	OPTION_FLAG(0, "no-bpf-event", O, sampling.no_bpf_event, "do not record the loading of BPF programs"),
	CUSTOM(0, "synth", recorder, "WHAT", "side-band records for existing processes: no, all, task, mmap, cgroup", parse_synth),
	OPTION_U64(0, "proc-map-timeout", O, map_timeout_ms, "MS", "give up reading the maps of a process after this time (default 500)"),
	OPTION_INT(0, "num-thread-synthesize", O, synth_jobs, "N", "number of threads that read /proc (default: one per CPU)"),
	OPTION_FLAG(0, "tail-synthesize", O, recorder.tail_synthesize, "read /proc at the end instead of at the beginning"),

	OPTION_HEADING("Hardware traces (-e intel_pt//, arm_spe_0//, cs_etm//)"),
	OPTIONAL(
		'S', "snapshot", traces, "[e][SIZE]",
		"keep only the newest trace, and write it on SIGUSR2, on 'snapshot' from --control, or with e at the end; at most SIZE bytes "
		"of each buffer",
		record_option_snapshot),
	OPTIONAL(0, "aux-sample", traces, "SIZE",
		 "put the newest SIZE bytes of trace (default 4096) into each sample of the events in a group with it: {intel_pt//,cycles}",
		 record_option_trace_sample),

	OPTION_HEADING("Output"),
	OPTION_STRING('o', "output", O, recorder.output, "FILE", "file to write (default perf.data; - for standard output)"),
	OPTIONAL('z', "compression-level", recorder.compression_level, "LEVEL", "compress with zstd (1 to 22, default 1)",
		 parse_compression),
	NEGATABLE(0, "max-size", recorder.max_size, "SIZE", "stop when the file reaches this size", parse_size),
	OPTIONAL(0, "switch-output", recorder, "WHEN", "start a new file on SIGUSR2, or at this size (10M) or age (30s)",
		 parse_switch_output),
	CUSTOM(0, "switch-output-event", switch_event, "EVENT", "start a new file when this event occurs; the event itself is not recorded",
	       parse_switch_event),
	OPTION_INT(0, "switch-max-files", O, switch_max_files, "N", "with --switch-output: keep only the newest N files"),
	OPTION_FLAG(0, "timestamp-filename", O, recorder.timestamp_filename, "append the time to the file name"),
	OPTION_FLAG(0, "timestamp-boundary", O, timestamp_boundary, "store the times of the first and last sample in the header"),
	OPTION_FLAG(0, "overwrite", O, sampling.overwrite, "keep only the newest records; write them at the end or on SIGUSR2"),
	OPTION_STRING(0, "control", O, recorder.control, "CHANNEL",
		      "read commands (enable, disable, snapshot, stop, ping) from fd:IN[,OUT] or fifo:IN[,OUT]"),

	OPTION_HEADING("Buffers and threads"),
	OPTION_WHOLE('m', "mmap-pages", "PAGES",
		     "size of each buffer in pages, or such as 64K, 1M (default 512K; 2M with -a and tracepoints); behind a comma that of "
		     "each buffer of a hardware trace (default 4M, or 128K without privileges)",
		     record_option_buffers, OPTION_NO_NEGATION),
	NEGATABLE(0, "mmap-flush", recorder.flush_bytes, "SIZE", "write a buffer only when it holds this much data", parse_size),
	OPTION_FLAG(0, "no-buffering", O, sampling.no_buffering, "write each sample immediately"),
	OPTIONAL(0, "threads", recorder, "UNIT",
		 "read the buffers with one thread per cpu (default), core, package or numa node, or per set of CPUs, such as "
		 "0-3/0-3:4-7/4-7; the recording is a directory with one file per buffer",
		 parse_threads),
	OPTIONAL(0, "aio", recorder.async_blocks, "N",
		 "write in a separate thread, with at most N buffers in its queue (1 to 4, default 1)", parse_aio),
	CUSTOM(0, "affinity", recorder.affinity, "WHERE", "read each buffer on the NUMA node of its CPU (node) or on the CPU itself (cpu)",
	       parse_affinity),
	OPTION_INT('r', "realtime", O, realtime, "PRIORITY", "run with this real-time priority (1 to 99)"),
	OPTION_FLAG(0, "dry-run", O, dry_run, "check options and events without measuring"),
	OPTION_GROUP(output_option_group, O, verbosity),
	OPTION_REFUSED(0, "clang-path", "PROGRAM", NO_BPF_SOURCE),
	OPTION_REFUSED(0, "clang-opt", "OPTIONS", NO_BPF_SOURCE),
	CUSTOM(0, "setup-filter", setup_filter, "ACTION",
	       "as root, 'pin': allow all users filters of samples (--filter), until 'unpin' or the next boot; nothing is recorded",
	       parse_setup_filter),
	OPTION_STRING(0, "vmlinux", O, vmlinux, "FILE",
		      "image of the running kernel; it is added to the build-id cache, where reading commands find it"),
	OPTION_CUSTOM_FLAGS(0, "debuginfod", O, debug_files, "URLS",
			    "fetch debug files of sampled files into the build-id cache, from these servers or those in DEBUGINFOD_URLS",
			    buildid_cache_option_servers, OPTION_OPTIONAL_ARGUMENT),
	OPTION_FLAG(0, "kcore", O, recorder.directory,
		    "keep the kernel's code, as it is in memory, with the recording, which is a directory then: for 'perf annotate' later "
		    "and on other machines (root)"),
	OPTION_FLAG(0, "off-cpu", O, off_cpu, "also record where threads sleep and how long, as event offcpu-time (by a BPF program)"),
	OPTION_U64(0, "off-cpu-thresh", O, off_cpu_ms, "MS",
		   "with --off-cpu: waits of at least MS milliseconds are samples of their own, shorter ones are added up (default 500)"),
	OPTION_END,
};

void record_options_init(struct record_options *options)
{
	*options = (struct record_options){.map_timeout_ms = 500, .off_cpu_ms = RECORD_OFF_CPU_DEFAULT};
	options->recorder.synthesize_tasks = true;
	options->sampling.callgraph_default = CALLCHAIN_AUTO;
}

static struct error *configure_build_ids(const char *mode, struct record_options *options)
{
	if (!strcmp(mode, "skip"))
		options->no_buildid = true;
	else if (!strcmp(mode, "no-cache"))
		options->no_buildid_cache = true;
	else if (!strcmp(mode, "mmap"))
		options->sampling.build_id_mmap = true;
	else if (strcmp(mode, "cache") != 0)
		return error_new("configuration: record.build-id: invalid value '%s': use cache, no-cache, skip or mmap", mode);
	return NULL;
}

struct error *record_options_configure(struct record_options *options)
{
	struct config config = {0};
	struct error *error = config_open(&config);
	const char *mode = config_get(&config, "record.build-id"), *level = config_get(&config, "record.compression-level");
	if (!error && mode)
		error = configure_build_ids(mode, options);
	if (!error && level)
		error = error_wrap(set_compression(level, &options->recorder.compression_level), "configuration: record.compression-level");
	config_close(&config);
	return error;
}

/* Of what excludes each other one stays, with a word. */
static void check_target(struct record_options *options, bool workload)
{
	targets_settle(&options->targets, workload);
	if (options->sampling.per_thread && targets_are_cpus(&options->targets)) {
		log_warning("--per-thread is ignored with -a and -C");
		options->sampling.per_thread = false;
	}
}

struct error *record_options_check(struct record_options *options, bool workload)
{
	struct sampling *sampling = &options->sampling;
	struct recorder_options *recorder = &options->recorder;

	check_target(options, workload);
	struct error *error = record_off_cpu_check(options);
	if (error)
		return error;
	sampling->by_cpu = targets_are_cpus(&options->targets);
	sampling->workload = workload && !targets_are_tasks(&options->targets) && !sampling->by_cpu;
	sampling->delayed = recorder->start_disabled;
	if (options->targets.tids && !options->no_inherit_given)
		sampling->no_inherit = true;
	if (sampling->callgraph == CALLCHAIN_DWARF)
		sampling->address = true; /* so that data maps are known as well: frames may lie anywhere */
	if (sampling->callgraph == CALLCHAIN_DWARF && sampling->stack_grows && sampling->overwrite)
		return error_new_kind(ERROR_USAGE, "--call-graph dwarf,auto cannot be combined with --overwrite; give a size: dwarf,%d",
				      SAMPLING_STACK_DEFAULT);
	if (sampling->kernel_callchains && sampling->user_callchains)
		return error_new_kind(ERROR_USAGE, "--kernel-callchains and --user-callchains cannot be combined");
	if (sampling->all_kernel && sampling->all_user)
		return error_new_kind(ERROR_USAGE, "--all-kernel and --all-user cannot be combined");
	if (recorder->start_disabled && !recorder->edges_ms.len && !recorder->control)
		log_warning("-D -1 without --control: nothing will enable the events");
	if (recorder->output && !strcmp(recorder->output, "-") && (recorder->switch_output || recorder->timestamp_filename))
		return error_new_kind(ERROR_USAGE, "--switch-output and --timestamp-filename require a file, not standard output");
	if (recorder->places.len &&
	    ((recorder->output && !strcmp(recorder->output, "-")) || recorder->switch_output || sampling->overwrite))
		return error_new_kind(ERROR_USAGE, "--threads writes one directory: omit -o -, --switch-output and --overwrite");
	if (recorder->directory && ((recorder->output && !strcmp(recorder->output, "-")) || recorder->switch_output || sampling->overwrite))
		return error_new_kind(ERROR_USAGE, "--kcore writes one directory: omit -o -, --switch-output and --overwrite");
	if (recorder->places.len && recorder->async_blocks)
		return error_new_kind(ERROR_USAGE, "--threads already writes with several threads: omit --aio");
	if ((options->debug_files || options->vmlinux) && (options->no_buildid_cache || options->no_buildid))
		return error_new_kind(ERROR_USAGE, "%s uses the build-id cache: omit -B and -N",
				      options->vmlinux ? "--vmlinux" : "--debuginfod");
	if (options->vmlinux) {
		error = record_check_vmlinux(options->vmlinux);
		if (error)
			return error;
	}
	if (recorder->directory) {
		error = record_check_code();
		if (error)
			return error;
	}
	if (options->switch_max_files < 0)
		return error_new_kind(ERROR_USAGE, "--switch-max-files: invalid number of files");
	if (options->switch_max_files && !recorder->switch_output)
		log_warning("--switch-max-files requires --switch-output");
	recorder->switch_max_files = (unsigned int)options->switch_max_files;
	recorder->quiet = options->verbosity.quiet;
	recorder->namespaces = sampling->namespaces;
	recorder->synthesize_cgroups |= sampling->cgroups;
	recorder->data_maps = sampling->address;
	recorder->is_workload_target = sampling->workload;
	recorder->all_tasks = sampling->by_cpu;
	recorder->map_timeout_ns = options->map_timeout_ms * 1000000u;
	return sampling_check_freq(&options->sampling);
}

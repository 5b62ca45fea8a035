/* perf trace: the system calls of programs as they happen, with the strings and structures that their arguments point to. This file has the
 * options. */
#include "cmd/trace/trace.h"
#include "cmd/drawing.h"

#include "analysis/script/filter.h"
#include "analysis/syscalls/syscall_sums.h"
#include "app/command.h"
#include "app/config.h"
#include "app/ending.h"
#include "base/cleanup.h"
#include "base/files/output.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "bpf/support.h"
#include "bpf/types_text.h"
#include "cmd/opening.h"
#include "cmd/trace/replay.h"
#include "cmd/trace/tracepoints.h"
#include "event/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { DEFAULT_STRING_LIMIT = 64, MOST_STRING_LIMIT = 4094, ALIGNMENT = 70 };

#define O struct trace_options

/* -F, which may be repeated. */
static struct error *parse_faults(const struct option *option, const char *argument, bool negated, void *field)
{
	static const char *const names[] = {"maj", "min", "all"};

	for (unsigned int i = 0; i < 3; i++)
		if (!strcmp(argument ? argument : "maj", names[i])) {
			*(unsigned int *)field |= i + 1;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "invalid value '%s': use all, maj or min", argument);
}

/* Either form counts as said. */
static struct error *parse_syscalls(const struct option *option, const char *argument, bool negated, void *field)
{
	struct trace_options *options = field;

	options->syscalls = !negated;
	options->syscalls_given = true;
	return NULL;
}

static struct error *parse_signals(const struct option *option, const char *argument, bool negated, void *field)
{
	*(enum trace_choice *)field = negated ? TRACE_NO : TRACE_YES;
	return NULL;
}

/* Milliseconds with a fraction, kept as nanoseconds. */
static struct error *parse_duration(const struct option *option, const char *argument, bool negated, void *field)
{
	double milliseconds;

	if (!number_parse_double(argument, &milliseconds) || milliseconds < 0)
		return error_new_kind(ERROR_USAGE, "invalid number of milliseconds '%s'", argument);
	*(uint64_t *)field = (uint64_t)(milliseconds * 1e6);
	return NULL;
}

static struct error *parse_mode(const struct option *option, const char *argument, bool negated, void *field)
{
	static const char *const names[] = {[TRACE_BY_THREAD] = "thread", [TRACE_BY_CGROUP] = "cgroup", [TRACE_TOTAL] = "total"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(argument, names[i])) {
			*(enum trace_summary_mode *)field = (enum trace_summary_mode)i;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "invalid value '%s': use thread, total or cgroup", argument);
}

static struct error *parse_call_graph(const struct option *option, const char *argument, bool negated, void *field)
{
	*(const char **)field = argument;
	return NULL;
}

/* Pages or bytes, rounded up to a power of two. */
static struct error *parse_ring(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t bytes, pages, size = (uint64_t)sysconf(_SC_PAGESIZE);

	if (number_parse_u64(argument, &pages))
		bytes = pages * size;
	else if (!number_parse_size(argument, &bytes))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': expected a number of pages or a size such as 64M", argument);
	while (size < bytes && size < 1u << 30)
		size *= 2;
	*(uint64_t *)field = size;
	return NULL;
}

#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)

static const struct option trace_options[] = {
	OPTION_HEADING("Targets"),
	OPTION_FLAG('a', "all-cpus", O, system_wide, "the whole system, on all CPUs (default without a command or target)"),
	OPTION_STRING('p', "pid", O, pids, "PIDS", "existing processes with all their threads (comma-separated)"),
	OPTION_STRING('t', "tid", O, tids, "TIDS", "existing threads (comma-separated)"),
	OPTION_STRING('u', "uid", O, user, "USER", "all processes of this user, by name or number"),
	OPTION_STRING('C', "cpu", O, cpus, "LIST", "trace only these CPUs, such as 0-3,7"),
	OPTION_FLAG(0, "no-inherit", O, no_inherit, "do not follow child processes and new threads"),
	OPTION_STRING('G', "cgroup", O, cgroup, "NAME", "only tasks in this control group or below (with -a)"),
	OPTION_U64('D', "delay", O, delay_ms, "MS", "start tracing MS milliseconds after the command"),
	OPTION_STRING(0, "filter-pids", O, filter_pids, "PIDS", "do not trace these processes"),

	OPTION_HEADING("Events"),
	CUSTOM('e', "event", words, "LIST",
	       "system calls to trace, by name, pattern (open*) or class (%file %desc %net %process %memory %signal %ipc %stat), a "
	       "leading ! inverts the list; and any events: sched:*, page-faults, …",
	       trace_words_parse_list),
	OPTION_CUSTOM_FLAGS(0, "expr", O, words, "LIST", "the same", trace_words_parse_list, OPTION_NO_NEGATION | OPTION_HIDDEN),
	CUSTOM(0, "filter", words, "FILTER", "filter on the fields of the preceding tracepoints", trace_words_parse_filter),
	OPTION_CUSTOM_FLAGS('F', "pf", O, faults, "KIND", "trace page faults: maj (default), min or all", parse_faults,
			    OPTION_OPTIONAL_ARGUMENT | OPTION_LAST_ARGUMENT | OPTION_NO_NEGATION),
	{OPTION_KIND_CUSTOM, 0, "syscalls", 0, NULL, "trace system calls (default, unless -e or -F give only other events)", parse_syscalls,
	 NULL, OPTION_NO_ARGUMENT},
	{OPTION_KIND_CUSTOM, 0, "signals", offsetof(O, signals), NULL,
	 "trace signals and exit statuses of threads (default, unless -e, --failure or --duration is given)", parse_signals, NULL,
	 OPTION_NO_ARGUMENT},
	OPTION_FLAG(0, "sched", O, sched, "show in the summary how long threads ran"),
	OPTION_STRING(0, "switch-on", O, switch_on, "EVENT", "show only what follows this event, which -e must include"),
	OPTION_STRING(0, "switch-off", O, switch_off, "EVENT", "show only what precedes this event"),
	OPTION_FLAG(0, "show-on-off-events", O, show_on_off, "also show the events of --switch-on and --switch-off themselves"),
	CUSTOM(0, "duration", shortest, "MS", "show only system calls that took longer than this", parse_duration),
	OPTION_FLAG(0, "failure", O, failures, "show only system calls that failed"),
	OPTION_U64(0, "max-events", O, max_events, "N", "stop after N lines"),

	OPTION_HEADING("Call stacks"),
	CUSTOM(0, "call-graph", call_graph, "HOW", "show the stacks of system calls and events: auto, fp, dwarf[,BYTES|,auto] or lbr",
	       parse_call_graph),
	OPTION_FLAG(0, "kernel-syscall-graph", O, kernel_graph, "also show the kernel part of the stacks of system calls"),
	OPTION_U64(0, "max-stack", O, max_stack, "N", "show at most N frames (default 127)"),
	OPTION_U64(0, "min-stack", O, min_stack, "N", "show only stacks with at least N frames"),
	OPTION_STRING(0, "flamegraph", O, flamegraph, "FILE",
		      "draw a flame graph of the time in system calls instead of lines: .html, .svg or .folded"),

	OPTION_HEADING("Summaries"),
	OPTION_FLAG('s', "summary", O, summary, "show only a summary of the number and duration of system calls, added up in the kernel"),
	OPTION_FLAG('S', "with-summary", O, with_summary, "show lines, and a summary at the end"),
	CUSTOM(0, "summary-mode", summary_mode, "MODE", "summary per thread (default), per cgroup, or in total", parse_mode),
	OPTION_FLAG(0, "errno-summary", O, errno_summary, "show errors by name in the summary"),
	OPTION_FLAG(0, "hist", O, histograms, "show a histogram of durations in the summary, by powers of two"),

	OPTION_HEADING("Input and output"),
	OPTION_STRING('i', "input", O, input, "FILE", "read a recording of 'perf trace record' (- for standard input)"),
	OPTION_FLAG('f', "force", O, force, "read the recording even if another user owns it"),
	OPTION_SANDBOX(O, sandbox),
	OPTION_STRING('o', "output", O, output, "FILE", "write to FILE instead of standard error (- for standard output)"),
	OPTION_FLAG('T', "time", O, print.full_time, "show time stamps since boot"),
	OPTION_FLAG(0, "comm", O, print.names, "show thread names (default)"),
	OPTION_FLAG(0, "json", O, print.json, "JSON output, one object per line"),
	CUSTOM(0, "color", color, "WHEN",
	       "when to colour errors, slow system calls and paths: always, never or auto (on terminals; "
	       "default)",
	       color_choice_option),
	OPTION_U64(0, "string-limit", O, string_limit, "BYTES",
		   "show at most BYTES bytes of strings and buffers (default 64); paths "
		   "are always shown in full"),
	CUSTOM('m', "mmap-pages", ring_bytes, "SIZE",
	       "size of the buffer between the kernel and perf, in pages or such as 64M "
	       "(default 32M)",
	       parse_ring),
	OPTION_FLAG(0, "libtraceevent_print", O, print_formats, "show events in the kernel's own format instead of field by field"),
	OPTION_FLAG(0, "sort-events", O, sorted, "show events in time order (default)"),
	OPTION_FLAG(0, "print-sample", O, print_sample, "before each line, print its sample: event, time, thread, CPU"),
	OPTION_FLAG(0, "tool_stats", O, tool_stats, "print statistics at the end"),
	OPTION_U64(0, "proc-map-timeout", O, map_timeout_ms, "MS", "give up reading the maps of a process after this time (default 500)"),
	OPTION_FLAG(0, "no-bpf", O, no_bpf, "trace with tracepoints only; strings and paths are missing"),
	OPTION_STRING(0, "map-dump", O, map_dump, "MAP", "show the contents of this map of the BPF program at the end: [key] = value"),
	OPTION_FLAG(0, "force-btf", O, kernel_types,
		    "show structures member by member as the kernel's types (BTF) have them, without the names of flags and constants"),
	OPTION_GROUP(output_option_group, O, verbosity),
	OPTION_END,
};

/* ---- what was asked for ---- */

/* System calls are traced when nothing else was asked for, or when they were, too. */
struct error *trace_select_events(struct trace *trace, const char *machine)
{
	const struct trace_options *options = trace->options;
	bool named = false;

	trace_table_deinit(&trace->table);
	trace_events_deinit(&trace->events);
	trace_table_init(&trace->table, machine, trace->catalog);
	struct error *error = trace_words_apply(&options->words, &trace->table, trace->catalog, &trace->events, &named);
	bool others = trace->events.list.events.len || options->faults;

	trace->calls = options->syscalls_given ? options->syscalls : named || !others;
	if (trace->calls && !named)
		trace_table_select_all(&trace->table, true);
	if (!trace->calls)
		trace_table_select_all(&trace->table, false);
	if (!error && !trace->calls && !others && !options->sched)
		error = error_new_kind(ERROR_USAGE, "--no-syscalls: nothing to trace; give events (-e) or page faults (-F)");
	return error;
}

bool trace_wants_signals(const struct trace_options *options)
{
	bool chosen = options->failures || options->shortest;

	for (size_t i = 0; i < options->words.len; i++)
		chosen |= *options->words.data[i].text != '!';
	return options->signals == TRACE_YES || (options->signals == TRACE_NOT_SAID && !chosen);
}

/* An event of these names must be traced, or nothing would ever be shown. */
static struct error *check_switch(const struct trace *trace, const char *option, const char *name)
{
	const struct event_list *list = &trace->events.list;

	for (size_t i = 0; name && i < list->events.len; i++)
		if (!strcmp(list->events.data[i]->name, name))
			return NULL;
	return name ? error_new_kind(ERROR_USAGE, "%s %s: this event is not traced; add  -e %s", option, name, name) : NULL;
}

uint64_t trace_limit_of(const struct trace *trace, const char *event)
{
	const struct event_list *list = &trace->events.list;

	for (size_t i = 0; i < list->events.len; i++)
		if (!strcmp(list->events.data[i]->name, event))
			return list->events.data[i]->max_events;
	return 0;
}

/* Numbers of processes that a recording tells of. */
static struct error *leave_out_recorded(struct trace *trace)
{
	struct script_ids ids = {0};
	struct error *error = trace->options->filter_pids ? script_filter_add_ids(trace->options->filter_pids, &ids) : NULL;

	for (size_t i = 0; i < ids.len && !error; i++)
		vec_push(&trace->left_out, (pid_t)ids.data[i]);
	free(ids.data);
	return error;
}

/* Nor do we trace who carries our output away: each line would make the next. */
static struct error *choose_left_out(struct trace *trace)
{
	pid_t parent = getppid();

	if (trace->options->input)
		return leave_out_recorded(trace);

	while (parent > 1) {
		cleanup_free char *path = mem_printf("/proc/%d/stat", (int)parent);
		char line[512], *end;
		int next = 0;
		if (!proc_read_line(path, line, sizeof(line)) || !(end = strrchr(line, ')')))
			break;
		if (strstr(line, "(sshd)") || strstr(line, "(gnome-terminal") || strstr(line, "(tmux"))
			vec_push(&trace->left_out, parent);
		if (sscanf(end + 1, " %*c %d", &next) != 1)
			break;
		parent = next;
	}
	return trace->options->filter_pids ? proc_parse_pids(trace->options->filter_pids, false, &trace->left_out) : NULL;
}

/* Processes with all their threads, and single threads. */
static struct error *choose_targets(struct trace *trace)
{
	const struct trace_options *options = trace->options;
	struct error *error = NULL;

	if (options->pids)
		error = proc_parse_pids(options->pids, false, &trace->targets);
	if (!error && options->tids) {
		error = proc_parse_pids(options->tids, true, &trace->targets);
		trace->targets_are_threads = true;
	}
	return error;
}

/* An older trace of the same name is kept with .old behind it. */
static struct error *open_output(const char *path, int *ret)
{
	struct stat status;

	*ret = STDERR_FILENO;
	if (!path)
		return NULL;
	if (!strcmp(path, "-")) {
		*ret = STDOUT_FILENO;
		return NULL;
	}
	if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size) {
		cleanup_free char *old = mem_printf("%s.old", path);
		if (rename(path, old) < 0)
			return error_system(errno, "cannot rename %s to %s", path, old);
	}
	return output_file_open(path, false, ret);
}

/* ---- running ---- */

static const struct untrusted *name_of_thread(void *context, uint32_t tid)
{
	struct trace *trace = context;

	return trace_printer_thread_name(trace->printer, tid);
}

/* Behind the lines. */
static struct error *write_end(const struct trace *trace, const char *text)
{
	bool closed = false;

	return output_write(trace->output, text, strlen(text), "the trace", &closed);
}

/* The tables of -s and -S, behind the lines. */
static struct error *show_sums(struct trace *trace)
{
	const struct trace_options *options = trace->options;
	struct syscall_sums_style style = {.errors = options->errno_summary,
					   .runtime = options->sched,
					   .histograms = options->histograms,
					   .by_id = options->summary_mode != TRACE_TOTAL,
					   .json = options->print.json,
					   .kind = options->summary_mode == TRACE_BY_CGROUP ? "cgroup" : "tid"};
	struct strbuf text = {0};

	syscall_sums_add_text(trace->sums, &style, &text);
	struct error *error = write_end(trace, strbuf_str(&text));
	strbuf_deinit(&text);
	return error;
}

/* --tool_stats: how much was read and shown. */
static struct error *show_stats(const struct trace *trace)
{
	cleanup_free char *text = mem_printf("Stats:\n  samples read : %llu\n  lines shown  : %llu\n", (unsigned long long)trace->samples,
					     (unsigned long long)(trace->printer ? trace_printer_lines(trace->printer) : 0));

	return write_end(trace, text);
}

static bool structure_by_types(void *context, const char *name, const uint8_t *data, size_t size, struct strbuf *out)
{
	return bpf_types_text_add(context, name, data, size, out);
}

/* Where lines and sums go; there is no printer where only sums are wanted. */
static struct error *open_views(struct trace *trace)
{
	const struct trace_options *options = trace->options;
	struct error *error = open_output(options->output, &trace->output);

	if (!error && options->kernel_types)
		error = bpf_types_text_open(options->print.style.names, &trace->types);
	if (!error && !options->summary && !options->no_lines) {
		struct trace_print_options print = options->print;
		print.fd = trace->output;
		print.durations &= trace->calls;
		print.style.thread_name = name_of_thread;
		print.style.thread_name_context = trace;
		print.style.structure = trace->types ? structure_by_types : NULL;
		print.style.structure_context = trace->types;
		print.terminal = isatty(print.fd) && !print.json;
		print.style.color = !print.json && color_of_output(options->color, print.fd);
		trace->printer = trace_printer_create(&print);
	}
	if (options->summary || options->with_summary)
		trace->sums = syscall_sums_create();
	return error;
}

struct error *trace_show_end(struct trace *trace)
{
	struct error *error = trace->printer ? trace_printer_write(trace->printer) : NULL;

	if (!error && trace->sums)
		error = show_sums(trace);
	if (!error && trace->options->tool_stats)
		error = show_stats(trace);
	return error;
}

/* What the BPF program doesn't see. */
static bool needs_tracepoints(const struct trace *trace)
{
	const struct trace_options *options = trace->options;

	return trace->events.words.len || options->faults || options->sched || options->call_graph || options->flamegraph ||
	       options->print_sample || options->switch_on || options->switch_off || !trace->calls ||
	       (options->with_summary && options->summary_mode == TRACE_BY_CGROUP);
}

/* Calls and signals by the BPF program alone, which is the usual way. */
static struct error *run_with_bpf(struct trace *trace, char **command, int *ret_status)
{
	trace->signals = trace->printer && trace_wants_signals(trace->options);
	struct error *error = *command ? workload_start(&trace->workload, command, false) : NULL;

	if (!error)
		error = trace_live(trace);
	if (!error && trace->printer)
		error = trace_printer_write(trace->printer);
	workload_stop(&trace->workload);
	if (!error)
		error = trace_show_end(trace);
	if (!error && !(trace->printer && trace_printer_done(trace->printer)))
		*ret_status = ending_status(ENDING_TRACE, &trace->workload, trace->signal);
	return error;
}

/* Of calls and signals beside other events. Stacks of calls, and their control groups, are only in samples. */
static void choose_program(struct trace *trace)
{
	const struct trace_options *options = trace->options;
	bool samples = options->call_graph || options->flamegraph || options->print_sample || options->summary_mode == TRACE_BY_CGROUP;

	trace->signals = trace->printer && options->signals == TRACE_YES;
	trace->program_tells_calls = trace->calls && !samples;
	trace->wants_program = trace->program_tells_calls || (trace->calls && trace->printer) || trace->signals;
}

/* Strings need the BPF program: why they are missing is said once. */
static struct error *run_live(struct trace *trace, char **command, int *ret_status)
{
	struct error *obstacle = trace->options->no_bpf ? error_new("--no-bpf") : bpf_support_check();

	if (!obstacle && !needs_tracepoints(trace))
		return run_with_bpf(trace, command, ret_status);
	if (trace->options->map_dump) {
		struct error *error = error_new("--map-dump: the BPF program is not used here: %s",
						obstacle ? error_message(obstacle) : "it traces system calls only");
		error_free(obstacle);
		return error;
	}
	if (trace->calls && trace->printer && obstacle)
		log_warning("Strings, structures and file paths are missing: %s.", error_message(obstacle));
	if (!obstacle)
		choose_program(trace);
	else
		trace->signals = trace->printer && trace->calls && trace_wants_signals(trace->options);
	error_free(obstacle);
	return trace_by_tracepoints(trace, command, ret_status);
}

/* Of recordings the kernel has already shown what passed. */
static struct error *check_filters(const struct trace *trace)
{
	const struct event_words *words = &trace->events.words;

	for (size_t i = 0; trace->options->input && i < words->len; i++)
		if (words->data[i].kind == WORD_FILTER)
			return error_new_kind(
				ERROR_USAGE,
				"--filter '%s' cannot be combined with -i; give the filter to 'perf record' or 'perf trace record'",
				words->data[i].text);
	return NULL;
}

/* Options that mean nothing when a trace is only recorded. */
static bool is_for_showing(const struct trace_options *options)
{
	return options->summary || options->with_summary || options->shortest || options->failures || options->max_events ||
	       options->filter_pids || options->flamegraph || options->map_dump || options->tool_stats || options->switch_on ||
	       options->switch_off || options->print.json || options->print_sample || options->min_stack;
}

static struct error *trace_run(struct trace *trace, char **command, int *ret_status)
{
	const struct trace_options *options = trace->options;
	struct utsname system;
	uname(&system);
	struct error *error = trace_select_events(trace, system.machine);

	if (!error && *command && !strcmp(*command, "record") && !options->input)
		return is_for_showing(options)
			       ? error_new_kind(ERROR_USAGE,
						"'trace record' only records: give -s, -S, --duration, --failure, --max-events, "
						"--filter-pids, --flamegraph, --json and the like to 'perf trace -i'")
			       : trace_record(trace, command + 1, ret_status);
	if (!error)
		error = check_filters(trace);
	if (!error && !options->input)
		error = choose_targets(trace);
	if (!error)
		error = check_switch(trace, "--switch-on", options->input ? NULL : options->switch_on);
	if (!error)
		error = check_switch(trace, "--switch-off", options->input ? NULL : options->switch_off);
	if (!error)
		error = choose_left_out(trace);
	if (!error)
		error = open_views(trace);
	if (error || !options->input)
		return error ? error : run_live(trace, command, ret_status);
	trace->signals = trace->printer && trace_wants_signals(options);
	error = trace_replay(trace, options->input, NULL);
	return error ? error : trace_show_end(trace);
}

static void options_init(struct trace_options *options)
{
	*options = (struct trace_options){.string_limit = DEFAULT_STRING_LIMIT,
					  .sandbox = true,
					  .print = {.timestamps = true,
						    .durations = true,
						    .threads = true,
						    .names = true,
						    .alignment = ALIGNMENT,
						    .style = {.names = true}}};
}

/* The section [trace] of the configuration, as the kernel's tool has it. */
static struct error *options_configure(struct trace_options *options)
{
	static const struct {
		const char *key;
		size_t offset;
	} flags[] = {
		{"trace.show_timestamp", offsetof(O, print.timestamps)},  {"trace.show_duration", offsetof(O, print.durations)},
		{"trace.show_arg_names", offsetof(O, print.style.names)}, {"trace.show_zeros", offsetof(O, print.style.zeros)},
		{"trace.show_prefix", offsetof(O, print.style.prefixes)}, {"trace.no_inherit", offsetof(O, no_inherit)},
	};
	struct config config = {0};
	struct error *error = config_open(&config);
	uint32_t alignment;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && !error; i++) {
		bool *flag = (bool *)((char *)options + flags[i].offset);
		*flag = config_get_bool(&config, flags[i].key, *flag);
	}
	options->print.style.numbers =
		!config_get(&config, "trace.show_zeros"); /* unless told what to do with zeros, those that mean something */
	const char *text = config_get(&config, "trace.args_alignment");
	if (text && !number_parse_u32(text, &alignment))
		error = error_new("configuration: trace.args_alignment: invalid number of columns '%s'", text);
	else if (text)
		options->print.alignment = alignment;
	options->print.aligned = text != NULL;
	const char *events = config_get(&config, "trace.add_events");
	if (!error && events && *events)
		trace_words_parse_list(NULL, mem_strdup(events), false, &options->words);
	config_close(&config);
	return error;
}

static struct error *options_check(struct trace_options *options, bool command)
{
	if (options->string_limit > MOST_STRING_LIMIT)
		return error_new_kind(ERROR_USAGE, "--string-limit: the maximum is %d bytes", MOST_STRING_LIMIT);
	if (options->pids && options->tids)
		return error_new_kind(ERROR_USAGE, "-p and -t cannot be combined");
	if (!command && !options->pids && !options->tids && !options->user)
		options->system_wide = true;
	options->print.style.string_limit = (uint32_t)options->string_limit;
	options->print.most = options->max_events;
	options->print.completed_only = options->shortest || options->failures;
	if (options->input && (command || options->user || options->cgroup || options->delay_ms || options->map_dump))
		return error_new_kind(ERROR_USAGE, "-i reads a recording: omit the command, -u, -G, -D and --map-dump");
	if (options->kernel_types && (options->input || options->no_bpf))
		return error_new_kind(ERROR_USAGE, "--force-btf shows memory of programs, which %s",
				      options->input ? "recordings do not contain" : "--no-bpf does not read");
	if (!options->call_graph && options->kernel_graph)
		options->call_graph = "fp";
	if (!options->call_graph && (options->max_stack || options->min_stack))
		options->call_graph = "dwarf";
	options->no_lines = options->flamegraph && !options->with_summary;
	options->summary |= options->errno_summary || options->histograms ? !options->with_summary : false;
	return drawing_check(options->flamegraph);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct trace_options options;
	struct trace trace = {.options = &options, .output = -1};
	int words;

	options_init(&options);
	struct error *error = options_configure(&options);
	if (!error)
		error = options_parse(trace_options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &options, &words);
	if (!error)
		error = options_check(&options, words);
	if (!error) {
		trace.catalog = event_catalog_create("");
		error = trace_run(&trace, argv, ret_status);
	}
	trace_printer_destroy(trace.printer);
	bpf_types_text_close(trace.types);
	syscall_sums_destroy(trace.sums);
	workload_deinit(&trace.workload);
	vec_deinit(&trace.targets);
	vec_deinit(&trace.left_out);
	trace_events_deinit(&trace.events);
	event_catalog_destroy(trace.catalog);
	vec_deinit(&options.words);
	trace_table_deinit(&trace.table);
	if (trace.output > STDERR_FILENO)
		close(trace.output);
	return error;
}

/* "trace record": options of trace in front of the word choose what is recorded, so run() is where both are understood. */
static struct error *run_record(int argc, char **argv, int *ret_status)
{
	static const char *const before[] = {"trace", "record"};
	return command_run_with(before, 2, argv + 1, argc - 1, ret_status);
}

static const char *const record_usage[] = {"[RECORD OPTIONS] [COMMAND [ARGUMENTS…]]", NULL};
static const struct command cmd_trace_record = {.name = "trace record",
						.summary = "Record what trace would show, for 'perf trace -i' and 'perf script'",
						.usage = record_usage,
						.run = run_record,
						.runs = "record",
						.own_options = true,
						.whole_word = true};
static const struct command *const subcommands[] = {&cmd_trace_record, NULL};
static const char *const usage[] = {"[OPTIONS] [COMMAND [ARGUMENTS…]]", "[OPTIONS] record [RECORD OPTIONS] [COMMAND [ARGUMENTS…]]",
				    "[OPTIONS] -i FILE", NULL};
const struct command cmd_trace = {"trace", "Trace system calls and other events", usage, trace_options, run, .subcommands = subcommands};

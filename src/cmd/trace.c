/* perf trace: the system calls of programs as they happen, with the strings and structures that their arguments point to. This file has the
 * options. */
#include "cmd/trace.h"

#include "analysis/call_sums.h"
#include "app/command.h"
#include "app/config.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "event/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_STRING_LIMIT = 64, MOST_STRING_LIMIT = 4094, DEFAULT_RING = 32 << 20, ALIGNMENT = 70 };

#define O struct trace_options

static struct error *parse_words(const struct option *option, const char *argument, bool negated, void *field)
{
	struct trace_options *options = (struct trace_options *)((char *)field - offsetof(struct trace_options, words));

	vec_push(&options->words, argument);
	return NULL;
}

static struct error *parse_duration(const struct option *option, const char *argument, bool negated, void *field)
{
	double milliseconds;

	if (!number_parse_double(argument, &milliseconds) || milliseconds < 0)
		return error_new_kind(ERROR_USAGE, "'%s' is no number of milliseconds", argument);
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
	return error_new_kind(ERROR_USAGE, "'%s': thread, total or cgroup", argument);
}

static struct error *parse_ring(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t bytes, pages, size = (uint64_t)sysconf(_SC_PAGESIZE);

	if (number_parse_u64(argument, &pages))
		bytes = pages * size;
	else if (!number_parse_size(argument, &bytes))
		return error_new_kind(ERROR_USAGE, "'%s': a number of pages, or a size such as 64M", argument);
	while (size < bytes && size < 1u << 30)
		size *= 2;
	*(uint64_t *)field = size;
	return NULL;
}

#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)

static const struct option trace_options[] = {
	OPTION_HEADING("Who is traced"),
	OPTION_FLAG('a', "all-cpus", O, system_wide, "everything, on all CPUs (also without a command or target)"),
	OPTION_STRING('p', "pid", O, pids, "PIDS", "these processes, with all their threads (comma-separated)"),
	OPTION_STRING('t', "tid", O, tids, "TIDS", "these threads"),
	OPTION_STRING('u', "uid", O, user, "USER", "the processes of a user, by name or number"),
	OPTION_STRING('C', "cpu", O, cpus, "LIST", "only on these CPUs, such as 0-3,7"),
	OPTION_FLAG(0, "no-inherit", O, no_inherit, "do not follow children and new threads"),
	OPTION_STRING('G', "cgroup", O, cgroup, "NAME", "only what runs in this control group, or below it (with -a)"),
	OPTION_U64('D', "delay", O, delay_ms, "MS", "begin so many milliseconds after the command"),
	OPTION_STRING(0, "filter-pids", O, filter_pids, "PIDS", "all but these processes"),

	OPTION_HEADING("What is traced"),
	CUSTOM('e', "expr", words, "LIST",
	       "these calls: names, patterns (open*), classes (%file %desc %net %process %memory %signal %ipc %stat); ! in front: all "
	       "others",
	       parse_words),
	CUSTOM(0, "duration", shortest, "MS", "only calls that took longer", parse_duration),
	OPTION_FLAG(0, "failure", O, failures, "only calls that failed"),
	OPTION_U64(0, "max-events", O, max_events, "N", "stop after so many lines"),

	OPTION_HEADING("Sums"),
	OPTION_FLAG('s', "summary", O, summary, "no lines, only how many calls there were and how long they took; added up in the kernel"),
	OPTION_FLAG('S', "with-summary", O, with_summary, "lines, and sums at the end"),
	CUSTOM(0, "summary-mode", summary_mode, "MODE", "sums for each thread (default), each cgroup, or in total", parse_mode),
	OPTION_FLAG(0, "errno-summary", O, errno_summary, "sums with the errors by name"),
	OPTION_FLAG(0, "hist", O, histograms, "sums with a histogram of durations, by powers of two"),

	OPTION_HEADING("Output"),
	OPTION_STRING('o', "output", O, output, "FILE", "write there instead of standard error (- for standard output)"),
	OPTION_FLAG('T', "time", O, print.full_time, "full time stamps, since the machine's start"),
	OPTION_FLAG(0, "comm", O, print.names, "show the names of threads (default)"),
	OPTION_FLAG(0, "json", O, print.json, "one JSON object a line"),
	OPTION_U64(0, "string-limit", O, string_limit, "BYTES", "of strings and buffers show so much (default 64); paths are shown whole"),
	CUSTOM('m', "mmap-pages", ring_bytes, "SIZE", "buffer between the kernel and perf, in pages or as 64M (default 32M)", parse_ring),
	OPTION_GROUP(output_option_group, O, verbosity),
	OPTION_END,
};

/* ---- what was asked for ---- */

static struct error *select_list(struct trace_table *table, const char *list)
{
	bool negated = *list == '!' || *list == '~';
	cleanup_free char *copy = mem_strdup(list + negated);
	char *rest = copy, *word;

	if (negated)
		trace_table_select_all(table, true);
	while ((word = strsep(&rest, ",")))
		if (*word && !trace_table_select(table, word, !negated))
			return error_new_kind(ERROR_USAGE, "-e: there is no system call '%s'", word);
	return NULL;
}

static struct error *select_calls(struct trace *trace, const struct trace_options *options)
{
	struct error *error = NULL;

	if (options->words.len)
		trace_table_select_all(&trace->table, false);
	for (size_t i = 0; i < options->words.len && !error; i++)
		error = select_list(&trace->table, options->words.data[i]);
	return error;
}

static struct error *choose_targets(struct trace *trace, const struct trace_options *options)
{
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
			return error_system(errno, "%s cannot be renamed to %s", path, old);
	}
	*ret = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return *ret < 0 ? error_system(errno, "%s", path) : NULL;
}

/* ---- running ---- */

static const char *name_of_thread(void *context, uint32_t tid)
{
	struct trace *trace = context;

	return trace_printer_thread_name(trace->printer, tid);
}

static struct error *show_sums(struct trace *trace)
{
	const struct trace_options *options = trace->options;
	struct call_sums_style style = {.errors = options->errno_summary,
					.histograms = options->histograms,
					.by_id = options->summary_mode != TRACE_TOTAL,
					.json = options->print.json,
					.kind = options->summary_mode == TRACE_BY_CGROUP ? "cgroup" : "tid"};
	struct strbuf text = {0};
	size_t at = 0;

	call_sums_add_text(trace->sums, &style, &text);
	while (at < text.len) {
		ssize_t written = write(trace->output, text.data + at, text.len - at);
		if (written < 0)
			break;
		at += (size_t)written;
	}
	strbuf_deinit(&text);
	return NULL;
}

/* The exit status is the workload's; who is ended by a signal ends by the same one. */
static void take_status(const struct trace *trace, int *ret_status)
{
	const struct workload *workload = &trace->workload;
	int number = trace->signal;

	if (workload->pid && workload->waited) {
		if (WIFEXITED(workload->status))
			*ret_status = WEXITSTATUS(workload->status);
		else if (WIFSIGNALED(workload->status))
			number = WTERMSIG(workload->status);
	}
	if (number)
		*ret_status = COMMAND_ENDS_BY_SIGNAL + number;
}

static struct error *trace_run(struct trace *trace, char **command, int *ret_status)
{
	const struct trace_options *options = trace->options;
	struct error *error = select_calls(trace, options);

	if (!error)
		error = choose_targets(trace, options);
	if (!error && *command)
		error = workload_start(&trace->workload, command, false);
	if (!error)
		error = open_output(options->output, &trace->output);
	if (error)
		return error;
	if (!options->summary) {
		struct trace_print_options print = options->print;
		print.fd = trace->output;
		print.style.thread_name = name_of_thread;
		print.style.thread_name_context = trace;
		trace->printer = trace_printer_create(&print);
	}
	if (options->summary || options->with_summary)
		trace->sums = call_sums_create();
	error = trace_live(trace);
	if (!error && trace->printer)
		error = trace_printer_write(trace->printer);
	workload_stop(&trace->workload);
	if (!error && trace->sums)
		error = show_sums(trace);
	if (!error)
		take_status(trace, ret_status);
	return error;
}

static void options_init(struct trace_options *options)
{
	*options = (struct trace_options){.string_limit = DEFAULT_STRING_LIMIT,
					  .ring_bytes = DEFAULT_RING,
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
	const char *text = config_get(&config, "trace.args_alignment");
	if (text && !number_parse_u32(text, &alignment))
		error = error_new("configuration: trace.args_alignment: '%s' is no number of columns", text);
	else if (text)
		options->print.alignment = alignment;
	const char *events = config_get(&config, "trace.add_events");
	if (!error && events && *events)
		vec_push(&options->words, mem_strdup(events));
	config_close(&config);
	return error;
}

static struct error *options_check(struct trace_options *options, bool command)
{
	if (options->string_limit > MOST_STRING_LIMIT)
		return error_new_kind(ERROR_USAGE, "--string-limit: at most %d bytes", MOST_STRING_LIMIT);
	if (options->pids && options->tids)
		return error_new_kind(ERROR_USAGE, "-p and -t exclude each other");
	if (!command && !options->pids && !options->tids && !options->user)
		options->system_wide = true;
	options->print.style.string_limit = (uint32_t)options->string_limit;
	options->print.most = options->max_events;
	options->print.completed_only = options->shortest || options->failures;
	options->summary |= options->errno_summary || options->histograms ? !options->with_summary : false;
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct trace_options options;
	struct trace trace = {.options = &options, .output = -1};
	struct utsname system;
	int words;

	options_init(&options);
	struct error *error = options_configure(&options);
	if (!error)
		error = options_parse(trace_options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &options, &words);
	if (!error)
		error = options_check(&options, words);
	if (!error) {
		struct event_catalog *catalog = event_catalog_create("");
		uname(&system);
		trace_table_init(&trace.table, system.machine, catalog);
		error = trace_run(&trace, argv, ret_status);
		event_catalog_destroy(catalog);
	}
	trace_printer_destroy(trace.printer);
	call_sums_destroy(trace.sums);
	workload_deinit(&trace.workload);
	vec_deinit(&trace.targets);
	vec_deinit(&options.words);
	trace_table_deinit(&trace.table);
	if (trace.output > STDERR_FILENO)
		close(trace.output);
	return error;
}

static const char *const usage[] = {"[OPTIONS] [COMMAND [ARGUMENTS…]]", NULL};

const struct command cmd_trace = {
	.name = "trace",
	.summary = "Show the system calls of programs, with their strings, as they happen",
	.usage = usage,
	.options = trace_options,
	.run = run,
};

/* perf ftrace: the functions of the kernel as it calls them, by the kernel's own tracers. This file has the options. */
#include "cmd/ftrace/ftrace.h"

#include "app/command.h"
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define O struct ftrace_options

/* Options that may be repeated; the words are those of the command line. */
static struct error *parse_name(const struct option *option, const char *argument, bool negated, void *field)
{
	struct pattern_list *list = field;

	vec_push(&list->items, argument);
	return NULL;
}

/* -F, with a pattern or without. */
static struct error *parse_functions(const struct option *option, const char *argument, bool negated, void *field)
{
	O *options = (O *)((char *)field - offsetof(O, filter));

	options->list_functions = true;
	options->filter = argument;
	return NULL;
}

/* Bytes with a unit, kept in KB as the kernel takes them. */
static struct error *parse_size(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t bytes;

	if (!number_parse_size(argument, &bytes) || bytes < 1024)
		return error_new_kind(ERROR_USAGE, "invalid size '%s': expected at least 1K, such as 16M", argument);
	*(uint64_t *)field = bytes / 1024;
	return NULL;
}

static struct error *parse_function_options(const struct option *option, const char *argument, bool negated, void *field)
{
	struct function_tracer_options *tracing = field;
	cleanup_free char *copy = mem_strdup(argument);
	char *rest = copy, *word;

	while ((word = strsep(&rest, ",")))
		if (!strcmp(word, "call-graph"))
			tracing->call_stacks = true;
		else if (!strcmp(word, "irq-info"))
			tracing->irq_info = true;
		else
			return error_new_kind(ERROR_USAGE, "'%s': call-graph, irq-info", word);
	return NULL;
}

/* One word of --graph-opts. */
static struct error *parse_graph_option(struct function_tracer_options *tracing, const char *word)
{
	if (!strcmp(word, "nosleep-time"))
		tracing->no_sleep_time = true;
	else if (!strcmp(word, "noirqs"))
		tracing->no_irqs = true;
	else if (!strcmp(word, "verbose"))
		tracing->verbose = true;
	else if (!strcmp(word, "tail"))
		tracing->tail = true;
	else if (!(str_starts_with(word, "thresh=") && number_parse_u64(word + 7, &tracing->threshold_us)) &&
		 !(str_starts_with(word, "depth=") && number_parse_u32(word + 6, &tracing->depth)))
		return error_new_kind(ERROR_USAGE, "'%s': nosleep-time, noirqs, verbose, tail, thresh=MICROSECONDS, depth=LEVELS", word);
	return NULL;
}

static struct error *parse_graph_options(const struct option *option, const char *argument, bool negated, void *field)
{
	cleanup_free char *copy = mem_strdup(argument);
	char *rest = copy, *word;
	struct error *error = NULL;

	while (!error && (word = strsep(&rest, ",")))
		error = parse_graph_option(field, word);
	return error;
}

#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)

static const struct option shared_group[] = {
	OPTION_HEADING("Targets"),
	OPTION_STRING('p', "pid", O, pids, "PIDS", "trace these processes with their threads (comma-separated)"),
	OPTION_STRING(0, "tid", O, tids, "TIDS", "trace these threads (comma-separated)"),
	OPTION_FLAG('a', "all-cpus", O, system_wide, "trace the whole system, even with a command"),
	OPTION_STRING('C', "cpu", O, cpus, "LIST", "trace only these CPUs, such as 0-3,7"),
	OPTION_FLAG(0, "inherit", O, tracing.inherit, "also trace child processes"),
	OPTION_U64('D', "delay", O, delay_ms, "MS", "start tracing MS milliseconds after the command"),

	OPTION_HEADING("Functions"),
	CUSTOM('T', "trace-funcs", tracing.functions, "FUNCTION", "trace these functions; * is a wildcard; may be repeated", parse_name),
	CUSTOM('N', "notrace-funcs", tracing.not_functions, "FUNCTION", "do not trace these functions", parse_name),
	CUSTOM('G', "graph-funcs", tracing.graphs, "FUNCTION", "trace these functions and what they call (function_graph)", parse_name),
	CUSTOM('g', "nograph-funcs", tracing.not_graphs, "FUNCTION", "do not trace these functions and what they call (function_graph)",
	       parse_name),

	OPTION_HEADING("Tracing"),
	CUSTOM('m', "buffer-size", tracing.buffer_kb, "SIZE", "size of the kernel's buffer per CPU, such as 16M", parse_size),
	CUSTOM(0, "func-opts", tracing, "LIST", "for function: call-graph (with callers), irq-info", parse_function_options),
	CUSTOM(0, "graph-opts", tracing, "LIST", "function_graph: nosleep-time, noirqs, verbose, tail, thresh=US, depth=N",
	       parse_graph_options),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_END,
};

#define SHARED                                                                   \
	{                                                                        \
		OPTION_KIND_GROUP, 0, NULL, 0, NULL, NULL, NULL, shared_group, 0 \
	}

static const struct option trace_table[] = {
	OPTION_HEADING("Tracer"),
	OPTION_STRING('t', "tracer", O, tracer, "TRACER", "function_graph (default), or function (default with -T and -N)"),
	OPTION_CUSTOM_FLAGS('F', "funcs", O, filter, "FILTER", "list the functions that can be traced, optionally by pattern",
			    parse_functions, OPTION_NO_NEGATION | OPTION_OPTIONAL_ARGUMENT | OPTION_LAST_ARGUMENT),
	SHARED,
	OPTION_END,
};

static const struct option profile_table[] = {
	OPTION_HEADING("Table"),
	OPTION_STRING('s', "sort", O, sort, "COLUMN", "sort by total (default), avg, max, count or name"),
	SHARED,
	OPTION_END,
};

static const struct option latency_table[] = {
	OPTION_HEADING("Histogram"),
	OPTION_FLAG('n', "use-nsec", O, in_ns, "buckets in nanoseconds"),
	OPTION_FLAG('b', "use-bpf", O, use_bpf, "measure with a BPF program, which adds up the times in the kernel"),
	SHARED,
	OPTION_END,
};

/* ---- -F ---- */

/* As the kernel lists them: functions of modules have their module behind them. */
static struct error *list_functions(const struct ftrace_options *options)
{
	cleanup_free char *tracefs = NULL, *path = NULL;
	struct strbuf text = {0};
	struct error *error = tracefs_find("", &tracefs);

	if (error)
		return error;
	path = mem_printf("%s/available_filter_functions", tracefs);
	int result = proc_read_file(AT_FDCWD, path, &text);
	if (result)
		error = result == -ENOENT ? error_new_kind(ERROR_UNSUPPORTED,
							   "this kernel was built without function tracers (CONFIG_FUNCTION_TRACER)")
					  : error_system(-result, "%s", path);
	if (!error)
		pager_start("ftrace");
	for (char *rest = error ? NULL : text.data, *line; rest && (line = strsep(&rest, "\n"));) {
		size_t len = strcspn(line, " \t");
		cleanup_free char *name = mem_strndup(line, len);
		if (len && (!options->filter || str_glob_match(options->filter, name)))
			puts(line);
	}
	strbuf_deinit(&text);
	return error;
}

/* ---- */

/* By what the lists of functions are for. */
static void choose_tracer(struct ftrace_options *options)
{
	const struct function_tracer_options *tracing = &options->tracing;
	bool graph = tracing->graphs.items.len || tracing->not_graphs.items.len;
	bool function = tracing->functions.items.len || tracing->not_functions.items.len;

	if (!options->tracer)
		options->tracer = graph || !function ? "function_graph" : "function";
}

/* What only the kernel's tracers know. */
static bool sets_tracer(const struct function_tracer_options *tracing)
{
	return tracing->not_functions.items.len || tracing->graphs.items.len || tracing->not_graphs.items.len || tracing->buffer_kb ||
	       tracing->inherit || tracing->call_stacks || tracing->irq_info || tracing->no_sleep_time || tracing->no_irqs ||
	       tracing->verbose || tracing->tail || tracing->threshold_us || tracing->depth;
}

/* What options exclude each other. */
static struct error *check(const struct ftrace_options *options, int words)
{
	if (words && (options->pids || options->tids))
		return error_new_kind(ERROR_USAGE, "a command and -p or -t cannot be combined");
	if (options->use_bpf && sets_tracer(&options->tracing))
		return error_new_kind(ERROR_USAGE,
				      "-b does not use the kernel's tracers: omit -N, -G, -g, -m, --inherit, --func-opts and --graph-opts");
	return NULL;
}

typedef struct error *ftrace_action(struct ftrace_options *options, char **command, int *ret_status);

static struct error *run_with(const struct option *table, ftrace_action *act, int argc, char **argv, int *ret_status)
{
	struct ftrace_options options = {0};
	int words;

	struct error *error = options_parse(table, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &options, &words);
	if (!error)
		error = check(&options, words);
	if (!error)
		error = act(&options, words ? argv : NULL, ret_status);
	vec_deinit(&options.tracing.functions.items);
	vec_deinit(&options.tracing.not_functions.items);
	vec_deinit(&options.tracing.graphs.items);
	vec_deinit(&options.tracing.not_graphs.items);
	return error;
}

static struct error *trace(struct ftrace_options *options, char **command, int *ret_status)
{
	if (options->list_functions)
		return list_functions(options);
	choose_tracer(options);
	return ftrace_trace(options, command, ret_status);
}

static struct error *run_trace(int argc, char **argv, int *ret_status)
{
	return run_with(trace_table, trace, argc, argv, ret_status);
}

static struct error *run_profile(int argc, char **argv, int *ret_status)
{
	return run_with(profile_table, ftrace_profile, argc, argv, ret_status);
}

static struct error *run_latency(int argc, char **argv, int *ret_status)
{
	return run_with(latency_table, ftrace_latency, argc, argv, ret_status);
}

static const char *const command_usage[] = {"[OPTIONS] [COMMAND [ARGUMENTS...]]", NULL};
static const char *const latency_usage[] = {"-T FUNCTION [OPTIONS] [COMMAND [ARGUMENTS...]]", NULL};
static const struct command cmd_ftrace_trace = {
	"ftrace trace", "Show the functions as they are called (default)", command_usage, trace_table, run_trace, .whole_word = true};
static const struct command cmd_ftrace_profile = {"ftrace profile", "Show how often functions are called, and how long they take",
						  command_usage,    profile_table,
						  run_profile,	    .whole_word = true};
static const struct command cmd_ftrace_latency = {"ftrace latency", "Show a histogram of how long calls of a function take",
						  latency_usage,    latency_table,
						  run_latency,	    .whole_word = true};
static const struct command *const subcommands[] = {&cmd_ftrace_trace, &cmd_ftrace_profile, &cmd_ftrace_latency, NULL};
static const char *const usage[] = {"[trace] [OPTIONS] [COMMAND [ARGUMENTS...]]", "{profile|latency} [OPTIONS] [COMMAND [ARGUMENTS...]]",
				    "-F [FILTER]", NULL};
const struct command cmd_ftrace = {"ftrace", "Trace kernel functions", usage, trace_table, run_trace, .subcommands = subcommands};

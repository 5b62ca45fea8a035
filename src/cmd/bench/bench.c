/* perf bench: small programs that measure one thing each: the scheduler, system calls, memory, locks, perf itself. Their results are
 * comparable with those of the kernel's tool: they do the same work, and tell it in the same words.
 *
 *	perf bench                          the collections
 *	perf bench sched                    the benchmarks of a collection
 *	perf bench sched pipe -l 10000      one of them
 *	perf bench -f simple sched all      all of a collection, figures alone
 *
 * Options before the collection's name hold for all benchmarks, and have other meanings behind it. */
#include "cmd/bench/bench.h"

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum bench_format { BENCH_DEFAULT, BENCH_SIMPLE, BENCH_JSON };

struct bench_options {
	enum bench_format format;
	uint64_t repeat;
	struct bench_common common; /* of all benchmarks; each has its own, too */
};

/* What stands before the collection's name; benchmarks are commands of their own, which main runs. */
static struct bench_options settings = {.repeat = BENCH_TIMES};
static struct strbuf figures; /* the members of the JSON object of the running benchmark */

static struct error *parse_format(const struct option *option, const char *argument, bool negated, void *field)
{
	enum bench_format *format = field;
	if (!strcmp(argument, "default"))
		*format = BENCH_DEFAULT;
	else if (!strcmp(argument, "simple"))
		*format = BENCH_SIMPLE;
	else if (!strcmp(argument, "json"))
		*format = BENCH_JSON;
	else
		return error_new_kind(ERROR_USAGE, "invalid format '%s': expected default, simple or json", argument);
	return NULL;
}

const struct option bench_common_group[] = {
	OPTION_FLAG(0, "json", struct bench_common, json, "write the results as JSON, one object for each benchmark"),
	OPTION_END,
};

static const struct option bench_table[] = {
	OPTION_CUSTOM_FLAGS('f', "format", struct bench_options, format, "FORMAT", "default, simple (figures alone) or json", parse_format,
			    OPTION_NO_NEGATION),
	OPTION_U64('r', "repeat", struct bench_options, repeat, "N", "runs of benchmarks that repeat themselves (default 10)"),
	OPTION_GROUP(bench_common_group, struct bench_options, common),
	OPTION_END,
};

const char *const bench_usage[] = {"[OPTIONS]", NULL};

/* ---- results ---- */

unsigned int bench_times(void)
{
	return (unsigned int)settings.repeat;
}

void bench_begin(const char *name, const struct bench_common *common)
{
	if (common->json || settings.common.json)
		settings.format = BENCH_JSON;
	if (settings.format == BENCH_JSON) {
		struct json json = {.out = &figures};
		strbuf_clear(&figures);
		json_begin_object(&json);
		json_add_string(&json, "benchmark", name);
		strbuf_add_str(&figures, ",\"figures\":[");
	}
	bench_say("# Running '%s' benchmark:\n", name);
}

void bench_end(void)
{
	if (settings.format == BENCH_JSON)
		printf("%s]}\n", strbuf_str(&figures));
	strbuf_deinit(&figures);
	fflush(stdout);
}

/* What is written stands there at once: the next figure may take seconds. */
static void print_if(bool wanted, const char *format, va_list arguments)
{
	if (wanted)
		vprintf(format, arguments);
	fflush(stdout);
}

void bench_say(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	print_if(settings.format == BENCH_DEFAULT, format, arguments);
	va_end(arguments);
}

void bench_print(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	print_if(settings.format != BENCH_JSON, format, arguments);
	va_end(arguments);
}

void bench_simple(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	print_if(settings.format == BENCH_SIMPLE, format, arguments);
	va_end(arguments);
}

void bench_figure(const char *unit, double value, const char *name, ...)
{
	if (settings.format != BENCH_JSON)
		return;
	va_list arguments;
	va_start(arguments, name);
	char *text = mem_vprintf(name, arguments);
	va_end(arguments);
	struct json json = {.out = &figures, .needs_comma = strbuf_str(&figures)[figures.len - 1] != '['};
	json_begin_object(&json);
	json_add_string(&json, "name", text);
	json_add_string(&json, "unit", unit);
	json_name(&json, "value");
	if (isfinite(value))
		json_value(&json, "%.6f", value);
	else
		json_value(&json, "null");
	json_end_object(&json);
	free(text);
}

void bench_total(uint64_t elapsed_ns)
{
	double seconds = (double)elapsed_ns / 1e9;
	bench_simple("%.3f\n", seconds);
	bench_say(" %14s: %.3f [sec]\n", "Total time", seconds);
	bench_figure("s", seconds, "total time");
}

void bench_time(uint64_t elapsed_ns, uint64_t operations)
{
	double us = (double)elapsed_ns / 1e3 / (double)operations;
	double rate = (double)operations / ((double)elapsed_ns / 1e9);
	bench_total(elapsed_ns);
	bench_say("\n %14lf usecs/op\n %14.0f ops/sec\n", us, rate);
	bench_figure("us", us, "time per operation");
	bench_figure("1/s", rate, "operations per second");
}

struct error *bench_check_positive(const char *option, uint64_t value)
{
	return value ? NULL : error_new_kind(ERROR_USAGE, "%s: expected at least 1", option);
}

/* ---- threads ---- */

void bench_cpus_init(struct bench_cpus *cpus)
{
	cpu_set_t set;
	*cpus = (struct bench_cpus){0};
	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	cpus->cpus = mem_alloc_array(CPU_SETSIZE, sizeof(*cpus->cpus));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus->cpus[cpus->count++] = cpu;
	if (!cpus->count)
		cpus->cpus[cpus->count++] = 0;
}

void bench_cpus_deinit(struct bench_cpus *cpus)
{
	free(cpus->cpus);
	*cpus = (struct bench_cpus){0};
}

struct error *bench_start(const struct bench_cpus *cpus, size_t index, void *(*start)(void *), void *argument, pthread_t *ret_thread)
{
	pthread_attr_t attr;
	cpu_set_t set;
	pthread_attr_init(&attr);
	CPU_ZERO(&set);
	CPU_SET(cpus->cpus[index % cpus->count], &set);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	int result = pthread_create(ret_thread, &attr, start, argument);
	pthread_attr_destroy(&attr);
	return result ? error_system(result, "cannot start thread %zu", index + 1) : NULL;
}

/* ---- collections ---- */

extern const struct command cmd_bench;

static const struct command *const bench_collections[] = {&bench_sched, &bench_syscall,	  &bench_mem,	     &bench_numa,   &bench_futex,
							  &bench_epoll, &bench_internals, &bench_breakpoint, &bench_uprobe, NULL};

static const char *last_word(const struct command *command)
{
	return strrchr(command->name, ' ') + 1;
}

static void list_benchmarks(const struct command *collection)
{
	printf("\n        # List of available benchmarks for collection '%s':\n\n", last_word(collection));
	for (const struct command *const *one = collection->subcommands; *one; one++)
		printf("%14s: %s\n", last_word(*one), (*one)->summary);
	printf("%14s: %s\n\n", "all", "Run all benchmarks of this collection");
}

static struct error *run_all(const struct command *collection)
{
	struct error *error = NULL;
	for (const struct command *const *one = collection->subcommands; *one && !error; one++) {
		char *argv[] = {(char *)last_word(*one), NULL};
		int status = 0;
		error = (*one)->run(1, argv, &status);
		if (error && (error_kind(error) == ERROR_UNSUPPORTED || error_kind(error) == ERROR_PERMISSION)) { /* on to the next */
			log_warning("perf %s: %s", (*one)->name, error_message(error));
			error_free(error);
			error = NULL;
		}
		bench_say("\n");
	}
	return error;
}

static struct error *unknown_word(const struct command *command, const char *kind, const char *word)
{
	struct strbuf safe = {0};
	text_add_safe(&safe, word, strlen(word));
	struct error *error = error_new_kind(ERROR_USAGE, "unknown %s '%s'; 'perf %s' lists them", kind, strbuf_str(&safe), command->name);
	strbuf_deinit(&safe);
	return error;
}

struct error *bench_run_collection(const struct command *collection, int argc, char **argv, int *ret_status)
{
	static const struct option none[] = {OPTION_END};
	int words;
	struct error *error = options_parse(none, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, NULL, &words);
	if (error)
		return error;
	if (!words)
		list_benchmarks(collection);
	else if (!strcmp(argv[0], "all"))
		error = words > 1 ? error_new_kind(ERROR_USAGE, "'all' runs each benchmark as it is, without options")
				  : run_all(collection);
	else
		error = unknown_word(collection, "benchmark", argv[0]);
	return error;
}

/* Options stood before the name of a collection, or there is no such one: main has not found it. */
static struct error *run_named(int words, char **argv, int *ret_status)
{
	char **all = mem_alloc_array((size_t)words + 2, sizeof(*all));
	const struct command *command = &cmd_bench, *next;
	int argc = words + 1, at = 0;
	char **rest = all;
	all[0] = (char *)"bench";
	memcpy(all + 1, argv, (size_t)words * sizeof(*all));
	all[argc] = NULL;
	while (command->subcommands && (next = command_find_subcommand(command, argc, rest, &at))) {
		argc -= at;
		rest += at;
		command = next;
	}
	struct error *error = command == &cmd_bench ? unknown_word(command, "collection", argv[0]) : command->run(argc, rest, ret_status);
	free(all);
	return error;
}

static void list_collections(void)
{
	puts("Usage: \n\tperf bench [<common options>] <collection> <benchmark> [<options>]\n\n        # List of all available benchmark collections:\n");
	for (const struct command *const *one = bench_collections; *one; one++)
		printf("%14s: %s\n", last_word(*one), (*one)->summary);
	printf("%14s: %s\n\n", "all", "All benchmarks");
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	int words;
	struct error *error = options_parse(bench_table, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &settings, &words);
	if (!error)
		error = bench_check_positive("--repeat", settings.repeat);
	if (error)
		return error;
	if (!words) {
		list_collections();
		return NULL;
	}
	if (strcmp(argv[0], "all"))
		return run_named(words, argv, ret_status);
	if (words > 1)
		return error_new_kind(ERROR_USAGE, "'all' runs each benchmark as it is, without options");
	for (const struct command *const *one = bench_collections; *one && !error; one++)
		error = run_all(*one);
	return error;
}

static const char *const usage[] = {"[OPTIONS] [COLLECTION [BENCHMARK [BENCHMARK'S OPTIONS]]]", "[OPTIONS] all", NULL};
const struct command cmd_bench = {"bench", "Measure the scheduler, system calls, memory, locks and perf itself",
				  usage,   bench_table,
				  run,	   .subcommands = bench_collections};

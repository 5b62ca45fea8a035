/* perf probe: events of one's own, at places of programs and of the kernel that nobody thought of before. This file has the options. */
#include "cmd/probe.h"
#include "cmd/probe_cache.h"

#include "app/command.h"
#include "base/mem.h"
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MAX_PROBES = 128 };

#define O struct probe_options

static struct error *parse_word(const struct option *option, const char *argument, bool negated, void *field)
{
	struct probe_words *words = field;

	vec_push(&words->items, argument);
	return NULL;
}

static struct error *parse_functions(const struct option *option, const char *argument, bool negated, void *field)
{
	O *options = (O *)((char *)field - offsetof(O, functions_pattern));

	options->functions = true;
	options->functions_pattern = argument;
	return NULL;
}

static struct error *parse_list(const struct option *option, const char *argument, bool negated, void *field)
{
	O *options = (O *)((char *)field - offsetof(O, list_pattern));

	options->list = true;
	options->list_pattern = argument;
	return NULL;
}

#define CUSTOM(s, l, field, a, h, p) OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION)
#define OPTIONAL(s, l, field, a, h, p) \
	OPTION_CUSTOM_FLAGS(s, l, O, field, a, h, p, OPTION_NO_NEGATION | OPTION_OPTIONAL_ARGUMENT | OPTION_LAST_ARGUMENT)

static const struct option probe_options[] = {
	OPTION_HEADING("What to do"),
	CUSTOM('a', "add", add, "PROBE",
	       "make a probe (also without -a): [[GROUP:]EVENT=]FUNCTION[@FILE][+OFFSET|%return|:LINE|;PATTERN] [ARGUMENT...]", parse_word),
	CUSTOM('d', "del", delete, "[GROUP:]EVENT", "delete probes, with * and ? many", parse_word),
	OPTIONAL('l', "list", list_pattern, "[GROUP:]EVENT", "list the probes there are", parse_list),
	OPTION_STRING('L', "line", O, lines, "PLACE",
		      "show lines of source, those where probes can be with their numbers: FUNCTION[:FIRST[-LAST]] or FILE:…"),
	OPTION_STRING('V', "vars", O, variables, "PLACE", "show the variables that a probe there could tell"),
	OPTIONAL('F', "funcs", functions_pattern, "FILTER", "show the functions", parse_functions),
	CUSTOM('D', "definition", define, "PROBE", "show the kernel's definition of a probe instead of making it", parse_word),

	OPTION_HEADING("Where"),
	OPTION_STRING('x', "exec", O, exec, "FILE", "in this program or library, by path or name; without: in the kernel"),
	OPTION_STRING('m', "module", O, module, "NAME", "in this module of the kernel, by name or by its file"),
	OPTION_STRING('k', "vmlinux", O, vmlinux, "FILE", "the kernel's image with debug information"),
	OPTION_STRING('s', "source", O, source, "DIRECTORY", "where sources are now"),
	OPTION_STRING(0, "symfs", O, symfs, "DIRECTORY", "look for programs and their debug files below DIRECTORY"),
	OPTION_U64(0, "target-ns", O, namespace_pid, "PID", "-x is a path as this process sees it (in a container)"),

	OPTION_HEADING("How"),
	OPTION_FLAG('f', "force", O, force, "add under another name (_1, _2) when an event of the name is there"),
	OPTION_FLAG('n', "dry-run", O, dry_run, "change nothing"),
	OPTION_U64(0, "max-probes", O, max_probes, "N", "refuse what means more than N places (default 128)"),
	OPTION_FLAG(0, "no-inlines", O, no_inlines, "leave out places where functions are inlined"),
	OPTION_FLAG(0, "externs", O, externs, "-V: also variables outside of functions"),
	OPTION_FLAG(0, "range", O, range, "-V: also where variables have a value, in bytes from the function's beginning"),
	OPTION_STRING(0, "filter", O, filter, "FILTER", "-V, -F: only names that match: patterns with &, |, ! and brackets"),
	OPTION_FLAG(0, "bootconfig", O, bootconfig, "-D: in the form that the kernel reads while it starts"),
	OPTION_FLAG(0, "demangle", O, demangle, "show C++ and Rust names as in the source (default)"),
	OPTION_FLAG(0, "demangle-kernel", O, demangle_kernel, "the same in the kernel"),
	OPTION_FLAG(0, "cache", O, cache, "-a: keep the probe in the build-id cache, too; -l, -d: of the probes that are kept there"),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_END,
};

static int count_modes(const struct probe_options *options)
{
	return (options->add.items.len > 0) + (options->delete.items.len > 0) + options->list + (options->lines != NULL) +
	       (options->variables != NULL) + options->functions + (options->define.items.len > 0);
}

/* The words of the command line are one definition together. */
static char *join(int count, char *const *words)
{
	struct strbuf out = {0};

	for (int i = 0; i < count; i++)
		strbuf_printf(&out, "%s%s", i ? " " : "", words[i]);
	return strbuf_detach(&out);
}

static struct error *act(const struct probe_options *options, int *ret_status)
{
	if (options->list)
		return options->cache ? probe_cached_list(options) : probe_list(options);
	if (options->delete.items.len)
		return options->cache ? probe_cached_delete(options, ret_status) : probe_delete(options, ret_status);
	if (options->lines)
		return probe_show_lines(options);
	if (options->variables)
		return probe_show_variables(options);
	if (options->functions)
		return probe_show_functions(options);
	return probe_add(options, ret_status);
}

static struct error *check(const struct probe_options *options)
{
	int modes = count_modes(options);

	if (!modes)
		return error_new_kind(ERROR_USAGE, "what to do? A probe to make, or one of -a -d -l -L -V -F -D");
	if (modes > 1)
		return error_new_kind(ERROR_USAGE, "only one of -a, -d, -l, -L, -V, -F and -D at a time");
	if (options->cache && !options->add.items.len && !options->list && !options->delete.items.len)
		return error_new_kind(ERROR_USAGE, "--cache goes with -a, -l and -d");
	if (options->exec && options->module)
		return error_new_kind(ERROR_USAGE, "-x is for programs, -m for the kernel: only one of them");
	if (options->exec && options->vmlinux)
		return error_new_kind(ERROR_USAGE, "-x is for programs, -k for the kernel: only one of them");
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct probe_options options = {.max_probes = DEFAULT_MAX_PROBES, .demangle = true};
	int words;
	char *joined = NULL;
	struct error *error = options_parse(probe_options, OPTIONS_PERMUTE, argc, argv, &options, &words);

	if (!error && words) {
		joined = join(words, argv);
		vec_push(&options.add.items, joined);
	}
	if (!error)
		error = check(&options);
	if (!error)
		error = act(&options, ret_status);
	free(joined);
	vec_deinit(&options.add.items);
	vec_deinit(&options.delete.items);
	vec_deinit(&options.define.items);
	return error;
}

static const char *const usage[] = {"[OPTIONS] PROBE",
				    "[OPTIONS] -a PROBE...",
				    "[OPTIONS] -d [GROUP:]EVENT...",
				    "-l [[GROUP:]EVENT]",
				    "[OPTIONS] -L PLACE | -V PLACE | -F [FILTER] | -D PROBE...",
				    NULL};
const struct command cmd_probe = {"probe", "Make events at any place of a program or the kernel", usage, probe_options, run};

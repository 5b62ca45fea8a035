/* perf probe: events of one's own, at places of programs and of the kernel that nobody thought of before. This file has the options. */
#include "cmd/probe/probe.h"
#include "cmd/probe/cache.h"

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
	OPTION_HEADING("Actions"),
	CUSTOM('a', "add", add, "PROBE",
	       "add a probe (-a may be omitted): [[GROUP:]EVENT=]FUNCTION[@FILE][+OFFSET|%return|:LINE|;PATTERN] [ARGUMENT...]",
	       parse_word),
	CUSTOM('d', "del", delete, "[GROUP:]EVENT", "delete probes; * and ? are wildcards", parse_word),
	OPTIONAL('l', "list", list_pattern, "[GROUP:]EVENT", "list the existing probes", parse_list),
	OPTION_STRING('L', "line", O, lines, "PLACE",
		      "show source lines, with line numbers where probes are possible: FUNCTION[:FIRST[-LAST]] or FILE:…"),
	OPTION_STRING('V', "vars", O, variables, "PLACE", "show the variables available to a probe at this place"),
	OPTIONAL('F', "funcs", functions_pattern, "FILTER", "list the functions that can be probed", parse_functions),
	CUSTOM('D', "definition", define, "PROBE", "show the kernel's definition of a probe instead of adding it", parse_word),

	OPTION_HEADING("Places"),
	OPTION_STRING('x', "exec", O, target.exec, "FILE", "probe this program or library, by path or name (default: the kernel)"),
	OPTION_STRING('m', "module", O, target.module, "NAME", "probe this kernel module, by name or file"),
	OPTION_STRING('k', "vmlinux", O, target.vmlinux, "FILE", "kernel image with debug information"),
	OPTION_STRING('s', "source", O, target.source, "DIRECTORY", "look for source files under DIRECTORY"),
	OPTION_STRING(0, "symfs", O, target.symfs, "DIRECTORY", "look for programs and their debug files under DIRECTORY"),
	OPTION_U64(0, "target-ns", O, target.namespace_pid, "PID",
		   "resolve the path of -x in the mount namespace of this process (a container)"),

	OPTION_HEADING("Modifiers"),
	OPTION_FLAG('f', "force", O, force, "add under another name (_1, _2) if an event with the name exists"),
	OPTION_FLAG('n', "dry-run", O, dry_run, "change nothing"),
	OPTION_U64(0, "max-probes", O, target.max_probes, "N", "refuse a probe that matches more than N places (default 128)"),
	OPTION_FLAG(0, "no-inlines", O, target.no_inlines, "skip places where functions are inlined"),
	OPTION_FLAG(0, "externs", O, externs, "with -V: also show variables outside of functions"),
	OPTION_FLAG(0, "range", O, range, "with -V: also show where variables have a value, in bytes from the beginning of the function"),
	OPTION_STRING(0, "filter", O, filter, "FILTER",
		      "with -V and -F: show only matching names; patterns can be combined with &, |, "
		      "! and parentheses"),
	OPTION_FLAG(0, "bootconfig", O, bootconfig, "with -D: print in the form of the kernel's boot configuration"),
	OPTION_FLAG(0, "demangle", O, target.demangle, "show C++ and Rust names as in the source (default)"),
	OPTION_FLAG(0, "demangle-kernel", O, demangle_kernel, "do the same for kernel symbols"),
	OPTION_FLAG(0, "cache", O, cache, "with -a: also add the probe to the build-id cache; with -l and -d: use the cached probes"),
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
		return error_new_kind(ERROR_USAGE, "nothing to do: give a probe to add, or one of -a -d -l -L -V -F -D");
	if (modes > 1)
		return error_new_kind(ERROR_USAGE, "-a, -d, -l, -L, -V, -F and -D cannot be combined");
	if (options->cache && !options->add.items.len && !options->list && !options->delete.items.len)
		return error_new_kind(ERROR_USAGE, "--cache works with -a, -l and -d only");
	if (options->target.exec && options->target.module)
		return error_new_kind(ERROR_USAGE, "-x (program) and -m (kernel) cannot be combined");
	if (options->target.exec && options->target.vmlinux)
		return error_new_kind(ERROR_USAGE, "-x (program) and -k (kernel) cannot be combined");
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct probe_options options = {.target.max_probes = DEFAULT_MAX_PROBES, .target.demangle = true};
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
const struct command cmd_probe = {"probe", "Define events at any place in a program or the kernel", usage, probe_options, run};

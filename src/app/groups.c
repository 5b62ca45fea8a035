/* The option groups that several commands share (groups.h). */
#include "app/groups.h"

#include "base/log.h"
#include "base/number.h"

static struct error *parse_jobs(const struct option *option, const char *argument, bool negated, void *field)
{
	uint32_t jobs = 0;
	if (!negated && (!number_parse_u32(argument, &jobs) || jobs < 1 || jobs > 1024))
		return error_new_kind(ERROR_USAGE, "'%s' is not a number from 1 to 1024", argument);
	*(int *)field = (int)jobs;
	return NULL;
}

static struct error *parse_seconds(const struct option *option, const char *argument, bool negated, void *field)
{
	uint32_t seconds;
	if (!number_parse_u32(argument, &seconds) || seconds > 86400)
		return error_new_kind(ERROR_USAGE, "'%s' is not a number of seconds", argument);
	*(int *)field = (int)seconds;
	return NULL;
}

const struct option input_option_group[] = {
	OPTION_HEADING("Input"),
	OPTION_STRING('i', "input", struct input_options, input, "FILE", "recording to read (default perf.data; - for standard input)"),
	OPTION_FLAG('f', "force", struct input_options, force, "read the recording even when it belongs to another user"),
	OPTION_CUSTOM(0, "jobs", struct input_options, jobs, "N", "threads to work with (default: one for each CPU)", parse_jobs),
	OPTION_HEADING("Symbols"),
	OPTION_STRING(0, "symfs", struct input_options, symfs, "DIRECTORY", "look for programs, libraries and debug files below DIRECTORY"),
	OPTION_STRING('k', "vmlinux", struct input_options, vmlinux, "FILE", "kernel image to take kernel symbols from"),
	OPTION_FLAG(0, "ignore-vmlinux", struct input_options, ignore_vmlinux, "don't look for a kernel image"),
	OPTION_STRING(0, "kallsyms", struct input_options, kallsyms, "FILE", "take kernel symbols from this copy of /proc/kallsyms"),
	OPTION_FLAG('m', "modules", struct input_options, load_modules, "read module symbols from the module files, with -k"),
	OPTION_CUSTOM_FLAGS(0, "debuginfod-timeout", struct input_options, debuginfod_seconds, "SECONDS",
			    "how long to wait in all for debug files from the servers of DEBUGINFOD_URLS (default 30; 0: nothing is fetched)", parse_seconds, OPTION_NO_NEGATION),
	OPTION_FLAG(0, "demangle", struct input_options, demangle, "show C++, Rust and D names as in the source (default; --no-demangle: as linked)"),
	OPTION_FLAG(0, "demangle-kernel", struct input_options, demangle_kernel, "the same for kernel symbols"),
	OPTION_END,
};

void input_options_init(struct input_options *options)
{
	*options = (struct input_options){.demangle = true, .debuginfod_seconds = -1, .sandbox = true};
}

static struct error *parse_verbose(const struct option *option, const char *argument, bool negated, void *field)
{
	int *verbose = field;
	*verbose = negated ? 0 : *verbose + 1;
	log_set_level(*verbose > 1 ? LOG_DEBUG : *verbose ? LOG_INFO : LOG_WARNING);
	return NULL;
}

static struct error *parse_quiet(const struct option *option, const char *argument, bool negated, void *field)
{
	*(bool *)field = !negated;
	log_set_level(negated ? LOG_WARNING : LOG_QUIET);
	return NULL;
}

const struct option output_option_group[] = {
	OPTION_CUSTOM_FLAGS('v', "verbose", struct output_options, verbose, NULL, "say more about what is done (-vv: still more)", parse_verbose,
			    OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS('q', "quiet", struct output_options, quiet, NULL, "no warnings and no extra text", parse_quiet, OPTION_NO_ARGUMENT),
	OPTION_END,
};

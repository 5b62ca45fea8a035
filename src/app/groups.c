/* The option groups that several commands share (groups.h). */
#include "app/groups.h"

#include "base/log.h"
#include "base/number.h"

#include <string.h>

static struct error *parse_jobs(const struct option *option, const char *argument, bool negated, void *field)
{
	uint32_t jobs = 0;
	if (!negated && (!number_parse_u32(argument, &jobs) || jobs < 1 || jobs > 1024))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': expected a number from 1 to 1024", argument);
	*(int *)field = (int)jobs;
	return NULL;
}

static struct error *parse_seconds(const struct option *option, const char *argument, bool negated, void *field)
{
	uint32_t seconds;
	if (!number_parse_u32(argument, &seconds) || seconds > 86400)
		return error_new_kind(ERROR_USAGE, "invalid number of seconds '%s'", argument);
	*(int *)field = (int)seconds;
	return NULL;
}

const struct option input_option_group[] = {
	OPTION_HEADING("Input"),
	OPTION_STRING('i', "input", struct input_options, input, "FILE",
		      "recording to read (default perf.data, or standard input where that is a pipe; - for standard input)"),
	OPTION_FLAG('f', "force", struct input_options, force, "read the recording even if another user owns it"),
	OPTION_CUSTOM(0, "jobs", struct input_options, jobs, "N", "number of worker threads (default: one per CPU)", parse_jobs),
	OPTION_HEADING("Symbols"),
	OPTION_STRING(0, "symfs", struct input_options, symfs, "DIRECTORY", "look for programs, libraries and debug files under DIRECTORY"),
	OPTION_STRING('k', "vmlinux", struct input_options, vmlinux, "FILE", "read kernel symbols from this kernel image"),
	OPTION_FLAG(0, "ignore-vmlinux", struct input_options, ignore_vmlinux, "do not look for a kernel image"),
	OPTION_STRING(0, "kallsyms", struct input_options, kallsyms, "FILE", "read kernel symbols from this copy of /proc/kallsyms"),
	OPTION_FLAG('m', "modules", struct input_options, load_modules, "with -k: read module symbols from the module files"),
	OPTION_CUSTOM_FLAGS(0, "debuginfod-timeout", struct input_options, debuginfod_seconds, "SECONDS",
			    "total time to wait for debug files from the servers in DEBUGINFOD_URLS (default 30; 0: fetch nothing)",
			    parse_seconds, OPTION_NO_NEGATION),
	OPTION_FLAG(0, "demangle", struct input_options, demangle,
		    "show C++, Rust and D names as in the source (default; --no-demangle: mangled)"),
	OPTION_FLAG(0, "demangle-kernel", struct input_options, demangle_kernel, "do the same for kernel symbols"),
	OPTION_END,
};

const struct option guest_option_group[] = {
	OPTION_STRING(0, "guestkallsyms", struct input_options, guest_kallsyms, "FILE",
		      "read a guest's kernel symbols from this copy of its /proc/kallsyms"),
	OPTION_STRING(0, "guestmodules", struct input_options, guest_modules, "FILE",
		      "where the guest's modules are, by this copy of its /proc/modules"),
	OPTION_STRING(0, "guestvmlinux", struct input_options, guest_vmlinux, "FILE",
		      "read a guest's kernel symbols from this kernel image"),
	OPTION_FLAG(0, "guest-code", struct input_options, guest_code,
		    "what guests run lies in their hypervisor's own memory, at the same addresses"),
	OPTION_STRING(0, "guestmount", struct input_options, guest_mount, "DIRECTORY",
		      "root file systems of guests, each in a folder called by the number of its hypervisor's process: read their kernels' "
		      "symbols from DIRECTORY/PID/proc"),
	OPTION_END,
};

struct error *from_option_label(const struct option *option, const char *argument, bool negated, void *field)
{
	const char **labels = field;
	size_t count = 0;
	if (negated) {
		memset(labels, 0, sizeof(*labels) * (FROM_LABELS_MAX + 1));
		return NULL;
	}
	while (labels[count])
		count++;
	if (!strchr(argument, '='))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': expected NAME=VALUE", argument);
	if (count == FROM_LABELS_MAX)
		return error_new_kind(ERROR_USAGE, "more than %d labels: say them with --where", FROM_LABELS_MAX);
	labels[count] = argument;
	return NULL;
}

const struct option from_option_group[] = {
	OPTION_HEADING("Many machines"),
	OPTION_STRING(
		0, "from", struct from_options, url, "URL",
		"instead of a recording: samples that perf agent stored in a database, such as clickhouse://HOST/DATABASE; --time says "
		"of when, such as -2h (default: the last hour)"),
	OPTION_STRING(0, "where", struct from_options, where, "CONDITION",
		      "with --from: which samples, such as 'service = \"shop\" and host like \"web%\"'"),
	OPTION_CUSTOM(0, "label", struct from_options, labels, "NAME=VALUE", "with --from: only samples with this label; may be repeated",
		      from_option_label),
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
	OPTION_CUSTOM_FLAGS('v', "verbose", struct output_options, verbose, NULL, "be more verbose (-vv: even more)", parse_verbose,
			    OPTION_NO_ARGUMENT),
	OPTION_CUSTOM_FLAGS('q', "quiet", struct output_options, quiet, NULL, "suppress warnings and extra text", parse_quiet,
			    OPTION_NO_ARGUMENT),
	OPTION_END,
};

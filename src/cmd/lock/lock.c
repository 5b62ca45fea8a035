/* perf lock: where the kernel waits for its locks, and for how long.
 *
 *	perf lock record -- COMMAND         records waits for locks
 *	perf lock contention                waits by who called, by thread or by lock
 *	perf lock report                    the same by lock, or by thread, with how often each was acquired
 *	perf lock info                      threads and locks of the recording
 *
 * The tracker is src/analysis/lock/contention.c; each subcommand is its page here. This file has what they share, and what runs other
 * commands. */
#include "cmd/lock/lock.h"

#include "app/pager.h"
#include "base/cleanup.h"
#include "base/files/output.h"
#include "base/files/replacement.h"
#include "cmd/dumping.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <string.h>

/* ---- shared ---- */

void lock_input_init(struct lock_input *common)
{
	*common = (struct lock_input){0};
	input_options_init(&common->input);
}

struct error *lock_output_open(const struct lock_input *common, bool paged, FILE **ret)
{
	if (common->path)
		return output_stream_open(common->path, false, ret);
	if (paged)
		pager_start("lock");
	*ret = stdout;
	return NULL;
}

struct error *lock_output_close(const struct lock_input *common, FILE *file, struct error *error)
{
	if (file == stdout)
		return error;
	int failure = output_close(file);
	if (failure && !error)
		error = error_system(failure, "--output %s", common->path);
	return error;
}

struct error *lock_open(struct opening *opening, const struct lock_input *common, struct reader *reader, bool threads)
{
	const struct opening_options options = {
		.input = &common->input,
		.reader = reader,
		.confined = reader ? NULL : "lock",
		.output = common->path,
		.recorder = "perf lock record",
		.remembers = threads,
		.streaming = true,
		.names_kernel = true,
	};
	return opening_begin(opening, &options);
}

struct error *lock_dump(struct opening *opening, const struct lock_input *common, bool *ret_done)
{
	*ret_done = common->dump;
	if (!common->dump)
		return NULL;
	if (common->path)
		return error_new_kind(ERROR_USAGE, "-D and --output cannot be combined");
	pager_start("lock");
	return dumping_all(opening->session);
}

struct error *lock_check_kernel(void)
{
	cleanup_free char *tracefs = NULL;
	int id;
	struct error *error = tracefs_find("", &tracefs);
	if (error || tracefs_event_id(tracefs, "lock", "contention_begin", &id) || errno != ENOENT)
		return error;
	return error_new_kind(ERROR_UNSUPPORTED, "this kernel has no lock:contention_begin events: Linux 5.19 and newer have them");
}

/* ---- perf lock record, perf lock script ---- */

static struct error *record(int argc, char **argv, int *ret_status)
{
	static const char *const before[] = {
		"record",	"-R", "-m", "1024", "-c", "1", "-e", "lock:contention_begin/max-stack=8/,lock:contention_end/max-stack=8/",
		"--call-graph", "fp"};
	static const char *const of_programs[] = {"record", "-R", "-d", "-c", "1", "-e", LOCK_USER_EVENTS, "--call-graph", "auto"};
	if (argc > 1 && !strcmp(argv[1], "--user"))
		return command_run_with(of_programs, sizeof(of_programs) / sizeof(*of_programs), argv + 2, argc - 2, ret_status);
	struct error *error = lock_check_kernel();
	return error ? error : command_run_with(before, sizeof(before) / sizeof(*before), argv + 1, argc - 1, ret_status);
}

static struct error *script(int argc, char **argv, int *ret_status)
{
	static const char *const before[] = {"script"};
	return command_run_with(before, 1, argv + 1, argc - 1, ret_status);
}

static const char *const record_usage[] = {"[--user] [<record options>] [--] [<command>]", NULL};
static const char *const script_usage[] = {"[<script options>]", NULL};

/* ---- */

struct lock_options_before {
	struct lock_input common;
};

static const struct option options[] = {
	LOCK_INPUT_OPTIONS(struct lock_options_before),
	OPTION_END,
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct lock_options_before values;
	int words;
	lock_input_init(&values.common);
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &values, &words);
	if (error)
		return error;
	if (words && !strncmp(argv[0], "rec", 3))
		return error_new_kind(ERROR_USAGE, "options of 'perf lock record' follow its name");
	return error_new_kind(ERROR_USAGE, words ? "unknown subcommand '%s'" : "which subcommand?", argv[0]);
}

const struct command cmd_lock_record = {"lock record",
					"Record waits for kernel locks, or with --user for locks of programs",
					record_usage,
					NULL,
					record,
					.runs = "record",
					.own_options = true};
const struct command cmd_lock_script = {"lock script", "Print all events as text", script_usage, NULL, script, .runs = "script"};
static const char *const usage[] = {"[<options>] {record|contention|report|info|script}", NULL};
const struct command cmd_lock = {"lock", "Analyse waits for locks of the kernel and of programs: who waited where, and for how long",
				 usage,	 options,
				 run,	 .subcommands = lock_subcommands};

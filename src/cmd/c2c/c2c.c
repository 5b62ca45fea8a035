/* perf c2c: cache lines that several cores write to and read from, which makes each wait for the other.
 *
 *	perf c2c record -- COMMAND        record with the machine's events of memory accesses
 *	perf c2c report                   lines by how often another core had them modified, and the places that access them */
#include "cmd/c2c/c2c.h"

#include "cmd/record/record.h"
#include "cmd/sampling/memory_record.h"
#include "event/memory_events.h"

#include <string.h>

/* ---- perf c2c record ---- */

struct c2c_record_options {
	struct memory_recording recording;
};

static const struct option record_options[] = {
	OPTION_STRING('e', "event", struct c2c_record_options, recording.events, "EVENT,…",
		      "events of memory accesses ('list' lists this machine's), or any events of perf record"),
	OPTION_U64('l', "ldlat", struct c2c_record_options, recording.latency, "CYCLES",
		   "only loads that take at least so long (default 30; only where the event can tell)"),
	OPTION_FLAG('u', "all-user", struct c2c_record_options, recording.all_user, "only user space"),
	OPTION_FLAG('k', "all-kernel", struct c2c_record_options, recording.all_kernel, "only the kernel"),
	OPTION_END,
};

static struct error *record(int argc, char **argv, int *ret_status)
{
	struct c2c_record_options wanted = {0};
	struct split_words words = {0};
	int left;
	words_split(argv, record_options, record_option_table, &words);
	struct error *error = options_parse(record_options, OPTIONS_PERMUTE, (int)words.own.len - 1, words.own.data, &wanted, &left);
	wanted.recording.kinds = MEMORY_LOADS | MEMORY_STORES;
	wanted.recording.phys = wanted.recording.cpu = true;
	if (!error)
		error = memory_record(&wanted.recording, words.rest.data, words.rest.len, ret_status);
	words_deinit(&words);
	return error;
}

/* ---- */

struct options_before {
	struct output_options output;
};

static const struct option options[] = {
	OPTION_COUNT('v', "verbose", struct options_before, output.verbose, "more detail; repeat for more"),
	OPTION_END,
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct options_before values = {0};
	int words;
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &values, &words);
	if (error)
		return error;
	return error_new_kind(ERROR_USAGE, words ? "unknown subcommand '%s'" : "which subcommand?", argv[0]);
}

static const char *const record_usage[] = {"[-l CYCLES] [-u|-k] [<record options>] [--] [<command>]", NULL};
static const struct command cmd_c2c_record = {
	"c2c record", "Record memory accesses for perf c2c report", record_usage, record_options, record, .runs = "record"};
static const struct command *const subcommands[] = {&cmd_c2c_record, &cmd_c2c_report, NULL};
static const char *const usage[] = {"{record|report}", NULL};
const struct command cmd_c2c = {
	"c2c", "Find cache lines that several cores share, and who does", usage, options, run, .subcommands = subcommands};

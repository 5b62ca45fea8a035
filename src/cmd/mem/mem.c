/* perf mem: which data a program reads and writes, at which cost, and from where that data comes.
 *
 *	perf mem record -- COMMAND        record with the machine's events of memory accesses
 *	perf mem report                   report --mem-mode
 *	perf mem -D report                one line for each sample */
#include "cmd/mem/mem.h"

#include "cmd/record/record.h"
#include "cmd/sampling/memory_record.h"
#include "event/memory_events.h"

#include <string.h>

struct error *mem_option_kinds(const struct option *option, const char *argument, bool negated, void *field)
{
	unsigned int *kinds = field;
	*kinds = 0;
	for (const char *word = argument; word; word = strchr(word, ',')) {
		word += *word == ',';
		size_t len = strcspn(word, ",");
		if (len == 4 && !strncmp(word, "load", len))
			*kinds |= MEMORY_LOADS;
		else if (len == 5 && !strncmp(word, "store", len))
			*kinds |= MEMORY_STORES;
		else
			return error_new_kind(ERROR_USAGE, "invalid value '%s': use load, store or load,store", argument);
	}
	return NULL;
}

/* ---- perf mem record ---- */

struct mem_record_options {
	struct mem_common common;
	struct memory_recording recording;
	bool force;
};

static const struct option record_options[] = {
	MEM_COMMON_OPTIONS(struct mem_record_options, common),
	OPTION_STRING('e', "event", struct mem_record_options, recording.events, "EVENT,…",
		      "events of memory accesses ('list' lists this machine's), or any events of perf record"),
	OPTION_U64(0, "ldlat", struct mem_record_options, recording.latency, "CYCLES",
		   "only loads that take at least so long (default 30; only where the event can tell)"),
	OPTION_FLAG('U', "all-user", struct mem_record_options, recording.all_user, "only user space"),
	OPTION_FLAG('K', "all-kernel", struct mem_record_options, recording.all_kernel, "only the kernel"),
	{OPTION_KIND_FLAG, 'f', "force", offsetof(struct mem_record_options, force), NULL, "of report; means nothing here", NULL, NULL,
	 OPTION_HIDDEN},
	OPTION_END,
};

static struct error *record(int argc, char **argv, int *ret_status)
{
	struct mem_record_options options = {0};
	struct split_words words = {0};
	int left;
	words_split(argv, record_options, record_option_table, &words);
	struct error *error = options_parse(record_options, OPTIONS_PERMUTE, (int)words.own.len - 1, words.own.data, &options, &left);
	struct memory_recording *wanted = &options.recording;
	wanted->kinds = options.common.kinds ? options.common.kinds : MEMORY_LOADS | MEMORY_STORES;
	wanted->phys = options.common.phys;
	wanted->data_page = options.common.data_page;
	if (!error)
		error = memory_record(wanted, words.rest.data, words.rest.len, ret_status);
	words_deinit(&words);
	return error;
}

/* ---- */

static const char *const record_usage[] = {"[-t load,store] [--ldlat CYCLES] [<record options>] [--] [<command>]", NULL};
static const struct command cmd_mem_record = {"mem record", "Record memory accesses: data addresses, costs, where data came from",
					      record_usage, record_options,
					      record,	    .runs = "record"};
static const struct command *const subcommands[] = {&cmd_mem_record, &cmd_mem_report, NULL};
static const char *const usage[] = {"[<options>] {record|report}", NULL};

/* Those of both; the kernel's tool takes options of report before its name, too. */
static const struct option options_before[] = {
	MEM_COMMON_OPTIONS(struct mem_report_options, common),
	OPTION_STRING('C', "cpu", struct mem_report_options, cpus, "CPUS", "only these CPUs, such as 0-3,7"),
	OPTION_FLAG('f', "force", struct mem_report_options, input.force, "of report: read the recording even if another user owns it"),
	OPTION_COUNT('v', "verbose", struct mem_report_options, output.verbose, "more detail; repeat for more"),
	OPTION_STRING('i', "input", struct mem_report_options, input.input, "FILE", "of report: recording to read (default perf.data)"),
	OPTION_FLAG('D', "dump-raw-samples", struct mem_report_options, dump, "of report: a line for each sample"),
	OPTION_FLAG('U', "hide-unresolved", struct mem_report_options, hide_unresolved, "of report: omit what has no symbol"),
	OPTION_STRING('x', "field-separator", struct mem_report_options, separator, "CHAR",
		      "of report: separate columns with this instead of spaces"),
	OPTION_END,
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct mem_report_options values = {0};
	int words;
	struct error *error = options_parse(options_before, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &values, &words);
	if (error)
		return error;
	return error_new_kind(ERROR_USAGE, words ? "unknown subcommand '%s'" : "which subcommand?", argv[0]);
}

const struct command cmd_mem = {"mem", "Analyse memory accesses: what they cost, and where the data came from",
				usage, options_before,
				run,   .subcommands = subcommands};

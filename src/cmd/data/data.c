/* perf data: recordings in other formats.
 *
 *	perf data convert --to-json FILE      samples as one JSON document
 *	perf data convert --to-ctf FOLDER     a trace for babeltrace2 and Trace Compass */
#include "cmd/data/data.h"

const struct option data_convert_options[] = {
	OPTION_STRING(0, "to-json", struct data_convert_options, to_json, "FILE", "write JSON to this file; - is standard output"),
	OPTION_STRING(0, "to-ctf", struct data_convert_options, to_ctf, "FOLDER", "write a CTF trace into this folder"),
	OPTION_FLAG(0, "tod", struct data_convert_options, wall_clock,
		    "with --to-ctf: times are those of the wall clock, which the recording must know (record -k)"),
	OPTION_FLAG(0, "all", struct data_convert_options, all,
		    "with --to-ctf: also processes and maps (perf_comm, perf_fork, perf_exit, perf_mmap, perf_mmap2)"),
	OPTION_GROUP(input_option_group, struct data_convert_options, input),
	OPTION_SANDBOX(struct data_convert_options, input.sandbox),
	OPTION_GROUP(output_option_group, struct data_convert_options, output),
	OPTION_END,
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct data_convert_options values = {0};
	int words;
	input_options_init(&values.input);
	struct error *error = options_parse(data_convert_options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &values, &words);
	if (error)
		return error;
	return error_new_kind(ERROR_USAGE, words ? "unknown subcommand '%s': there is 'convert'" : "which subcommand? There is 'convert'",
			      argv[0]);
}

static const struct command *const subcommands[] = {&cmd_data_convert, NULL};
static const char *const usage[] = {"convert {--to-json FILE|--to-ctf FOLDER} [<options>]", NULL};
const struct command cmd_data = {
	"data", "Convert recordings into other formats: JSON, CTF", usage, data_convert_options, run, .subcommands = subcommands};

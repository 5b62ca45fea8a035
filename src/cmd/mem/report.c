/* perf mem report: perf report in the mode of memory accesses, with the columns that -t and -p ask for; or, with -D, the samples. */
#include "cmd/mem/mem.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "cmd/opening.h"
#include "cmd/sampling/memory_record.h"
#include "event/memory_events.h"

#include <string.h>

#define O struct mem_report_options

/* What report doesn't have, or means otherwise. */
static const struct option own_options[] = {
	MEM_COMMON_OPTIONS(O, common),
	OPTION_FLAG('D', "dump-raw-samples", O, dump, "print a line for each sample instead of tables"),
	OPTION_STRING('x', "field-separator", O, separator, "CHAR", "separate columns with this instead of spaces"),
	OPTION_STRING('s', "sort", O, sort, "KEY,…",
		      "keys to group samples by (default local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked)"),
	OPTION_FLAG('T', "type-profile", O, types, "group by the types of the data: -s mem,snoop,tlb,type"),
	OPTION_END,
};

static const struct option options[] = {
	{OPTION_KIND_GROUP, 0, NULL, 0, NULL, NULL, NULL, own_options, 0}, /* of the same structure */
	OPTION_STRING('C', "cpu", O, cpus, "CPUS", "only samples on these CPUs, such as 0-3,7"),
	OPTION_FLAG('U', "hide-unresolved", O, hide_unresolved, "omit what has no symbol"),
	OPTION_GROUP(input_option_group, O, input),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_SANDBOX(O, input.sandbox),
	OPTION_END,
};

/* The order of rows for what was chosen; NULL = that of report. Stores tell no costs. */
static char *sort_order(const O *wanted)
{
	const struct mem_common *common = &wanted->common;
	if (wanted->sort || wanted->types)
		return mem_strdup(wanted->sort ?: "mem,snoop,tlb,type");
	bool loads = !common->kinds || (common->kinds & MEMORY_LOADS);
	if (loads && !common->phys && !common->data_page)
		return NULL;
	return mem_printf("%s%s%s",
			  loads ? "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked"
				: "mem,sym,dso,symbol_daddr,dso_daddr,tlb,locked",
			  common->phys ? ",phys_daddr" : "", common->data_page ? ",data_page_size" : "");
}

static struct error *show_tables(const O *wanted, char *const *words, size_t count, int *ret_status)
{
	VEC(const char *) before = {0};
	cleanup_free char *order = sort_order(wanted);
	vec_push(&before, "report");
	vec_push(&before, "--mem-mode");
	vec_push(&before, "-n");
	vec_push(&before, "--itrace=M");
	if (order) {
		vec_push(&before, "-s");
		vec_push(&before, order);
	}
	if (wanted->separator) {
		vec_push(&before, "-t");
		vec_push(&before, wanted->separator);
	}
	struct error *error = command_run_with(before.data, before.len, words, (int)count, ret_status);
	vec_deinit(&before);
	return error;
}

/* Options in the way that they stand for the dump: there is nothing then for those of report. */
static struct error *dump(int argc, char **argv)
{
	O wanted = {0};
	input_options_init(&wanted.input);
	struct error *error = options_parse_alone(options, argc, argv, &wanted, ": give the recording with -i");
	if (!error && wanted.sort)
		error = error_new_kind(ERROR_USAGE, "-s sorts tables: with -D samples are shown in the order of time");
	if (!error && wanted.types)
		error = error_new_kind(ERROR_USAGE, "-T is for tables: with -D samples are shown one by one");
	return error ? error : mem_dump(&wanted);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	O wanted = {0};
	struct split_words words = {0};
	int left;
	words_split(argv, own_options, command_find("report")->options, &words);
	struct error *error = options_parse(own_options, OPTIONS_PERMUTE, (int)words.own.len - 1, words.own.data, &wanted, &left);
	if (!error && wanted.dump)
		error = dump(argc, argv);
	else if (!error)
		error = show_tables(&wanted, words.rest.data, words.rest.len, ret_status);
	words_deinit(&words);
	return error;
}

static const char *const usage[] = {"[-t load,store] [-s KEY,…] [-i FILE] [<report options>]", NULL};
const struct command cmd_mem_report = {"mem report", "Show recorded memory accesses", usage, options, run, .runs = "report"};

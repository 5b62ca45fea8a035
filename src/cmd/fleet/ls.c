/* perf fleet ls: what there is in a fleet's database. */
#include "app/format_option.h"
#include "cmd/fleet/fleet.h"
#include "fleet/clickhouse/lists.h"
#include "view/view.h"

#include <stdio.h>

struct ls_options {
	struct fleet_options common;
};

static const struct option ls_option_table[] = {
	FLEET_OPTIONS(struct ls_options),
	OPTION_END,
};

static struct error *show(const struct ls_options *options, const char *list)
{
	struct config config = {0};
	struct http_options http;
	struct fleet_question question;
	struct table *table = NULL;
	struct error *error = fleet_question_of(&options->common, &config, &http, &question);
	error = error ? error : fleet_list(&question, list, &table);
	config_close(&config);
	return error ? error : view_print_table(options->common.format ? options->common.format : "stdio", table, stdout);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct ls_options options = {0};
	int words;
	(void)ret_status;
	struct error *error = options_parse(ls_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error && words > 1)
		error = error_new_kind(ERROR_USAGE, "one list at a time: unexpected '%s'", argv[1]);
	return error ? error : show(&options, words ? argv[0] : "hosts");
}

static const char *const usage[] = {"[hosts|services|labels|builds] --from URL [OPTIONS]", NULL};
const struct command cmd_fleet_ls = {
	"fleet ls", "List machines, services, labels or programs of a fleet", .usage = usage, .options = ls_option_table, .run = run,
};

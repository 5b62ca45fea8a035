/* perf fleet top: which functions cost most, over all machines that are asked for. */
#include "app/format_option.h"
#include "cmd/fleet/costs.h"
#include "cmd/fleet/fleet.h"
#include "view/view.h"

#include <stdio.h>

struct fleet_top_options {
	struct fleet_options common;
	const char *event;
	int rows;
};

static const struct option top_option_table[] = {
	FLEET_OPTIONS(struct fleet_top_options),
	OPTION_STRING(0, "show-event", struct fleet_top_options, event, "EVENT", "the event (default: the one with most samples)"),
	OPTION_INT('n', "lines", struct fleet_top_options, rows, "N", "how many functions (default 30; 0: all)"),
	OPTION_END,
};

static struct error *show(const struct fleet_top_options *options, const struct imported *imported, const struct fleet_profile *profile)
{
	struct table *table;
	struct error *error = fleet_costs_table(imported, profile, options->event, (size_t)options->rows, &table);
	return error ? error : view_print_table(options->common.format ? options->common.format : "stdio", table, stdout);
}

static struct error *ask(const struct fleet_top_options *options)
{
	struct config config = {0};
	struct http_options http;
	struct fleet_question question;
	struct fleet_profile profile;
	struct imported imported = {0};
	struct error *error = fleet_question_of(&options->common, &config, &http, &question);
	error = error ? error : fleet_ask_profile(&question, &imported, &profile);
	error = error ? error : show(options, &imported, &profile);
	imported_deinit(&imported);
	config_close(&config);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct fleet_top_options options = {.rows = 30};
	(void)ret_status;
	struct error *error = options_parse_alone(top_option_table, argc, argv, &options, "");
	if (!error && options.rows < 0)
		error = error_new_kind(ERROR_USAGE, "-n: expected a number from 0 on");
	return error ? error : ask(&options);
}

static const char *const usage[] = {"--from URL [--time FROM,TO] [--where CONDITION] [OPTIONS]", NULL};
const struct command cmd_fleet_top = {
	"fleet top", "Show the functions that cost most over all machines", .usage = usage, .options = top_option_table, .run = run,
};

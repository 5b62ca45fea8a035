/* perf fleet: what many machines do, from the database that their agents fill.
 *
 *	perf fleet ls      which machines, services, labels and programs there are
 *	perf fleet top     which functions cost most
 *
 * For what commands of single recordings show there is their --from.
 */
#include "cmd/fleet/fleet.h"

#include "cmd/from.h"

struct error *fleet_question_of(const struct fleet_options *options, struct config *config, struct http_options *http,
				struct fleet_question *ret)
{
	struct error *error = fleet_access_open(options->from.url, config, http);
	*ret = (struct fleet_question){options->from.url, http, options->time, options->from.where, options->from.labels, 0};
	return error;
}

static const struct option fleet_option_table[] = {OPTION_END};

static struct error *run(int argc, char **argv, int *ret_status)
{
	int words;
	(void)ret_status;
	struct error *error = options_parse(fleet_option_table, OPTIONS_PERMUTE, argc, argv, NULL, &words);
	return error ? error : error_new_kind(ERROR_USAGE, "name what to show: perf fleet ls, perf fleet top");
}

static const struct command *const subcommands[] = {&cmd_fleet_ls, &cmd_fleet_top, NULL};
static const char *const usage[] = {"ls [hosts|services|labels|builds] --from URL [OPTIONS]", "top --from URL [OPTIONS]", NULL};
const struct command cmd_fleet = {
	.name = "fleet",
	.summary = "Show what many machines do, from the database of their agents",
	.usage = usage,
	.options = fleet_option_table,
	.run = run,
	.subcommands = subcommands,
};

/* perf agent: a placeholder command around its subcommands. */
#include "app/command.h"

extern const struct command cmd_agent_push, cmd_agent_schema;
static const struct command *const subcommands[] = {&cmd_agent_push, &cmd_agent_schema, NULL};
static const struct option agent_options[] = {OPTION_END};

static struct error *run(int argc, char **argv, int *ret_status)
{
	(void)argc;
	(void)argv;
	(void)ret_status;
	return error_new_kind(ERROR_USAGE, "name a subcommand: push, schema");
}

static const char *const usage[] = {"push|schema …", NULL};
const struct command cmd_agent = {"agent",	  "Profile this machine for a database of many machines",
				  .usage = usage, .options = agent_options,
				  .run = run,	  .subcommands = subcommands};

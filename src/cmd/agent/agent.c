/* perf agent: what this machine does, for a database of many machines. */
#include "app/command.h"

extern const struct command cmd_agent_push, cmd_agent_schema;

static struct error *run(int argc, char **argv, int *ret_status)
{
	return error_new_kind(ERROR_USAGE, "say what to do: perf agent push");
}

static const struct command *const subcommands[] = {&cmd_agent_push, &cmd_agent_schema, NULL};
static const char *const usage[] = {"push --to URL [FILE...]", "schema clickhouse [OPTIONS]", NULL};
const struct command cmd_agent = {
	.name = "agent",
	.summary = "Send what this machine does to a database of many machines",
	.usage = usage,
	.run = run,
	.subcommands = subcommands,
};

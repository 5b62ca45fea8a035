/* perf agent: the whole machine, all the time, for a database of many machines.
 *
 *	perf agent run            measures and sends
 *	perf agent check          tries the configuration and each sink
 *	perf agent schema         prints what makes the tables of a database
 *	perf agent status         asks the agent that runs here
 *	perf agent push           sends recordings that exist
 *	perf agent rollup         adds up whole hours in a database
 *	perf agent symbolize      names what agents could not name
 *
 *	live source ──► session ──► fold ──every window──► samples + labels ──► spool ──► sinks
 */
#include "cmd/agent/agent.h"

static const struct command *const subcommands[] = {&cmd_agent_check,  &cmd_agent_push,	  &cmd_agent_rollup,	&cmd_agent_run,
						    &cmd_agent_schema, &cmd_agent_status, &cmd_agent_symbolize, NULL};
static const char *const usage[] = {"[run] [OPTIONS]",
				    "check [--config FILE]",
				    "status [--json]",
				    "push --sink URL [FILE...]",
				    "schema clickhouse [OPTIONS]",
				    "rollup --from URL",
				    "symbolize --from URL",
				    NULL};
const struct command cmd_agent = {"agent",   "Profile this machine all the time, for a database of many machines",
				  usage,     agent_option_table,
				  agent_run, .subcommands = subcommands};

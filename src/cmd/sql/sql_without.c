/* perf sql of a build without SQLite: says so. */
#include "app/command.h"

static const struct option sql_option_table[] = {OPTION_END};
static const char *const sql_usage[] = {"[<options>] 'SELECT …'", NULL};

static struct error *run(int argc, char **argv, int *ret_status)
{
	(void)argc;
	(void)argv;
	(void)ret_status;
	return error_new(
		"this perf was built without SQLite: install libsqlite3-dev, and build it again; 'perf export csv' writes the samples");
}

const struct command cmd_sql = {
	.name = "sql",
	.summary = "Ask a recording in SQL (not in this build)",
	.usage = sql_usage,
	.options = sql_option_table,
	.run = run,
};

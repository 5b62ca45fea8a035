/* perf agent schema: what makes the tables of a database.
 *
 *	perf agent schema clickhouse | clickhouse-client --multiquery
 *	perf agent schema clickhouse --create clickhouse://db.example/perf
 */
#include "fleet/clickhouse/schema.h"
#include "cmd/agent/agent.h"
#include "cmd/from.h"
#include "fleet/clickhouse/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct schema_options {
	const char *create; /* URL */
	const char *cluster, *database, *ttl, *version;
};

#define TYPE struct schema_options
static const struct option schema_option_table[] = {
	OPTION_STRING(
		0, "cluster", TYPE, cluster, "NAME",
		"for a cluster of servers, as <remote_servers> of their configuration calls it: replicated tables, and ones that ask all"),
	OPTION_STRING(0, "ttl", TYPE, ttl, "DAYS", "how long samples are kept, such as 30d (default: for ever)"),
	OPTION_STRING(0, "database", TYPE, database, "NAME", "database of the tables (default: that of --create, or perf)"),
	OPTION_STRING(0, "server-version", TYPE, version, "N.N", "for this version of ClickHouse (default: that of --create, or 24.8)"),
	OPTION_STRING(0, "create", TYPE, create, "URL", "make the tables in this database, instead of printing what makes them"),
	OPTION_END,
};

static struct error *parse_days(const char *text, unsigned int *ret)
{
	char *end;
	unsigned long days = strtoul(text, &end, 10);
	if (end == text || (*end && strcmp(end, "d") != 0) || !days || days > 36500)
		return error_new_kind(ERROR_USAGE, "--ttl: expected a number of days, such as 30d");
	*ret = (unsigned int)days;
	return NULL;
}

static struct error *parse_version(const char *text, unsigned int *ret)
{
	char *end;
	unsigned long major = strtoul(text, &end, 10), minor = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
	if ((*end && *end != '.') || major < 18 || major > 999 || minor > 999)
		return error_new_kind(ERROR_USAGE, "--server-version: expected a version from 18.16 on, such as 24.8");
	*ret = (unsigned int)(major * 1000 + minor);
	return NULL;
}

/* Names stand in statements as they are. */
static struct error *check_name(const char *option, const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	if (!name || (*name && strspn(name, chars) == strlen(name) && (*name < '0' || *name > '9')))
		return NULL;
	return error_new_kind(ERROR_USAGE, "%s: a name of letters, digits and _ is expected", option);
}

static struct error *read_options(const struct schema_options *options, struct clickhouse_schema *ret)
{
	*ret = (struct clickhouse_schema){
		.version = CLICKHOUSE_NEWEST,
		.database = options->database ? options->database : CLICKHOUSE_DATABASE,
		.cluster = options->cluster,
	};
	struct error *error = check_name("--cluster", options->cluster);
	error = error ? error : check_name("--database", options->database);
	if (!error && options->ttl)
		error = parse_days(options->ttl, &ret->days);
	if (!error && options->version)
		error = parse_version(options->version, &ret->version);
	return error;
}

/* The database itself is made by a connection that asks for none. */
static struct error *make_tables(struct clickhouse *clickhouse, const struct schema_options *options, struct clickhouse_schema *schema)
{
	struct strbuf statement = {0};
	if (!options->database)
		schema->database = clickhouse_database(clickhouse);
	struct error *error = clickhouse_version(clickhouse, &schema->version);
	for (unsigned int i = 0; !error && clickhouse_add_statement(&statement, schema, i); i++) {
		error = clickhouse_run(clickhouse, strbuf_str(&statement));
		strbuf_clear(&statement);
	}
	strbuf_deinit(&statement);
	return error;
}

static struct error *create(const struct schema_options *options, struct clickhouse_schema *schema)
{
	struct config config = {0};
	struct http_options http;
	struct clickhouse *clickhouse = NULL;
	struct error *error = fleet_access_open(options->create, &config, &http);
	error = error ? error : clickhouse_open(options->create, &http, &clickhouse);
	error = error ? error : make_tables(clickhouse, options, schema);
	clickhouse_close(clickhouse);
	config_close(&config);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct schema_options options = {0};
	struct clickhouse_schema schema;
	struct strbuf text = {0};
	int words;
	(void)ret_status;
	struct error *error = options_parse(schema_option_table, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (!error && (words != 1 || strcmp(argv[0], "clickhouse") != 0))
		error = error_new_kind(ERROR_USAGE, "name the kind of database: perf agent schema clickhouse");
	error = error ? error : read_options(&options, &schema);
	if (error || options.create)
		return error ? error : create(&options, &schema);
	clickhouse_add_schema(&text, &schema);
	fputs(strbuf_str(&text), stdout);
	strbuf_deinit(&text);
	return NULL;
}

static const char *const usage[] = {"clickhouse [--cluster NAME] [--ttl DAYS] [OPTIONS]", NULL};
const struct command cmd_agent_schema = {
	"agent schema", "Print, or run, what makes the tables of a database", .usage = usage, .options = schema_option_table, .run = run,
};

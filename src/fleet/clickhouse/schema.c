/* Statements that make the tables. What is chosen here was measured (doc/fleet.md, "What it costs"):
 *
 * Samples are in the order of service, event and then stack: equal stacks of all hosts stand together, so that their ids take next to no
 * room, and adding them up is a walk through memory. A stack is one of an event, too: so sums need only its id, which is a third of the
 * work of adding up by event and stack. Six hours of a day are a piece of their own, for questions about an hour. Times are
 * those of windows, which begin at whole multiples of their length.
 *
 * Sums of hours (hours.h) are in the order of the service and then the stack, so that the hours of a stack stand together.
 *
 * Servers before 20.3 have neither compression by column nor an age at which rows go: they get the plain tables, and a statement to run
 * once a day. */
#include "fleet/clickhouse/schema.h"

#include <stddef.h>
#include <stdlib.h>

struct schema_column {
	const char *name, *type;
	const char *codec; /* beside ZSTD, for servers that know them; or NULL */
	bool repeats;	   /* LowCardinality there */
};

struct schema_table {
	const char *name;
	const char *engine;	 /* MergeTree, Replacing…; %s: "Replicated" in front of it */
	const char *version;	 /* of ReplacingMergeTree; or NULL */
	const char *order, *day; /* day: the expression that is a row's day */
	bool apart;		 /* a partition for each day */
	bool lasts;		 /* kept for twice as long as samples */
	const char *shard;	 /* the expression that says which shard has a row */
	const struct schema_column *columns;
};

static const struct schema_column window_columns[] = {
	{"id", "FixedString(16)"},
	{"host", "String", .repeats = true},
	{"host_id", "String", .repeats = true},
	{"begin", "DateTime", .codec = "DoubleDelta, "},
	{"begin_ns", "UInt64"},
	{"end_ns", "UInt64"},
	{"rows", "UInt32"},
	{"taken", "UInt64"},
	{"stored", "UInt64"},
	{"lost", "UInt64"},
	{"dropped", "UInt64"},
	{0},
};
static const struct schema_column sample_columns[] = {
	{"time", "DateTime", .codec = "Delta, "},
	{"host", "String", .repeats = true},
	{"service", "String", .repeats = true},
	{"event", "String", .repeats = true},
	{"unit", "String", .repeats = true}, /* of values: "ns", or "" for what the event counts */
	{"labels", "UInt64"},
	{"stack", "UInt64"},
	{"value", "UInt64", .codec = "T64, "},
	{"count", "UInt32", .codec = "T64, "},
	{0},
};
static const struct schema_column sum_columns[] = {
	{"hour", "DateTime", .codec = "Delta, "},
	{"service", "String", .repeats = true},
	{"event", "String", .repeats = true},
	{"stack", "UInt64"},
	{"value", "UInt64", .codec = "T64, "},
	{"count", "UInt64", .codec = "T64, "},
	{"version", "UInt64"},
	{0},
};
static const struct schema_column hour_columns[] = {
	{"hour", "DateTime"},
	{"version", "UInt64"},
	{"digest", "UInt64"}, /* hours.h */
	{0},
};
static const struct schema_column label_columns[] = {
	{"id", "UInt64"}, {"day", "Date"}, {"names", "Array(String)"}, {"values", "Array(String)"}, {0},
};
static const struct schema_column stack_columns[] = {
	{"id", "UInt64"},
	{"day", "Date"},
	{"event", "String", .repeats = true},
	{"unit", "String", .repeats = true},
	{"comm", "String", .repeats = true},
	{"frames", "Array(UInt64)"},
	{0},
};
static const struct schema_column frame_columns[] = {
	{"id", "UInt64"},	{"day", "Date"},
	{"version", "UInt32"},	{"build_id", "String", .repeats = true},
	{"address", "UInt64"},	{"file", "String", .repeats = true},
	{"function", "String"}, {"source", "String", .repeats = true},
	{"line", "UInt32"},	{"kind", "UInt8"},
	{"inlined", "UInt8"},	{0},
};

static const struct schema_table tables[] = {
	{"windows", "ReplacingMergeTree", .order = "host, begin, id", .day = "toDate(begin)", .apart = true, .shard = "cityHash64(host)",
	 .columns = window_columns},
	{"samples", "MergeTree", .order = "service, event, intDiv(toUInt32(time), 21600), stack, host, labels, time", .day = "toDate(time)",
	 .apart = true, .shard = "cityHash64(host)", .columns = sample_columns},
	{"sums", "MergeTree", .order = "service, event, stack, hour, version", .day = "toDate(hour)", .apart = true, .shard = "stack",
	 .columns = sum_columns},
	{"hours", "MergeTree", .order = "hour, version", .day = "toDate(hour)", .apart = true, .shard = "toUInt32(hour)",
	 .columns = hour_columns},
	{"labels", "ReplacingMergeTree", "day", .order = "id", .day = "day", .lasts = true, .shard = "id", .columns = label_columns},
	{"stacks", "ReplacingMergeTree", "day", .order = "id", .day = "day", .lasts = true, .shard = "id", .columns = stack_columns},
	{"frames", "ReplacingMergeTree", "version", .order = "id", .day = "day", .lasts = true, .shard = "id", .columns = frame_columns},
};
enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

const char *const clickhouse_tables[] = {"windows", "samples", "labels", "stacks", "frames", NULL};

static bool is_new(const struct clickhouse_schema *schema)
{
	return schema->version >= CLICKHOUSE_CODECS;
}

static void add_columns(struct strbuf *out, const struct schema_table *table, const struct clickhouse_schema *schema)
{
	for (const struct schema_column *column = table->columns; column->name; column++) {
		bool repeats = column->repeats && is_new(schema);
		strbuf_printf(out, "%s\n    %s %s%s%s", column == table->columns ? "" : ",", column->name, repeats ? "LowCardinality(" : "",
			      column->type, repeats ? ")" : "");
		if (is_new(schema))
			strbuf_printf(out, " CODEC(%sZSTD(1))", column->codec ? column->codec : "");
	}
}

static void add_engine(struct strbuf *out, const struct schema_table *table, const struct clickhouse_schema *schema)
{
	strbuf_printf(out, "ENGINE = %s%s(", schema->cluster ? "Replicated" : "", table->engine);
	if (schema->cluster)
		strbuf_printf(out, "'/clickhouse/tables/{shard}/%s/%s', '{replica}'%s", schema->database, table->name,
			      table->version ? ", " : "");
	strbuf_printf(out, "%s)\n", table->version ? table->version : "");
	if (table->apart)
		strbuf_printf(out, "PARTITION BY %s\n", table->day);
	strbuf_printf(out, "ORDER BY (%s)", table->order);
	if (schema->days && is_new(schema))
		strbuf_printf(out, "\nTTL %s + INTERVAL %u DAY", table->day, schema->days * (table->lasts ? 2 : 1));
	strbuf_printf(out, "\nSETTINGS index_granularity = 8192%s%s", schema->cluster ? ", replicated_deduplication_window = 10000" : "",
		      schema->days && is_new(schema) && table->apart ? ", ttl_only_drop_parts = 1" : "");
}

static void add_on_cluster(struct strbuf *out, const struct clickhouse_schema *schema)
{
	if (schema->cluster)
		strbuf_printf(out, " ON CLUSTER %s", schema->cluster);
}

static void add_table(struct strbuf *out, const struct schema_table *table, const struct clickhouse_schema *schema)
{
	strbuf_printf(out, "CREATE TABLE IF NOT EXISTS %s.%s%s", schema->database, table->name, schema->cluster ? "_local" : "");
	add_on_cluster(out, schema);
	strbuf_add_str(out, " (");
	add_columns(out, table, schema);
	strbuf_add_str(out, "\n)\n");
	add_engine(out, table, schema);
}

static void add_distributed(struct strbuf *out, const struct schema_table *table, const struct clickhouse_schema *schema)
{
	strbuf_printf(out, "CREATE TABLE IF NOT EXISTS %s.%s", schema->database, table->name);
	add_on_cluster(out, schema);
	strbuf_printf(out, " AS %s.%s_local\nENGINE = Distributed(%s, %s, %s_local, %s)", schema->database, table->name, schema->cluster,
		      schema->database, table->name, table->shard);
}

bool clickhouse_add_statement(struct strbuf *out, const struct clickhouse_schema *schema, unsigned int number)
{
	if (!number) {
		strbuf_printf(out, "CREATE DATABASE IF NOT EXISTS %s", schema->database);
		add_on_cluster(out, schema);
		return true;
	}
	number--;
	if (number < TABLES)
		add_table(out, &tables[number], schema);
	else if (schema->cluster && number < 2 * TABLES)
		add_distributed(out, &tables[number - TABLES], schema);
	else
		return false;
	return true;
}

void clickhouse_add_schema(struct strbuf *out, const struct clickhouse_schema *schema)
{
	const char *local = schema->cluster ? "_local" : "";
	strbuf_printf(out, "-- Tables of perf agent for ClickHouse %u.%u%s\n", schema->version / 1000, schema->version % 1000,
		      is_new(schema) ? " and newer" : "");
	if (!is_new(schema))
		strbuf_add_str(
			out,
			"-- These servers compress all columns alike: say <compression><case><method>zstd</method></case></compression> "
			"in their configuration.\n");
	if (schema->cluster)
		strbuf_add_str(out,
			       "-- Each server's configuration needs <macros> with its own {shard} and {replica}, and internal_replication "
			       "in <remote_servers>.\n");
	for (unsigned int i = 0; clickhouse_add_statement(out, schema, i); i++)
		strbuf_add_str(out, ";\n");
	if (schema->days && !is_new(schema))
		strbuf_printf(out,
			      "-- Rows have no age here: run once a day, on each server:\n"
			      "--   ALTER TABLE %s.samples%s DROP PARTITION 'YYYY-MM-DD';   the day %u days ago; the same of windows%s, "
			      "sums%s, hours%s\n",
			      schema->database, local, schema->days, local, local, local);
}

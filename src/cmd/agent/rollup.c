/* perf agent rollup: sums of whole hours, which questions about a day take instead of its samples (fleet/clickhouse/hours.h). */
#include "app/format_option.h"
#include "base/clock.h"
#include "cmd/agent/agent.h"
#include "cmd/from.h"
#include "fleet/clickhouse/hours.h"
#include "view/view.h"

#include <stdio.h>
#include <time.h>

enum { LATE_SECONDS = 120 }; /* windows arrive when they are over */

struct rollup_options {
	const char *from, *time, *format;
	struct output_options output;
};

#define TYPE struct rollup_options
static const struct option rollup_option_table[] = {
	OPTION_STRING(0, "from", TYPE, from, "URL", "the database, clickhouse://[USER@]HOST[:PORT][/DATABASE]"),
	OPTION_STRING(0, "time", TYPE, time, "TIME", "hours of this time, as with --from of other commands (default -2d)"),
	OPTION_CUSTOM_FLAGS(0, "format", TYPE, format, "FORMAT", "machine-readable output: csv or json", option_table_format,
			    OPTION_NO_NEGATION),
	OPTION_GROUP(output_option_group, TYPE, output),
	OPTION_END,
};

static struct table *make_table(void)
{
	static const struct column columns[] = {
		{.id = "hour", .title = "Hour"},
		{.id = "windows", .title = "Windows", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
		{.id = "stored", .title = "Stored", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
		{.id = "found", .title = "Found", .kind = COLUMN_COUNT, .align = ALIGN_RIGHT},
		{.id = "remark", .title = "Remark"},
	};
	return table_create_columns("rollup", columns, sizeof(columns) / sizeof(*columns));
}

static void tell(struct table *table, const struct fleet_hour *hour, const struct fleet_hour_sums *sums)
{
	const time_t begin = (time_t)hour->begin;
	struct tm parts;
	char when[32];
	localtime_r(&begin, &parts);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &parts);
	const union cell cells[] = {
		{.text = arena_strdup(&table->arena, when)},
		{.integer = hour->windows},
		{.integer = sums->stored},
		{.integer = sums->found},
		{.text = sums->found == sums->stored ? "added up" : "not all samples are there: later"},
	};
	table_add_row(table, cells);
}

/* Those that have sums which still count have been done. */
static struct error *add_up(struct clickhouse *clickhouse, const struct fleet_period *period, struct table *table)
{
	fleet_hour_list hours = {0};
	struct error *error = fleet_hours_ask(clickhouse, period, &hours);
	for (size_t i = 0; i < hours.len && !error; i++) {
		struct fleet_hour_sums sums;
		if (hours.data[i].version)
			continue;
		error = fleet_hour_add(clickhouse, &hours.data[i], clock_now_ns(CLOCK_REALTIME), &sums);
		if (!error)
			tell(table, &hours.data[i], &sums);
	}
	vec_deinit(&hours);
	return error;
}

static struct error *run_with(const struct rollup_options *options, const struct http_options *http)
{
	const uint64_t now = clock_now_ns(CLOCK_REALTIME) / 1000000000;
	struct clickhouse *clickhouse = NULL;
	struct fleet_period period;
	struct error *error = fleet_period_parse(options->time ? options->time : "-2d", now, &period);
	if (!error)
		error = clickhouse_open(options->from, http, &clickhouse);
	if (error)
		return error;
	period.from -= period.from % HOUR_SECONDS;
	period.to = period.to < now - LATE_SECONDS ? period.to : now - LATE_SECONDS;
	struct table *table = make_table();
	error = add_up(clickhouse, &period, table);
	clickhouse_close(clickhouse);
	if (!error)
		return view_print_table(options->format ? options->format : "stdio", table, stdout);
	table_destroy(table);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct rollup_options options = {0};
	struct config config = {0};
	struct http_options http;
	(void)ret_status;
	struct error *error = options_parse_alone(rollup_option_table, argc, argv, &options, "");
	error = error ? error : fleet_access_open(options.from, &config, &http);
	error = error ? error : run_with(&options, &http);
	config_close(&config);
	return error;
}

static const char *const usage[] = {"--from URL [OPTIONS]", NULL};
const struct command cmd_agent_rollup = {
	"agent rollup", "Add up whole hours in a database, so that questions about days are quick",
	.usage = usage, .options = rollup_option_table,
	.run = run,
};

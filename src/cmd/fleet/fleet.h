/* What the subcommands of perf fleet share. */
#pragma once

#include "app/command.h"
#include "app/config.h"
#include "app/groups.h"
#include "fleet/clickhouse/query.h"

struct fleet_options {
	struct from_options from;
	struct output_options output;
	const char *time;
	const char *format; /* NULL = for people */
};

/* Rows of an option table for them, embedded as `common`. */
#define FLEET_OPTIONS(type)                                                                                             \
	OPTION_GROUP(from_option_group, type, common.from),                                                             \
		OPTION_STRING(0, "time", type, common.time, "FROM,TO",                                                  \
			      "when, such as -2h, 2026-11-27 or -2h,-1h (default: the last hour)"),                     \
		OPTION_CUSTOM_FLAGS(0, "format", type, common.format, "FORMAT", "machine-readable output: csv or json", \
				    option_table_format, OPTION_NO_NEGATION),                                           \
		OPTION_GROUP(output_option_group, type, common.output)

/* What the options ask. `http` is filled from the configuration, which stays with the caller. An error: no --from. */
struct error *fleet_question_of(const struct fleet_options *options, struct config *config, struct http_options *http,
				struct fleet_question *ret);

extern const struct command cmd_fleet_ls, cmd_fleet_top;

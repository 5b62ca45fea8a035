/* --format of commands: the views for programs that can show what the command has. */
#pragma once

#include "app/options.h"
#include "base/error.h"
#include "result/document.h"

#include <stddef.h>

/* One that can show results of one of the kinds; *ret is its name. */
struct error *format_parse(const char *argument, const enum result_kind *kinds, size_t count, const char **ret);
/* The same for tables, for rows of option tables whose field is a const char *. */
option_parse_fn option_table_format;
/* A flag that means --format json, for the same rows. */
option_parse_fn option_json;
#define OPTION_JSON(short_name, type, field)                                                                 \
	OPTION_CUSTOM_FLAGS(short_name, "json", type, field, NULL, "the same as --format json", option_json, \
			    OPTION_NO_ARGUMENT | OPTION_NO_NEGATION)

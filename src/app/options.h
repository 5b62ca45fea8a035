/* Command-line options as constant tables of rows that point into a command's own options struct by offset.
 *
 *	struct report_options { const char *input; bool quiet; … };
 *	static const struct option report_options[] = {
 *		OPTION_STRING('i', "input", struct report_options, input, "FILE", "recording to read (default perf.data)"),
 *		OPTION_FLAG('q', "quiet", struct report_options, quiet, "only the table"),
 *		OPTION_CUSTOM('s', "sort", struct report_options, sort, "KEYS", "sort keys", parse_sort),
 *		OPTION_GROUP(symbol_option_group, struct report_options, symbols),
 *		OPTION_END,
 *	};
 *
 * From the table come: parsing (short bundles, --name=value, --name value, unique abbreviations, --no-name for every row that can be
 * negated), -h / --help, man page option sections, shell completion. A group is a table of its own over its own struct, embedded in the
 * command's.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_KIND_END,
	OPTION_KIND_FLAG,    /* bool: set, cleared by --no- */
	OPTION_KIND_COUNT,   /* int: counts its uses (-vv); --no- sets 0 */
	OPTION_KIND_STRING,  /* const char *: the argument itself, not copied; --no- sets NULL */
	OPTION_KIND_U64,     /* uint64_t */
	OPTION_KIND_INT,     /* int */
	OPTION_KIND_CUSTOM,  /* parse() is called */
	OPTION_KIND_GROUP,   /* all rows of another table, whose struct is embedded at `offset` */
	OPTION_KIND_HEADING, /* a heading in the help: `help` */
};

enum option_flag {
	OPTION_OPTIONAL_ARGUMENT = 1 << 0, /* --name or --name=value (never --name value), -n or -nvalue: without one parse() gets NULL */
	OPTION_NO_NEGATION = 1 << 1,	   /* there is no --no-name */
	OPTION_NO_ARGUMENT = 1 << 2,	   /* a custom option without an argument */
	OPTION_HIDDEN = 1 << 3,		   /* works, is not listed: an alias kept for compatibility */
	OPTION_INVERTED = 1 << 4,	   /* a flag whose use sets false */
	OPTION_LAST_ARGUMENT = 1 << 5, /* an optional argument that is also taken from the next word, when that doesn't begin with '-' */
};

struct option;

/* Reads one use of an option. `argument` is NULL when there is none; `field` is the address in the options struct; `negated` for --no-NAME.
 * A returned error is shown with the option's name in front. */
typedef struct error *option_parse_fn(const struct option *option, const char *argument, bool negated, void *field);

struct option {
	enum option_kind kind;
	char short_name;       /* 0 = none */
	const char *long_name; /* NULL = none; several spellings are several rows, the others hidden */
	size_t offset;
	const char *argument; /* placeholder in the help, e.g. "FILE" */
	const char *help;
	option_parse_fn *parse;
	const struct option *group;
	unsigned int flags;
};

#define OPTION_FLAG(s, l, type, field, h)                                             \
	{                                                                             \
		OPTION_KIND_FLAG, s, l, offsetof(type, field), NULL, h, NULL, NULL, 0 \
	}
#define OPTION_FLAG_INVERTED(s, l, type, field, h)                                                  \
	{                                                                                           \
		OPTION_KIND_FLAG, s, l, offsetof(type, field), NULL, h, NULL, NULL, OPTION_INVERTED \
	}
#define OPTION_COUNT(s, l, type, field, h)                                             \
	{                                                                              \
		OPTION_KIND_COUNT, s, l, offsetof(type, field), NULL, h, NULL, NULL, 0 \
	}
#define OPTION_STRING(s, l, type, field, a, h)                                       \
	{                                                                            \
		OPTION_KIND_STRING, s, l, offsetof(type, field), a, h, NULL, NULL, 0 \
	}
#define OPTION_U64(s, l, type, field, a, h)                                       \
	{                                                                         \
		OPTION_KIND_U64, s, l, offsetof(type, field), a, h, NULL, NULL, 0 \
	}
#define OPTION_INT(s, l, type, field, a, h)                                       \
	{                                                                         \
		OPTION_KIND_INT, s, l, offsetof(type, field), a, h, NULL, NULL, 0 \
	}
#define OPTION_CUSTOM(s, l, type, field, a, h, p)                                 \
	{                                                                         \
		OPTION_KIND_CUSTOM, s, l, offsetof(type, field), a, h, p, NULL, 0 \
	}
#define OPTION_CUSTOM_FLAGS(s, l, type, field, a, h, p, f)                        \
	{                                                                         \
		OPTION_KIND_CUSTOM, s, l, offsetof(type, field), a, h, p, NULL, f \
	}
/* The callback gets the whole structure. */
#define OPTION_WHOLE(s, l, a, h, p, f)                        \
	{                                                     \
		OPTION_KIND_CUSTOM, s, l, 0, a, h, p, NULL, f \
	}
#define OPTION_GROUP(g, type, field)                                                      \
	{                                                                                 \
		OPTION_KIND_GROUP, 0, NULL, offsetof(type, field), NULL, NULL, NULL, g, 0 \
	}
#define OPTION_HEADING(h)                                               \
	{                                                               \
		OPTION_KIND_HEADING, 0, NULL, 0, NULL, h, NULL, NULL, 0 \
	}
/* An option of the kernel's perf that can't be had here: not listed; `why` is a sentence that says what to use instead. */
#define OPTION_REFUSED(s, l, a, why)                                                                               \
	{                                                                                                          \
		OPTION_KIND_CUSTOM, s, l, 0, a, why, option_refuse, NULL, OPTION_HIDDEN | OPTION_OPTIONAL_ARGUMENT \
	}
#define OPTION_END                                                     \
	{                                                              \
		OPTION_KIND_END, 0, NULL, 0, NULL, NULL, NULL, NULL, 0 \
	}

option_parse_fn option_refuse;

enum options_mode {
	OPTIONS_PERMUTE,	    /* options and words may be mixed; "--" ends the options */
	OPTIONS_STOP_AT_FIRST_WORD, /* the first word ends the options: it begins a workload's command line */
};

/* Parses argv[1…]. The words that are left are moved to argv[0…] and counted in *ret_words (argv[*ret_words] = NULL). -h and --help return
 * an error of kind ERROR_USAGE with an empty message: the caller returns it and main prints the help. Errors name the option and, for
 * unknown ones, the nearest. */
struct error *options_parse(const struct option *options, enum options_mode mode, int argc, char **argv, void *values, int *ret_words);

/* The same of commands that take options alone. A word is an error, which ends with `instead` (": give the recording with -i", or ""). */
struct error *options_parse_alone(const struct option *options, int argc, char **argv, void *values, const char *instead);

/* Uses one option by its long name as a command line would: `argument` "true" or "false" sets or negates a row without an argument. For
 * values that come from the configuration (config_apply). Strings are not copied. */
struct error *options_set(const struct option *options, const char *long_name, const char *argument, void *values);

/* The listed options with their headings and explanations, wrapped at `columns`. */
void options_add_help(struct strbuf *out, const struct option *options, unsigned int columns);
/* The long names with their dashes, separated by spaces: for shell completion. */
void options_add_names(struct strbuf *out, const struct option *options);
/* The same as help, as rows "OPTIONS<tab>EXPLANATION", headings with nothing before the tab: from this the option sections of man pages are
 * made. */
void options_add_rows(struct strbuf *out, const struct option *options);

/* How many words of `argv` the option that begins there takes by this table, 0 when the table doesn't know it. Lets a command pass options
 * on to another: `perf flamegraph -F 99 -- CMD` hands -F 99 to record. */
int options_span(const struct option *options, char *const *argv);

/* Parsers for OPTION_CUSTOM(): a percentage from 0 to 100 (a double). */
option_parse_fn option_percent;

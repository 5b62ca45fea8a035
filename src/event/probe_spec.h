/* What a person writes to ask for a probe:
 *
 *	[[GROUP:]EVENT=] place [argument...]
 *	place     = FUNCTION[@FILE][+OFFSET | %return | :LINE | ;PATTERN]      LINE counts from the function's own
 *	          | FILE:LINE | FILE;PATTERN                                    FILE has a dot in it
 *	          | 0xADDRESS                                                   in the file
 *	          | [%]sdt_PROVIDER:NAME                                        a static tracepoint (SDT)
 *	argument  = [NAME=]value[:TYPE]
 *	value     = variable | $vars | $params | what the kernel takes: %REGISTER, $retval, $stackN, @SYMBOL, +N(...), \N, \"TEXT"
 *	variable  = NAME { .MEMBER | ->MEMBER | [INDEX] }
 *
 * A backslash or quotes take characters of a place as they are; "::" belongs to names. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum probe_argument_kind {
	PROBE_ARGUMENT_VARIABLE, /* to be found in the type or debug information */
	PROBE_ARGUMENT_KERNEL,	 /* the kernel takes it as it is */
	PROBE_ARGUMENT_VARS,	 /* all variables */
	PROBE_ARGUMENT_PARAMS,	 /* all parameters */
};

/* A way from a variable to a part of it. */
struct probe_step {
	const char *member; /* NULL: an index */
	bool arrow;	    /* "->" */
	int64_t index;
};

struct probe_argument {
	enum probe_argument_kind kind;
	const char *name;  /* as given, or NULL */
	const char *text;  /* value and type as written */
	const char *value; /* without the type; of variables without the steps */
	const char *cast;  /* the type, or NULL */
	VEC(struct probe_step) steps;
};

/* All zero is none. Strings live in the arena; NULL = not given. */
struct probe_spec {
	struct arena arena;
	const char *group, *event;
	const char *function; /* of a static tracepoint its name */
	const char *provider; /* of a static tracepoint, without "sdt_" */
	const char *file, *pattern;
	bool has_line, is_return, is_address;
	uint32_t line;
	uint64_t offset; /* or the address */
	VEC(struct probe_argument) arguments;
};

/* A usage error says which part is wrong. */
struct error *probe_spec_parse(const char *text, struct probe_spec *ret);
/* Only a place, as -V takes it. */
struct error *probe_spec_parse_place(const char *text, struct probe_spec *ret);
void probe_spec_deinit(struct probe_spec *spec);
/* The place in words: "main+4", "greet%return", "prog.c:20". Without the event and the arguments. */
void probe_spec_add_place(struct strbuf *out, const struct probe_spec *spec);

/* What -L takes: FUNCTION[@FILE][:FIRST[-LAST|+COUNT]] or FILE[:FIRST[-LAST|+COUNT]]. */
struct probe_lines {
	struct arena arena;
	const char *function, *file; /* one of them or both */
	uint32_t first, last;	     /* last UINT32_MAX = to the end */
};
struct error *probe_lines_parse(const char *text, struct probe_lines *ret);

/* Names for the kernel: letters, digits and _, not beginning with a digit, and not too long (63). */
bool probe_name_is_valid(const char *name);
/* A valid name as near as can be to that of a function ("shop::twice<int>" becomes twice). */
char *probe_name_of(const char *function);
/* Does a line of source match a pattern? Spaces don't count in either. */
bool probe_pattern_match(const char *pattern, const char *line, size_t size);
/* Is it a type that the kernel's probes have? */
bool probe_cast_is_known(const char *cast);

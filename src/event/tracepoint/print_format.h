/* Parsing the arguments of a print format: C expressions over a record, with the kernel's helpers. For tracepoint_compile.c. */
#pragma once

#include "event/tracepoint/tracepoint_internal.h"
#include "event/tracepoint/tracepoint_program.h"

/* An argument, seen both ways; what it cannot be is NULL. */
struct operand {
	const struct print_node *number;
	const struct text_source *text;
	const struct tracepoint_field *field; /* it is this field, perhaps cast: for [] and %pI4 and their like */
	bool dynamic;			      /* … what this __data_loc field points to */
	uint64_t cast_mask;		      /* of elements, when a cast to a pointer was in front; 0 = none */
	const char *name;		      /* it is an enumerator without a number */
};

struct format_parser {
	struct arena *arena;
	const struct tracepoint_formats *formats;
	const struct tracepoint *tracepoint;
	const char *at;	    /* behind the current token */
	const char *token;  /* the current token … */
	size_t token_len;   /* … and its length; 0 at the end */
	unsigned int depth; /* of nesting */
	unsigned int nodes; /* made so far */
};

/* Starts at `text`: the first token is current. */
void format_parser_init(struct format_parser *parser, struct arena *arena, const struct tracepoint *tracepoint, const char *text);
/* One or more string literals next to each other, as one, with backslashes left alone. NULL when there is none. */
char *format_parse_string(struct format_parser *parser);
/* The current token is `token`: moves behind it. */
bool format_accept(struct format_parser *parser, const char *token);
/* An expression up to ',' or the end. False when it isn't understood. */
bool format_parse_operand(struct format_parser *parser, struct operand *ret);
/* The value of an expression without fields. */
uint64_t tracepoint_constant(const struct print_node *node);

/* Metric expressions: formulas over events, in the language in which the kernel's perf keeps its tables.
 *
 *	expression = choice
 *	choice     = sum [ "if" choice "else" choice ]
 *	operators  = | ^ &   < >   + -   * / %   - (in front), from the weakest on
 *	operand    = NUMBER | NAME | #LITERAL | "(" expression ")" | FUNCTION "(" expression { "," expression } ")"
 *	FUNCTION   = min | max | d_ratio (0 when the divisor is 0) | has_event | source_count
 *
 * A NAME is an event: letters, digits, _ . : ? and '@', which stands for '/'; any other character has a backslash in front
 * (L1\-dcache\-loads, cpu@event\=0x3c@). What depends on literals only is decided when the text is parsed, so that the events of the other
 * branch need not be counted. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

struct metric_node;

struct metric_expression {
	const struct metric_node *root;
	VEC(const char *) names; /* of the events, each once, as -e takes them */
};

/* What names in an expression may be besides events. */
struct metric_names {
	/* The value of "#NAME"; false when it is unknown. NULL: none is known. */
	bool (*literal)(const void *context, const char *name, double *ret);
	const void *context;
	/* The expression that a name stands for (another metric), or NULL: it is an event. */
	const char *(*lookup)(const char *name);
};

/* Strings and nodes live in `arena`; metric_expression_deinit() frees the list. `names` may be NULL. The error shows the place. */
struct error *metric_parse(struct arena *arena, const char *text, const struct metric_names *names, struct metric_expression *ret);
void metric_expression_deinit(struct metric_expression *expression);

/* A value for each name; a name that wasn't counted is NAN. The result is NAN when it can't be computed (a name is missing, a division by
 * 0). */
double metric_evaluate(const struct metric_expression *expression, const double *values);

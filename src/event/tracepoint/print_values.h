/* What a tracepoint's print format says about the values of its fields: names of flags and of symbolic values. For scripts that turn
 * numbers into names themselves. */
#pragma once

#include "event/tracepoint/tracepoint.h"

#include <stddef.h>
#include <stdint.h>

struct print_value {
	uint64_t number;
	const char *text;
};

/* All strings live as long as the formats, the array during the call. */
struct print_values {
	const char *field;
	const char *delimiter; /* flags: what stands between their names, maybe ""; NULL: the field has one of the values */
	const struct print_value *values;
	size_t count;
};

/* Calls `visit` for each __print_flags() and __print_symbolic() whose value comes from a field. None when the format isn't understood. */
void print_values_visit(const struct tracepoint *tracepoint, void (*visit)(void *context, const struct print_values *values),
			void *context);

/* Filters of addresses for events that trace (--filter), in the grammar of the kernel's perf:
 *
 *	filters = filter { ( " " | "," ) filter }
 *	filter  = action place [ "/" place ] [ "@" FILE ]
 *	action  = "filter"        only what runs there is traced
 *	        | "start"         tracing begins there
 *	        | "stop"          tracing ends there
 *	        | "tracestop"     tracing ends once something there has run
 *	place   = NUMBER | NAME [ "#" ( "g" | NUMBER ) ] | "*"
 *
 * Names end with a space, as they may contain anything else. A second place that is a number is a size. Without a file it is the kernel
 * that is meant. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Which of several symbols of one name; above: the n'th in the order of addresses. */
enum { ADDRESS_ONLY = -1, ADDRESS_GLOBAL = 0 };

struct address_place {
	const char *name; /* NULL: `number` is meant */
	uint64_t number;
	int which; /* of that name */
};

struct address_filter {
	const char *action; /* as the kernel calls it: filter, start, stop */
	bool is_range;	    /* it has an end: given, or that of the symbol */
	bool has_end;
	struct address_place begin, end; /* `end`: as a number it is the size */
	const char *file;		 /* NULL = the kernel */
};

struct address_filters {
	struct arena arena;
	VEC(struct address_filter) filters;
};

/* The error (ERROR_USAGE) shows the place, and what was expected there. */
struct error *address_filters_parse(const char *text, struct address_filters *ret);
/* Does nothing to an all-zero one. */
void address_filters_deinit(struct address_filters *filters);
/* All of the kernel, or of the file. */
bool address_place_is_all(const struct address_place *place);

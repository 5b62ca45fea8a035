/* perf annotate --data-type, --type-stat, --insn-stat: types of data with their members, and how much was found. */
#pragma once

#include "analysis/annotate/data_profile.h"
#include "base/error.h"
#include "cmd/opening.h"
#include "event/event_set.h"

#include <stdbool.h>

struct data_types_options {
	bool types;		     /* show them, */
	const char *name;	     /* only this one; NULL = all */
	bool outcomes, instructions; /* statistics */
	double percent_limit;
	enum group_choice group;
	bool skip_empty;
	enum annotation_show show;
	bool global, hits;  /* percentages */
	const char *format; /* of csv or json; NULL = text */
	char separator;	    /* of csv; 0 = a comma */
	bool color;
	struct data_profile_options functions;
};

/* Whether any of it is asked for. */
static inline bool data_types_wanted(const struct data_types_options *options)
{
	return options->types || options->outcomes || options->instructions;
}

struct error *data_types_show(struct opening *opening, const struct data_types_options *options);

/* Metrics: named formulas over events that anybody can ask for (-M insn_per_cycle), from the events that every processor has. Names and
 * meanings of the generic ones are those of the kernel's perf (pmu-events/arch/common). */
#pragma once

#include "analysis/counting/metric_expression.h"
#include "event/catalog.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>

struct metric {
	const char *name;
	const char *groups; /* separated by ';' */
	const char *expression;
	const char *threshold; /* an expression over the metric's own name: not 0 = worth looking at; or NULL */
	double scale;	       /* the result times this, in … */
	const char *unit;      /* "%", "GHz"; "" = none */
	const char *description;
};

/* All of them, sorted by name. */
const struct metric *metrics_all(size_t *ret_count);
const struct metric *metric_find(const char *name);
/* The metric is of this name or in this group, in any case; "all" is every metric. */
bool metric_matches(const struct metric *metric, const char *name);
/* Whether the events that a metric needs have names here, so that it can be asked for: no event is opened. `names` as of metric_parse(),
 * NULL = every literal is there. */
bool metric_is_known_here(const struct metric *metric, struct event_catalog *catalog, const struct metric_names *names);

/* A metric that is computed from the events of a list. */
struct metric_use {
	const struct metric *metric;
	struct metric_expression expression, threshold; /* the second without a root = none */
	const struct event **events;			/* one for each name of the expression */
	const struct event *shown_at;			/* next to which count it stands */
	bool is_copy;					/* its expressions belong to another one */
};

struct metric_plan {
	struct arena arena;
	VEC(struct metric_use) uses;
};

struct metric_plan_options {
	bool no_group; /* events aren't counted in groups: fewer at a time, but not the same time */
	bool no_merge; /* metrics don't share events */
	bool no_threshold;
	struct metric_names names; /* literals; what metrics are called is known */
};

/* Adds the metrics and groups named in `text` (separated by commas) to the plan, and what they need to `events`. An error names what is not
 * known and what is near. */
struct error *metric_plan_add(struct metric_plan *plan, struct event_list *events, struct event_catalog *catalog, const char *text,
			      const struct metric_plan_options *options);
/* Once more the first `uses` metrics, for copies of all events that begin at index `first`. */
void metric_plan_copy(struct metric_plan *plan, size_t uses, const struct event_list *events, size_t first);
void metric_plan_deinit(struct metric_plan *plan);
/* The event was added for a metric only: its own metrics aren't shown. */
bool metric_plan_has_event(const struct metric_plan *plan, const struct event *event);

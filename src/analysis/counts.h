/* Counts: what the counters of all events said, added up by place (CPU, core, thread …), over one or several runs.
 *
 *	cells (event × CPU × thread)  ──counts_add_run()──►  totals (event × place)  ──counts_result()──►  result/counting.h
 *
 * A total is scaled to the whole time when the counter ran only part of it. Over several runs it is a mean with its deviation. */
#pragma once

#include "event/event.h"
#include "result/counting.h"
#include "session/counting.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mean and deviation of numbers that come one after the other. All zero = none yet. */
struct statistics {
	uint64_t count;
	double mean, squares;
};
void statistics_add(struct statistics *statistics, double value);
/* The standard deviation of the mean (not of the numbers); 0 with fewer than 2. */
double statistics_deviation(const struct statistics *statistics);
/* The same in percent of the mean. */
double statistics_relative(const struct statistics *statistics);

enum counts_by { COUNTS_GLOBAL, COUNTS_BY_CPU, COUNTS_BY_PLACE, COUNTS_BY_THREAD };

/* Where cells belong. `cpu_places` has one index for each CPU of the target with BY_PLACE; with BY_CPU and BY_THREAD each CPU or thread is
 * a place. */
struct counts_places {
	enum counts_by by;
	const struct counting_place_kind *kind; /* NULL with GLOBAL */
	const char *const *labels;		/* one for each place; NULL with GLOBAL */
	size_t count;
	const unsigned int *cpu_places;
};

struct count_total {
	struct statistics value, enabled, running; /* value: scaled, before the event's own scale */
	unsigned int members;			   /* CPUs with an open counter */
};

struct counts {
	const struct event_list *events;
	const struct counts_places *places;
	bool raw; /* --no-scale */
	struct count_total *totals; /* event × place */
	struct statistics elapsed, user, system; /* seconds */
};

void counts_init(struct counts *counts, const struct event_list *events, const struct counts_places *places);
void counts_deinit(struct counts *counts);
/* Forgets all runs. */
void counts_clear(struct counts *counts);

/* Adds one run (or interval) of an event: cells by CPU × thread; `before` is where they began, NULL = at 0. */
void counts_add_run(struct counts *counts, size_t event, const struct count *cells, const struct count *before, size_t cpus, size_t threads);
/* The same for what the tool counts itself: a value that ran all the time, in nanoseconds. It stands in the first place. */
void counts_add_tool(struct counts *counts, size_t event, uint64_t value_ns);

static inline const struct count_total *counts_total(const struct counts *counts, size_t event, size_t place)
{
	return &counts->totals[event * counts->places->count + place];
}

/* It has a value: its counter was there and ran. */
static inline bool count_total_is_counted(const struct count_total *total)
{
	return total->running.mean > 0 && total->enabled.mean > 0;
}

struct counts_result_options {
	const bool *absent; /* by event, or NULL */
	bool sort;	    /* places by their value, largest first (threads) */
	bool skip_idle;	    /* leave out places where nothing was counted (threads of the whole system) */
};

/* The rows, with their figures. What describes the whole (times, title) is the caller's to fill in. `counts` isn't needed afterwards, but
 * events and places are. */
struct counting *counts_result(const struct counts *counts, const struct counts_result_options *options);

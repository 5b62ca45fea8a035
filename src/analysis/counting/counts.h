/* Counts: what the counters of all events said, added up by place (CPU, core, thread …), over one or several runs.
 *
 *	cells (event × CPU × thread)  ──counts_add()──►  totals (event × place)  ──counts_result()──►  result/counting.h
 *
 * A total is scaled to the whole time when the counter ran only part of it. Over several runs it is a mean with its deviation. */
#pragma once

#include "analysis/counting/statistics.h"
#include "event/counter_value.h"
#include "event/event.h"
#include "result/counting.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum counts_by { COUNTS_GLOBAL, COUNTS_BY_CPU, COUNTS_BY_PLACE, COUNTS_BY_THREAD };

/* Where cells belong. With BY_CPU and BY_THREAD each CPU or thread is a place. Arrays by CPU are in the order of the target. */
struct counts_places {
	enum counts_by by;
	const struct counting_place_kind *kind; /* NULL with GLOBAL */
	const char *const *labels;		/* one for each place; NULL with GLOBAL */
	size_t count;
	const unsigned int *cpu_places;	  /* BY_PLACE: each CPU's place */
	const unsigned int *cpu_packages; /* each CPU's package (socket and die), for events that count for a whole one; NULL = any */
	const unsigned int *cpu_cores;	  /* the position of the first CPU of each CPU's core, and … */
	const char *const *core_labels;	  /* … what cores are called, for events with the term percore; NULL = no such */
};

struct count_total {
	struct statistics value, enabled, running; /* value: scaled, before the event's own scale */
	unsigned int members;			   /* CPUs with an open counter */
};

struct metric_plan;

struct counts {
	const struct event_list *events;
	const struct counts_places *places;
	const bool *absent;			 /* by event: this machine cannot count it; NULL = all are there */
	const struct metric_plan *metrics;	 /* NULL = none */
	bool raw;				 /* --no-scale */
	bool no_merge;				 /* events of several PMUs that count parts of one thing stay apart */
	bool merge_cores;			 /* those of several kinds of cores don't */
	bool percore_threads;			 /* --percore-show-thread */
	struct count_total *totals;		 /* event × place */
	struct statistics elapsed, user, system; /* seconds */
};

void counts_init(struct counts *counts, const struct event_list *events, const struct counts_places *places);
void counts_deinit(struct counts *counts);
/* Forgets all runs. */
void counts_clear(struct counts *counts);

/* What one run or interval has brought. */
struct counts_reading {
	struct counter_value *const *now;    /* by event: cells by CPU × thread */
	struct counter_value *const *before; /* where they began; NULL = at 0 */
	size_t cpus, threads;
	uint64_t duration_ns, user_ns, system_ns; /* also for the events that the tool counts itself */
};
void counts_add(struct counts *counts, const struct counts_reading *reading);

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
	bool sort;	     /* places by their value, largest first (threads) */
	bool skip_idle;	     /* leave out places where nothing was counted (threads of the whole system) */
	bool skip_zero;	     /* leave out rows whose count is 0, but where metrics stand */
	bool place_by_place; /* all events of a place stand together, not all places of an event */
};

/* The rows, with their metrics. What describes the whole (times, title) is the caller's to fill in. `counts` isn't needed afterwards, but
 * events and places are. */
struct counting *counts_result(const struct counts *counts, const struct counts_result_options *options);

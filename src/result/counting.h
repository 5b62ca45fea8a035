/* Result of counting at one moment: what `perf stat` shows for a run, or for one interval. Plain data.
 *
 *	rows of one event, or of one event in each place (CPU, core, socket, thread …):
 *	        1,234,567      instructions      #    0.85  insn per cycle      ( +-  1.20% )  (83.33%)
 *	        value  unit    event             metrics                        deviation      running
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum counting_state { COUNTING_COUNTED, COUNTING_NOT_COUNTED, COUNTING_NOT_SUPPORTED };

/* How bad a metric is: views may colour it. */
enum counting_level { COUNTING_PLAIN, COUNTING_LOW, COUNTING_MEDIUM, COUNTING_HIGH };

/* A metric computed from counts. */
struct derived_metric {
	const char *unit; /* what stands behind the number: "insn per cycle", "K/sec", "of all branches" */
	bool alone;	  /* is also shown where only metrics are */
	double value;
	bool known;	  /* else only the unit is meaningful: what it is computed from wasn't counted */
	const char *sign; /* directly behind the number in a table: "%", " %", "" */
	unsigned int width, decimals;
	enum counting_level level;
};

struct counting_row {
	const char *place;    /* "S0-D0-C1", "CPU3", "mandb-19638"; NULL = everything */
	unsigned int members; /* CPUs that were added up */
	const char *name;     /* of what was counted */
	const char *unit;     /* "msec"; "" = none */
	const char *cgroup;   /* NULL = none */
	enum counting_state state;
	double value;	  /* in `unit`; the mean of all runs */
	bool real;	  /* has decimals */
	double deviation; /* of the mean, percent of it */
	uint64_t running_ns;
	double running;			      /* percent of the time that the event was wanted; 100 when it wasn't at all */
	bool multiplexed;		      /* counted only part of the time: the value is an estimate */
	const struct derived_metric *metrics; /* the first stands in the row, others below */
	unsigned int metric_count;
};

struct counting_place_kind {
	const char *key;    /* for machines: "core" */
	const char *title;  /* of the column of intervals */
	unsigned int width; /* of the column */
	bool members;	    /* has the column of CPUs added up */
	bool right_to_dash; /* labels are aligned at their last dash (NAME-NUMBER) */
	const char *strip;  /* the start of labels that machines don't get, or NULL: "CPU" */
};

struct counting {
	struct arena arena;	/* owns all that is below */
	const char *subject_id; /* what rows are of: "event"; stable, lower case */
	VEC(struct counting_row) rows;
	const struct counting_place_kind *places; /* NULL = rows have no place */
	bool cgroups;				  /* some row has one */
	unsigned int runs;

	bool interval;	  /* one of several */
	bool summary;	  /* of all intervals */
	uint64_t time_ns; /* of an interval: its end, since the beginning */

	/* Of the whole: */
	const char *what;		   /* "'sleep 1'", "'system wide'" */
	double elapsed, elapsed_deviation; /* seconds; the second of the mean, absolute */
	const double *each_elapsed;	   /* of each run (--table), or NULL */
	bool has_times;
	double user, system;	   /* seconds */
	VEC(const char *) remarks; /* sentences below */
};

struct counting *counting_create(void);
void counting_destroy(struct counting *counting);

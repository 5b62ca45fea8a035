/* Parts of perf top. */
#pragma once

#include "analysis/report/fold.h"
#include "app/options.h"
#include "capture/live.h"
#include "capture/sampling.h"
#include "cmd/event_words.h"
#include "cmd/report/report.h"
#include "cmd/targets.h"

#include <stdbool.h>
#include <stdint.h>

struct top_options {
	struct report_options report; /* rows, columns, call graphs, filters */
	struct targets targets;
	struct event_words words;
	struct sampling sampling;
	size_t ring_pages;
	int realtime;	  /* SCHED_FIFO priority; 0 = none */
	uint64_t delay_s; /* between two screens */
	uint64_t entries; /* rows; 0 = as many as the terminal has room for */
	bool zero;	  /* each screen shows only what came since the last one */
	bool hide_kernel, hide_user;
};

/* options.c */
extern const struct option top_option_table[];
/* What holds without options. */
void top_options_init(struct top_options *options);
/* What options mean together; the sampling is complete then. */
struct error *top_options_check(struct top_options *options);
void top_options_deinit(struct top_options *options);

/* What came since the last screen. */
struct top_interval {
	uint64_t samples, kernel_samples, exact_samples;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
};

struct top {
	struct top_options *options;
	struct event_list events; /* as asked for; live_open() takes them */
	size_t event_count;	  /* of those */
	struct targets_place place;
	struct live *live;
	struct report report;
	struct fold_options fold_options;
	struct fold *fold; /* is fed */
	struct fold_feed *feed;
	struct top_interval interval;
	uint64_t lost; /* when the last screen was shown */
	bool ended;
	bool nobody_reads; /* standard output is a pipe whose reader has gone */
};

/* history.c: from the fold that was shown last (or NULL), which is destroyed, and what was fed since then makes the fold to be shown:
 * what is older counts for less each time, or for nothing with `zero`. Code in which CPUs are idle is left out. */
struct fold *top_history_next(struct top *top, struct fold *last, bool zero);

/* screen.c: the header and the rows, to standard output. */
struct error *top_show(struct top *top);

/* keys.c: a terminal that gives keys as they are pressed; a pipe gives none. */
void top_keys_begin(void);
/* The terminal is as it was before. */
void top_keys_end(void);
/* Does what the keys ask for that were pressed since the last call. True when the screen is to be shown anew. */
bool top_keys_apply(struct top *top);

/* perf diff: what its files share. */
#pragma once

#include "analysis/diff/significance.h"
#include "analysis/report/fold_parts.h"
#include "cmd/report/report.h"
#include "view/view.h"

struct diff_options {
	struct report_options report; /* keys, filters and what else holds for each recording */
	struct comparison_options comparison;
	int order; /* -o; below 0 = not given */
	bool baseline_only, formula, period;
	bool cycles;	  /* -c cycles: blocks of code instead of shares */
	bool cycles_hist; /* how much their first runs differ */
	bool stream;	  /* ways to where samples are, instead of a table */
	bool significance;
	bool fails;	   /* --fail-above */
	double fail_above; /* percentage points */
	const char *flamegraph;
	/* As often as they were given: one for each recording, or for all. */
	const char *times[COMPARISON_FILES_MAX], *wheres[COMPARISON_FILES_MAX];
};

/* A recording: a report of its own, of which only the rows are used. */
struct diff_file {
	const char *path;
	struct report_options options; /* diff's, with the recording's path and time range; borrows */
	struct report report;
	struct fold_parts *parts;  /* of the report's fold, by event; or NULL */
	struct report_keys keys;   /* of the event at hand */
	const struct event *event; /* the event at hand as this recording has it, or NULL */
	struct rows *rows;	   /* its; or NULL */
	struct report_keys slice_keys;
	struct rows *slices; /* the same by slices of time; with significance */
};

struct diff {
	const struct diff_options *options;
	struct diff_file *files;
	size_t file_count;
	bool failed; /* --fail-above: something is */
};

/* flamegraph.c: --flamegraph. First whether the options go together; then of two recordings that are open, whose `event` is set. */
struct error *diff_check_flamegraph(const struct diff_options *options);
struct error *diff_draw(struct diff *diff);

/* table.c: for people, as the kernel's tool has it; or for programs: shares, changes and periods as numbers. `errors` may be NULL. */
struct table *diff_table(const struct diff *diff, const struct comparison *comparison, const struct change_error *errors,
			 bool for_programs);
/* A table about the event at hand: its header, no columns. */
struct table *diff_table_begin(const struct diff *diff);
/* The text of a key in a row. */
void diff_add_key_text(const struct comparison *comparison, uint32_t row, size_t position, struct strbuf *out);

/* blocks.c: -c cycles. First whether options go together with it; then the table of two recordings. */
struct error *diff_check_cycles(const struct diff *diff);
struct error *diff_blocks_table(const struct diff *diff, const struct comparison *comparison, struct table **ret);

/* streams.c: --stream, of the event at hand, which both recordings have. */
struct error *diff_streams(const struct diff *diff);

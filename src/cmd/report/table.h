/* What report's tables, of rows and of blocks, share. */
#pragma once

#include "analysis/blocks.h"
#include "analysis/report/fold_parts.h"
#include "analysis/report/table/rows_table.h"
#include "cmd/report/report.h"

/* What is shown of an event, or of those of a group. */
struct report_event {
	const struct event **events;
	size_t count;		       /* of those that are shown */
	const struct event *reference; /* --show-ref-call-graph: whose call graphs these have, or NULL; behind the others in `events` */
	struct report_keys keys;
	struct rows *rows;
};

/* Adds up the rows. The fold's parts must outlive it, and give no others meanwhile. */
struct error *report_event_open(struct report *report, struct fold_parts *parts, const struct event *const *events, size_t count,
				struct report_event **ret);
void report_event_close(struct report_event *event);
/* The rows as a table with its header; to be destroyed first. `open`: which lines of a hierarchy are, NULL = all. */
struct rows_table *report_event_table(const struct report *report, const struct report_event *event, const struct rows_open *open);

/* Shows a table about the event with the view that was asked for. */
struct error *report_render(const struct report *report, const struct event *event, struct table *table);

/* Its first lines: how many samples of which events. */
void report_add_header(const struct report *report, const struct report_event *event, struct table *table);

/* blocks.c: --total-cycles of an event, with the block of each row. */
struct report_blocks {
	struct blocks *blocks;
	struct table *table;
	VEC(const struct block *) rows;
	bool on_screen;
};
struct error *report_blocks_open(struct report *report, const struct report_event *event, bool on_screen, struct report_blocks *ret);
/* The table anew, after options have changed that leave blocks out. */
void report_blocks_choose(struct report *report, const struct report_event *event, struct report_blocks *shown);
void report_blocks_close(struct report_blocks *shown);
/* "[file.c:12 -> file.c:15]"; without debug information "[function+0x17 -> function+0x20]". */
const char *report_block_range(struct report *report, const struct block *block, struct arena *arena);

/* What report's tables, flat and in levels, share. */
#pragma once

#include "cmd/report/report.h"

/* One table under way: makes rows when they are shown. */
struct maker {
	struct report *report;
	struct rows *rows;
	struct callgraphs *graphs;
	struct table *table;
	VEC(const struct key *) keys; /* by column */
	VEC(size_t) events;	      /* by column: which of the group's */
	uint32_t *visible;	      /* rows above the limit: positions in rows->order; NULL = all */
	size_t visible_count;
	uint64_t *totals;
	size_t event_count; /* of the rows' events those that have columns */
	size_t graph_event; /* … that the call graphs are of */
};

static inline double report_percent(uint64_t part, uint64_t total)
{
	return total ? 100.0 * (double)part / (double)total : 0;
}

union cell report_total_cell(const struct maker *maker, const struct row_sums *sums, const struct row_modes *modes, const struct key *key,
			     size_t event);
/* `text` holds what isn't kept elsewhere. */
union cell report_key_cell(const struct maker *maker, uint32_t row, const struct key *key, struct strbuf *text);
unsigned int report_key_width(struct maker *maker, const struct key *key);
struct error *report_render(struct maker *maker);

/* report_blocks.c: --total-cycles, of the first event. */
struct error *report_show_blocks(struct maker *maker);
struct error *report_show_hierarchy(struct maker *maker);

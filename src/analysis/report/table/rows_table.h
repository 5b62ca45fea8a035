/* Rows as a table: a column for each key, and one for each event where the key is a sum; call graphs below. Flat, one line for each row; or
 * in levels, a line for each value of the first key, below it one for each of the second, and so on.
 *
 * Lines are made when they are shown, on as many threads as the view takes. */
#pragma once

#include "analysis/report/callgraph.h"
#include "analysis/report/rows.h"
#include "result/table.h"

/* Which lines of a table in levels are open: what is below the others isn't listed. */
struct rows_open {
	bool all;	     /* all lines but `others`; else only `others` */
	struct map64 others; /* by rows_table_line_id() */
};

struct rows_table_options {
	/* In this order; keys of events that the rows are not about get no column. */
	const struct key *const *columns;
	size_t column_count;
	bool in_levels; /* only KEY_TOTAL keys get columns, and one holds the names of all levels */
	/* In levels: the key of each, and between them the KEY_TOTAL keys that order the lines below one parent. */
	const struct key *const *levels;
	size_t level_count;
	const struct rows_open *open; /* in levels; NULL = all lines are listed. Only needed for the call */
	size_t event_count;	      /* of the rows' events those that have columns: the first ones; rows of others only aren't shown */
	const char *self_title;	      /* of TOTAL_OVERHEAD; NULL = the key's own */
	const char *widths;	      /* "10,20": fixed widths of the first columns; NULL = from title and content */
	bool exact_times;	      /* times are in nanoseconds */
	bool relative;		      /* percentages relate to the samples that pass the filter */
	double least_percent;	      /* lighter lines aren't shown */
	uint64_t least_samples;	      /* flat: only lines with more than so many; 0 = all */
	size_t most_lines;	      /* in levels; 0 = all */
	struct callgraph_options graph;
	enum graph_value graph_value;
	uint32_t graph_most_entries; /* of each branch; 0 = all */
	bool graph_skip_first;	     /* the first frame is the row itself: isn't repeated */
};

struct rows_table;

/* Keeps pointers to `rows`, its keys and `widths`; the arrays of the options only have to last for the call. */
struct rows_table *rows_table_create(struct rows *rows, const struct rows_table_options *options);
void rows_table_destroy(struct rows_table *table);
/* Valid as long as the rows_table is, which owns it. Comment lines and names may be added. */
struct table *rows_table_result(struct rows_table *table);

/* Which row a line shows; in levels the first of those that it is made of. */
uint32_t rows_table_row(const struct rows_table *table, size_t line);
/* In levels: whether something can be listed below a line; and what it is known by, the same in all tables of the folds' session. */
bool rows_table_line_opens(const struct rows_table *table, size_t line);
uint64_t rows_table_line_id(const struct rows_table *table, size_t line);
/* The same in tables of the recording's other sessions: by what a line and those above it are called. And the open lines of one such table,
 * as another one calls them. */
uint64_t rows_table_line_name(const struct rows_table *table, size_t line);
void rows_table_carry_open(const struct rows_table *from, const struct rows_table *to, struct rows_open *open);
/* Whether all rows that a line is made of have the same value of a key: in levels those of its own level and the ones above. */
bool rows_table_line_has(const struct rows_table *table, size_t line, const struct key *key);

/* 0 of nothing. */
static inline double rows_percent(uint64_t part, uint64_t total)
{
	return total ? 100.0 * (double)part / (double)total : 0;
}

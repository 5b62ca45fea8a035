/* What flat tables of rows and those in levels share. */
#pragma once

#include "analysis/report/table/rows_table.h"

struct rows_levels; /* rows_levels.c */

struct rows_table {
	struct rows *rows;
	struct rows_table_options options;
	struct callgraphs *graphs; /* or NULL */
	struct table *table;
	VEC(const struct key *) keys; /* by column */
	VEC(size_t) events;	      /* by column: which of the group's */
	uint32_t *visible;	      /* flat: rows above the limit: positions in rows->order; NULL = all */
	size_t visible_count;
	const uint64_t *totals; /* by event: 100 % */
	struct rows_levels *levels;
};

/* The cell of a KEY_TOTAL key; `modes` may be NULL. */
union cell rows_table_total(const struct rows_table *table, const struct row_sums *sums, const struct row_modes *modes,
			    const struct key *key, size_t event);
/* The cell of any other key. `text` holds what isn't kept elsewhere. */
union cell rows_table_cell(const struct rows_table *table, uint32_t row, const struct key *key, struct strbuf *text);
unsigned int rows_table_width(const struct rows_table *table, const struct key *key);

/* Adds the column of names, and the lines: to be called when the other columns are there. */
struct rows_levels *rows_levels_create(struct rows_table *table);
void rows_levels_destroy(struct rows_levels *levels);
uint32_t rows_levels_row(const struct rows_levels *levels, size_t line);

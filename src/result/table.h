/* Result of an analysis as rows and columns: plain data. CSV and JSON use a column's id and raw values, stdio and TUI its title and pretty
 * ones. */
#pragma once

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct calltree;

enum column_kind {
	COLUMN_TEXT,
	COLUMN_COUNT,	    /* integer */
	COLUMN_ROUNDED,	    /* integer; for people as "2.3K" */
	COLUMN_PERCENT,	    /* real: 0…100 */
	COLUMN_NANOSECONDS, /* integer */
	COLUMN_ADDRESS,	    /* integer, hexadecimal */
	COLUMN_BYTES,	    /* integer */
	COLUMN_REAL,
};

enum column_align { ALIGN_LEFT, ALIGN_RIGHT };

struct column {
	const char *id;	   /* "overhead", "sym": stable, lower case */
	const char *title; /* "Overhead", "Symbol" */
	enum column_kind kind;
	enum column_align align;
	unsigned int min_width; /* of the content; with table.fetch the content isn't looked at for it */
	unsigned int width;	/* 0 = from title and content; else fixed (-w): longer text is cut */
	unsigned int decimals;	/* of PERCENT and REAL */
	bool joined;		/* stands under the title of the column before, without a gap: one value for each event of a group */
	bool padded;		/* filled up with spaces even as the last column */
};

union cell {
	const char *text; /* may be NULL = empty; unsafe bytes still in it */
	uint64_t integer;
	double real;
};

struct row {
	union cell *cells;     /* one for each column */
	uint64_t value;	       /* what percentages of its call tree relate to */
	struct calltree *tree; /* call graph under this row, or NULL */
	unsigned int depth;    /* with table.levels */
	bool note;	       /* with table.levels: only the last cell, a remark */
	char sign; /* with table.levels, of what is below: '+' it isn't listed, '-' it is; 0 = nothing, or it is always listed */
};

/* Where rows are made that aren't stored. */
struct row_scratch {
	union cell *cells;
	struct strbuf *texts;  /* one for each column */
	struct calltree *tree; /* owned; NULL = none */
	size_t columns;
	bool shallow; /* of call graphs the first level is enough: whether there is one */
};

/* How the call graphs of rows are drawn. */
enum graph_style { GRAPH_NONE, GRAPH_TREE, GRAPH_FRACTAL, GRAPH_FLAT, GRAPH_FOLDED };
enum graph_value { GRAPH_PERCENT, GRAPH_PERIOD, GRAPH_COUNT };

struct table_graph {
	enum graph_style style;
	enum graph_value value;
	uint64_t total;	       /* 100 %, but for FRACTAL */
	uint32_t most_entries; /* of each branch; 0 = all */
	uint64_t least;	       /* FLAT, FOLDED: lighter stacks are left out */
	bool skip_first;       /* the first frame is the row itself: isn't repeated */
};

struct table {
	struct arena arena;		  /* owns everything below */
	const char *id;			  /* "report", "latency": stable, lower case */
	const char *subject_id, *subject; /* what all rows are about, both or none: "event", "cycles"; programs get it as a column */
	VEC(struct column) columns;
	VEC(struct row) rows;
	VEC(const char *) header; /* comment lines above the table, without '#' */
	VEC(const char *) footer; /* hints below it */
	struct table_graph graph;
	unsigned int levels; /* rows stand below others, indented by their depth; the last column is their name; 0 = a flat table */
	/* Large tables make their rows when they are shown: `fetched` rows follow those of `rows`. */
	size_t fetched;
	/* Fills scratch->cells. May be called on several threads, each with a scratch of its own. */
	void (*fetch)(const void *context, size_t index, struct row_scratch *scratch, struct row *ret);
	const void *fetch_context;
};

struct table *table_create(void);
/* A table of these columns, which are copied; `id` isn't. */
struct table *table_create_columns(const char *id, const struct column *columns, size_t count);
/* Appends a row of so many cells as the table has columns; they are copied, their texts aren't. */
void table_add_row(struct table *table, const union cell *cells);
void table_destroy(struct table *table);

void row_scratch_init(struct row_scratch *scratch, const struct table *table);
void row_scratch_deinit(struct row_scratch *scratch);
/* The scratch owns the tree from now on; that of the row before is destroyed. NULL = none. */
void row_scratch_set_tree(struct row_scratch *scratch, struct calltree *tree);

static inline size_t table_row_count(const struct table *table)
{
	return table->rows.len + table->fetched;
}

/* The row, or `made` when it had to be made: valid until the next one is made in this scratch. */
static inline const struct row *table_row(const struct table *table, size_t index, struct row_scratch *scratch, struct row *made)
{
	if (index < table->rows.len)
		return &table->rows.data[index];
	table->fetch(table->fetch_context, index - table->rows.len, scratch, made);
	return made;
}

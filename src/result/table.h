/* Result of an analysis as rows and columns: plain data. CSV and JSON use a column's id and raw values, stdio and TUI its title and pretty
 * ones. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct calltree;

enum column_kind {
	COLUMN_TEXT,
	COLUMN_COUNT,	    /* integer */
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
	unsigned int min_width; /* 0 = from the content */
	unsigned int width;	/* 0 = from the content; else fixed (-w) */
	unsigned int decimals;	/* of PERCENT and REAL */
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
	struct row *children;  /* --hierarchy, or NULL */
	size_t child_count;
	unsigned int depth; /* of hierarchy rows */
};

struct table {
	struct arena arena; /* owns everything below */
	const char *title;
	VEC(struct column) columns;
	VEC(struct row) rows;
	VEC(const char *) header; /* comment lines above the table, without '#' */
	VEC(const char *) footer; /* hints below it */
};

struct table *table_create(void);
void table_destroy(struct table *table);

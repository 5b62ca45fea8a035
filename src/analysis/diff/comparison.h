/* Comparison: the rows of several recordings beside each other. The first recording is the baseline.
 *
 *	rows of old ──┐  by names       ┌─ row: part of old | part of new | …
 *	rows of new ──┴────────────────►├─ row: part of old | –
 *	                                └─ row: –           | part of new
 *
 * Each recording has a fold of its own, with ids, addresses and pointers that mean nothing in another one. What rows have in common is what
 * their keys say: texts and numbers. So functions of one name in one file are one row here, wherever they are, and so is all of a file that
 * has no symbols.
 */
#pragma once

#include "analysis/report/rows.h"
#include "base/arena.h"
#include "base/id_table.h"
#include "base/intern.h"
#include "base/vec.h"

enum { COMPARISON_FILES_MAX = 64 };

enum comparison_method {
	COMPARISON_DELTA,     /* difference of the shares, in percentage points */
	COMPARISON_DELTA_ABS, /* the same, ordered by its size */
	COMPARISON_RATIO,     /* of the periods, new to old */
	COMPARISON_WDIFF,     /* difference of the periods, each times a weight */
};

struct comparison_options {
	enum comparison_method method;
	int64_t old_weight, new_weight; /* WDIFF */
	size_t order;			/* the file by whose change rows are sorted; 0 = by the baseline's share */
	bool relative;			/* shares are of the rows that are shown */
	bool baseline_only;		/* only rows of the baseline that another file has too */
};

/* What a file has of a row. */
struct comparison_part {
	uint64_t period, count;
	bool present;
};

struct comparison_row {
	uint32_t file, row; /* whose text it has: the first file that has it */
	uint64_t rank;	    /* private: which of the file's rows that is */
	bool shown;
};

/* What a key says of a row: `text`, interned, or with NULL a number, or nothing. */
struct comparison_value {
	const char *text;
	int64_t number;
};

struct comparison {
	struct comparison_options options;
	size_t file_count, key_count;
	const struct rows *const *files;
	const struct key *const *keys; /* of the first file */
	VEC(struct comparison_row) rows;
	VEC(struct comparison_part) parts;     /* row × file_count + file */
	VEC(struct comparison_value) values;   /* row × key_count + key */
	uint64_t totals[COMPARISON_FILES_MAX]; /* what shares relate to */
	uint64_t shown_total;		       /* the baseline's, of the rows that are shown: what its own column relates to */
	uint32_t *order;		       /* of rows that are shown */
	size_t shown_count;
	/* private */
	struct intern strings;
	struct id_table ids;
};

/* One of `files` but the first may be NULL: a recording without that event. `files`, and all that their rows refer to, stay as long as the
 * comparison. All have the same number of keys, of the same meaning. */
struct comparison *comparison_create(const struct rows *const *files, size_t count, const struct comparison_options *options);
void comparison_destroy(struct comparison *comparison);

static inline const struct comparison_part *comparison_part(const struct comparison *comparison, uint32_t row, size_t file)
{
	return &comparison->parts.data[row * comparison->file_count + file];
}

/* The row that a row of a file belongs to, which may be of other rows than comparison_create() got if its first keys are the same ones;
 * ID_NONE = none. */
uint32_t comparison_find(struct comparison *comparison, const struct rows *rows, uint32_t row);
/* In percent; 0 where there is nothing. */
double comparison_share(const struct comparison *comparison, uint32_t row, size_t file);
/* The change from the baseline to a file by options.method; RATIO and WDIFF mean something only where the baseline has the row. */
double comparison_change(const struct comparison *comparison, uint32_t row, size_t file);

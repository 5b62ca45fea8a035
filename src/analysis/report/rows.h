/* Rows: the entries of a fold added up by the keys that were asked for, with what their callers add to them.
 *
 * A row is (actor class, place class, extra class): a class is one distinct combination of the keys of that domain, so that adding up
 * compares three small numbers. Every class knows its rank for each key, so that sorting compares small numbers too.
 *
 * Children mode: a sample adds to the row of every frame of its stack, once for each row, however often the frame occurs in it.
 */
#pragma once

#include "analysis/report/keys/keys.h"

enum { ROWS_KEYS_MAX = 64 };

struct rows_options {
	const struct event *const *events; /* one, or a group's */
	size_t event_count;
	const struct key *const *keys; /* identity, in sort order; without KEY_TOTAL ones */
	size_t key_count;
	const struct key *const *sort; /* all keys, first one first */
	const bool *sort_skipped;      /* by position in sort: tells rows apart, but doesn't order them */
	size_t sort_count;
	size_t sort_event; /* which of the events decides it */
	bool children;
	bool by_mode;	    /* sums for each cpumode */
	bool tie_by_depth;  /* children mode: rows with equal sums by the depth of what hangs below */
	bool branches;	    /* places are (from, to) pairs */
	bool caller_order;  /* call chains are looked at from the outside in */
	bool exclude_other; /* rows without a parent are filtered */
	/* May be NULL: entries for which it is false add to totals, but rows whose first sample is such a one aren't shown. */
	bool (*shown)(void *context, const struct fold *fold, const struct fold_entry *entry);
	bool shown_only; /* such entries add to totals only: where rows hold both kinds, the first sample's would be chance */
	/* May be NULL: rows for whose place it is false aren't shown, nor are their periods in the total of what is shown; their samples
	 * are. */
	bool (*place_shown)(void *context, const struct fold_frame *place);
	void *context;
	size_t most; /* only so many rows are asked for, the first ones; others needn't be in `order`. 0 = all */
	unsigned int jobs;
};

struct row_sums {
	uint64_t period;
	uint64_t children;
	uint64_t count;
};

struct row_modes {
	uint64_t sys, us, guest_sys, guest_us;
};

struct rows_row {
	uint32_t actor, place, extra; /* classes */
	uint32_t first;		      /* entry whose first sample made it */
	uint32_t first_depth;	      /* where its first frame is in that entry's stack, counted from 1; 0 = it is what was sampled */
};

struct class_table; /* rows_classes.c */

struct rows {
	struct fold *fold;
	struct key_context *context;
	struct rows_options options;
	struct rows_row *rows;
	struct row_sums *sums;	 /* row × event_count + event */
	struct row_modes *modes; /* the same, with by_mode; else NULL */
	uint32_t *order;	 /* sorted; filtered ones are left out */
	size_t row_count;
	size_t shown_count;    /* in `order`; at least options.most, if there are so many */
	uint64_t *total;       /* by event: periods of all samples */
	uint64_t *total_shown; /* … of those that pass the filter */
	uint64_t *samples;     /* by event */
	uint64_t *samples_shown;
	struct rows_private *private;
};

/* Keeps pointers to `fold`, `context` and the arrays of `options`. */
struct rows *rows_create(struct fold *fold, struct key_context *context, const struct rows_options *options);
void rows_destroy(struct rows *rows);

/* A bitmap by row, freed by the caller: those in `order`. To go through all of them in the order in which they lie in memory is several
 * times faster than in that of the table. */
uint64_t *rows_shown(const struct rows *rows);
/* What a cell is made from. */
void rows_source(const struct rows *rows, uint32_t row, const struct key *key, struct key_source *ret);
/* The longest text of a key over all shown rows. */
unsigned int rows_width(struct rows *rows, const struct key *key);
/* Whether a shown row's place has no symbol. */
bool rows_have_unresolved(const struct rows *rows, const struct key *key);
/* The order that a key alone gives to two rows; symbols and places that are equal in it by address. */
int rows_compare_key(const struct rows *rows, uint32_t a, uint32_t b, const struct key *key);
/* Which of the events it belongs to, or -1. */
int rows_event(const struct rows *rows, const struct fold_entry *entry);

/* What rows.c (adding up), rows_classes.c (classes and ranks) and rows_sort.c share. */
#pragma once

#include "analysis/report/rows.h"
#include "analysis/report/stack_order.h"
#include "base/hash.h"
#include "base/id_table.h"

enum { CLASS_ACTOR, CLASS_PLACE, CLASS_EXTRA, CLASS_DOMAINS };

/* Distinct combinations of the keys of one domain. A class is kept as what represents it: an actor's number, an extra's, or a place. */
struct classes {
	VEC(uint32_t) representatives;
	VEC(uint32_t) entries; /* CLASS_EXTRA: an entry that has it */
	VEC(uint64_t) words;   /* CLASS_EXTRA: one for each key; of keys with a string its address */
	struct id_table ids;
	const struct key *keys[ROWS_KEYS_MAX];
	unsigned int key_count;
	uint32_t *ranks[ROWS_KEYS_MAX]; /* by key: rank of each class */
};

/* A place's representative: a frame and whether it is a caller's; branch mode: a piece of two frames. */
#define PLACE_CALLER 0x80000000u

struct parent_class {
	uint32_t extra;
	const struct symbol *parent;
};

struct rows_private {
	struct stack_order *order; /* made when it is needed */
	uint32_t *sections;	   /* by entry: which of the combinations of actor, extra and event; FOLD_NONE = none */
	struct classes classes[CLASS_DOMAINS];
	const struct key *parent_key;
	uint32_t *parent_ranks;
	VEC(struct parent_class) parents; /* with a parent key: classes of (extra class, parent); rows' extra is one of them */
	struct id_table parent_ids;
	uint32_t *entry_extra; /* with a parent key: by entry */
	uint32_t *actor_class; /* by actor */
	uint32_t *self_class;  /* by frame; FOLD_NONE = not made */
	uint32_t *caller_class;
	uint32_t *pair_class;  /* branch mode: by piece */
	uint32_t *extra_class; /* by extra */
	uint16_t *depths;      /* by row, children mode: the longest chain */
	int *event_position;   /* by event index: position among the events or -1; NULL = there is one event */
};

void classes_create(struct rows *rows);
void classes_destroy(struct rows *rows);
/* After all classes are made: the ranks that the sort needs, of all classes or only of those that rows in `order` have. */
void classes_rank(struct rows *rows, bool ordered_only);
void classes_source(const struct rows *rows, unsigned int domain, uint32_t class, const struct key *key, struct key_source *ret);
/* The class of a row's key: which of its three it is. */
uint32_t classes_of_row(const struct rows *rows, uint32_t row, const struct key *key);
uint32_t rows_entry_extra(const struct rows *rows, const struct fold_entry *entry);
/* Parent of an entry's stack: the symbol that matches, FOLD order as asked. */
const struct symbol *rows_parent(const struct rows *rows, const struct fold_entry *entry);

static inline uint32_t rows_hash(uint32_t actor, uint32_t place, uint32_t extra)
{
	return (uint32_t)hash_combine((uint64_t)actor << 32 | place, extra);
}

static inline uint32_t rows_self_place(const struct rows *rows, const struct fold_entry *entry)
{
	return rows->options.branches ? rows->private->pair_class[entry->outer] : rows->private->self_class[entry->leaf];
}

/* Adds all entries up: fills rows, sums, modes, depths, totals. */
void rows_add_all(struct rows *rows);
/* The order of all entries' stacks, a section for each combination of actor, extra and event. */
const struct stack_order *rows_stack_order(struct rows *rows);
/* Sorts what is in `order`. */
void rows_sort(struct rows *rows);
/* Whether that needn't be all rows, for options.most; then leaves those in `order` that may be among the first ones. */
bool rows_can_choose(const struct rows *rows);
void rows_choose(struct rows *rows);

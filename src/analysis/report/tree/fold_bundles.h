/* Private to the call trees of a fold: stacks in bundles, which tree/fold_heaviest.c divides.
 *
 * A stack is up to LOOSE_PARTS parts, and each of these one or two stretches of frames in a row. Stacks that have their next part in common
 * are a bundle, which is moved as one until that part is at its end:
 *
 *	order     │ stack stack stack │ stack │ stack stack │       of a list, sorted by their parts
 *	bundles   │ ────── 1 ──────── │ ─ 2 ─ │ ──── 3 ──── │
 *
 * Each feed of a fold has a list of its own; a fold with entries is one.
 */
#pragma once

#include "analysis/report/tree/fold_tree.h"

struct bundle {
	const uint32_t *next; /* the frame with which its stacks go on, if any are left */
	uint32_t left : 29;   /* frames of the stretch */
	uint32_t entered : 3; /* stretches */
	uint32_t begin;	      /* its stacks, in stack_lists.order */
	uint32_t count;
	uint32_t total_count; /* samples */
	uint64_t total;
};

typedef VEC(struct bundle) bundle_list;

/* A piece is two stretches of frames. */
enum { STRETCHES = 2 * LOOSE_PARTS };

/* What is asked of memory so many steps before it is needed. */
enum { AHEAD = 16 };

/* Stacks from one feed, and where they are in stack_lists.order. */
struct stack_list {
	struct loose_stack *const *blocks;
	const struct loose_piece *pieces;
	uint32_t begin, count;
	bundle_list bundles;
	uint64_t *own; /* what ends in each frame */
};

struct stack_lists {
	const struct tree_growing *growing;
	struct stack_list *lists;
	size_t count;
	uint32_t *order;  /* numbers of stacks in their list, list by list */
	uint64_t *frames; /* by number in stacks: packed frame << 32 | rank of its label */
	uint32_t *looks;  /* by packed frame: equal for those that are described alike */
};

/* Those of the fold, in bundles. */
void stack_lists_init(struct stack_lists *all, const struct tree_growing *growing);
void stack_lists_deinit(struct stack_lists *all);
/* Goes on to the next stretch that all of the bundle's stacks have in common; false when there is none. */
bool stack_lists_go_on(const struct stack_lists *all, struct bundle *bundle);
/* A bundle at the end of what its stacks have in common: adds those in which they go on, if they do. */
void stack_lists_untie(const struct stack_lists *all, const struct bundle *tied, bundle_list *untied);

/* The packed frame, and the rank of its label, for what a bundle's `next` points to. */
static inline uint32_t stack_lists_frame(const struct stack_lists *all, uint32_t next)
{
	return (uint32_t)(all->frames[next & ~LOOSE_FRAME] >> 32);
}

static inline uint32_t stack_lists_rank(const struct stack_lists *all, uint32_t next)
{
	return (uint32_t)all->frames[next & ~LOOSE_FRAME];
}

static inline const struct stack_list *stack_lists_at(const struct stack_lists *all, uint32_t position)
{
	const struct stack_list *list = all->lists;
	while (position - list->begin >= list->count)
		list++;
	return list;
}

/* The stack at a position in the order. */
static inline const struct loose_stack *stack_lists_stack(const struct stack_lists *all, uint32_t position)
{
	return fold_loose_stack(stack_lists_at(all, position)->blocks, all->order[position]);
}

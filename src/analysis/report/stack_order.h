/* Stacks in an order in which those with equal beginnings stand together: read one after the other they are a trie.
 *
 *	main parse read        main ── parse ── read
 *	main parse token                  └──── token
 *	main run               └──── run
 *
 * Each entry shares so many frames with the one before it (stack_order_shared): what is common to many stacks is looked at once. Sharing is
 * a matter of speed: neighbours may have more in common than is said, so that a node of the trie may have several children of the same
 * frame.
 */
#pragma once

#include "analysis/report/fold.h"

struct stack_order {
	const struct fold *fold;
	const uint32_t *sections; /* by entry, the maker's; FOLD_NONE = not in the order */
	uint32_t *entries;	  /* numbers of entries, section by section */
	size_t count;
	uint16_t *shared; /* by position: how many of its first frames a stack shares with the one before it, as far as the number goes */
	bool outside_in;  /* stacks begin with the outermost frame, else with the innermost one */
};

/* Keeps a pointer to `sections`. Entries without a chain are in it: their stacks are empty. */
struct stack_order *stack_order_create(const struct fold *fold, const uint32_t *sections, bool outside_in, unsigned int jobs);
void stack_order_destroy(struct stack_order *order);

/* How many of its first frames the stack at `position` shares with that at the smaller position `before`. None with those of other
 * sections. */
uint32_t stack_order_shared(const struct stack_order *order, size_t before, size_t position);

/* Frames of an entry's chain; 0 when it has none. */
static inline uint32_t stack_order_depth(const struct stack_order *order, const struct fold_entry *entry)
{
	return entry->inner == FOLD_NONE && entry->outer == FOLD_NONE ? 0 : fold_depth(order->fold, entry);
}

static inline const struct fold_entry *stack_order_entry(const struct stack_order *order, size_t position)
{
	return &order->fold->entries[order->entries[position]];
}

/* The frame at a depth as the order counts it: 0 is where stacks begin. `count` is stack_order_depth(). */
static inline uint32_t stack_order_frame(const struct stack_order *order, const struct fold_entry *entry, uint32_t count, uint32_t depth)
{
	return fold_frame_id(order->fold, entry, order->outside_in ? count - 1 - depth : depth);
}

/* A tree of frames with weights, for call graphs and flame graphs: children by label, each node with its own and its total weight. */
#pragma once

#include "base/arena.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind { FRAME_USER, FRAME_KERNEL, FRAME_JIT, FRAME_INLINED, FRAME_OTHER, FRAME_WAITING };

struct calltree_node {
	const char *label;		  /* interned by the tree's maker: equal labels have equal pointers */
	const char *module;		  /* the file whose code it is, by its maker's pointer; NULL = unknown */
	uint8_t kind;			  /* enum frame_kind */
	uint32_t repeats;		  /* calltree_fold_recursion(): the most frames in a row that the node stands for; else 0 */
	uint64_t self;			  /* weight that ends here, or below in nodes that were left out */
	uint64_t total;			  /* self and all below */
	uint64_t self_count, total_count; /* samples */
	struct calltree_node *parent;
	struct calltree_node *children; /* first; sorted as the maker says */
	struct calltree_node *sibling;	/* next child of the same parent */
};

/* What was spent in a file's own code. */
struct calltree_module {
	const char *name;
	uint64_t self;
};

struct calltree {
	struct arena arena;
	struct calltree_node root; /* label NULL */
	uint64_t nodes;
	uint64_t least;			 /* nodes of a total below were left out; 0 = all are there */
	struct calltree_module *modules; /* with `least`: of all nodes, also of those that were left out */
	size_t module_count;
	/* private: finds children by (parent, label) */
	struct calltree_node **slots;
	uint64_t mask;
};

struct calltree *calltree_create(void);
void calltree_destroy(struct calltree *tree);
/* The child of that label, made when there is none. */
struct calltree_node *calltree_child(struct calltree *tree, struct calltree_node *parent, const char *label, uint8_t kind);
/* Adds what ends in the node, once more, to it and to all that it is below. */
void calltree_weigh(struct calltree_node *node, uint64_t weight);
/* The same stacks with recursion folded: frames that follow each other and have one label are one node, and what they called hangs below
 * that one. Labels and modules are those of `tree`, whose maker's must outlive the new tree; children are in no order. */
struct calltree *calltree_fold_recursion(const struct calltree *tree);
/* " ×38", or nothing. */
void calltree_add_repeats(const struct calltree_node *node, struct strbuf *out);
/* By name, for calltree_sort(). */
int calltree_by_label(const struct calltree_node *a, const struct calltree_node *b);
/* The heaviest first, those of one weight by name. */
int calltree_by_weight(const struct calltree_node *a, const struct calltree_node *b);
/* Sorts the children of `node` and of all nodes below it. */
void calltree_sort(struct calltree_node *node, int (*compare)(const struct calltree_node *, const struct calltree_node *));

/* The node below that is shown together with this one, since nothing ends or branches off between them, or NULL. */
static inline const struct calltree_node *calltree_continuation(const struct calltree_node *node)
{
	const struct calltree_node *child = node->children;
	return child && child->total == node->total && child->total_count == node->total_count && !child->sibling ? child : NULL;
}

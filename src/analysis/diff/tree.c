/* Two call trees merged. */
#include "analysis/diff/tree.h"

/* Adds the weights of `from` and of all below it at `into`: in a loop, since trees are as deep as the stacks. */
static void add_tree(struct calltree *tree, const struct calltree *from, bool new, struct intern *names)
{
	const struct calltree_node *node = &from->root;
	struct calltree_node *at = &tree->root;
	for (;;) {
		*(new ? &at->total : &at->total_count) += node->total;
		*(new ? &at->self : &at->self_count) += node->self;
		const struct calltree_node *next = node->children;
		while (!next && node->parent) {
			next = node->sibling;
			node = node->parent;
			at = at->parent;
		}
		if (!next)
			return;
		at = calltree_child(tree, at, intern_string(names, next->label), next->kind);
		if (next->module && !at->module)
			at->module = intern_string(names, next->module);
		node = next;
	}
}

struct calltree *tree_compare(const struct calltree *old, const struct calltree *new, struct intern *names)
{
	struct calltree *tree = calltree_create();
	add_tree(tree, new, true, names);
	add_tree(tree, old, false, names);
	tree->least = old->least > new->least ? old->least : new->least;
	calltree_sort(&tree->root, calltree_by_label);
	return tree;
}

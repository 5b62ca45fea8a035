/* Trees of frames: storage. Children are found through a hash of (parent, label), so that wide nodes cost no more than narrow ones. */
#include "result/calltree.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct calltree *calltree_create(void)
{
	struct calltree *tree = mem_zalloc(sizeof(*tree));
	tree->root.kind = FRAME_OTHER;
	return tree;
}

void calltree_destroy(struct calltree *tree)
{
	if (!tree)
		return;
	arena_deinit(&tree->arena);
	free(tree->slots);
	free(tree);
}

static uint64_t slot_of(const struct calltree *tree, const struct calltree_node *parent, const char *label)
{
	return hash_combine((uintptr_t)parent, (uintptr_t)label) & tree->mask;
}

static void grow(struct calltree *tree)
{
	struct calltree_node **old = tree->slots;
	uint64_t count = old ? tree->mask + 1 : 0;
	tree->mask = old ? tree->mask * 2 + 1 : 63;
	tree->slots = mem_zalloc_table(tree->mask + 1, sizeof(*tree->slots));
	for (uint64_t i = 0; i < count; i++) {
		if (!old[i])
			continue;
		uint64_t at = slot_of(tree, old[i]->parent, old[i]->label);
		while (tree->slots[at])
			at = (at + 1) & tree->mask;
		tree->slots[at] = old[i];
	}
	free(old);
}

struct calltree_node *calltree_child(struct calltree *tree, struct calltree_node *parent, const char *label, uint8_t kind)
{
	if ((tree->nodes + 1) * 4 > (tree->slots ? tree->mask + 1 : 0) * 3)
		grow(tree);
	uint64_t at = slot_of(tree, parent, label);
	for (; tree->slots[at]; at = (at + 1) & tree->mask)
		if (tree->slots[at]->parent == parent && tree->slots[at]->label == label)
			return tree->slots[at];
	struct calltree_node *node = arena_zalloc(&tree->arena, sizeof(*node));
	node->label = label;
	node->kind = kind;
	node->parent = parent;
	node->sibling = parent->children;
	parent->children = node;
	tree->slots[at] = node;
	tree->nodes++;
	return node;
}

void calltree_weigh(struct calltree_node *node, uint64_t weight)
{
	node->self += weight;
	node->self_count++;
	for (; node; node = node->parent) {
		node->total += weight;
		node->total_count++;
	}
}

int calltree_by_label(const struct calltree_node *a, const struct calltree_node *b)
{
	return strcmp(a->label, b->label);
}

int calltree_by_weight(const struct calltree_node *a, const struct calltree_node *b)
{
	return a->total != b->total ? (a->total < b->total ? 1 : -1) : calltree_by_label(a, b);
}

/* ---- recursion ---- */

/* What a node of the tree that is folded has become. */
struct folded {
	struct calltree_node *to;
	uint32_t run; /* frames of its label in a row, up to it */
};

static struct folded fold_node(struct calltree *tree, const struct calltree_node *node, const struct folded *parent)
{
	struct calltree_node *to = parent->to;
	uint32_t run = parent->run + 1;
	if (to->label != node->label) {
		to = calltree_child(tree, to, node->label, node->kind);
		to->module = node->module;
		to->total += node->total;
		to->total_count += node->total_count;
		run = 1;
	}
	to->self += node->self;
	to->self_count += node->self_count;
	if (to->repeats < run)
		to->repeats = run;
	return (struct folded){to, run};
}

/* In a loop, since a recursion may be of any depth: `path` has what the nodes from the root on have become. */
struct calltree *calltree_fold_recursion(const struct calltree *tree)
{
	struct calltree *result = calltree_create();
	VEC(struct folded) path = {0};
	result->least = tree->least;
	result->root.self = tree->root.self;
	result->root.self_count = tree->root.self_count;
	result->root.total = tree->root.total;
	result->root.total_count = tree->root.total_count;
	vec_push(&path, (struct folded){.to = &result->root});
	for (const struct calltree_node *node = tree->root.children; node;) {
		struct folded folded = fold_node(result, node, vec_last(&path));
		vec_push(&path, folded);
		if (node->children) {
			node = node->children;
			continue;
		}
		for (path.len--; node != &tree->root && !node->sibling; path.len--)
			node = node->parent;
		node = node->sibling;
	}
	vec_deinit(&path);
	return result;
}

void calltree_add_repeats(const struct calltree_node *node, struct strbuf *out)
{
	if (node->repeats > 1)
		strbuf_printf(out, " ×%u", node->repeats);
}

/* Merge sort of one list of siblings. */
static struct calltree_node *sort_siblings(struct calltree_node *list, size_t count,
					   int (*compare)(const struct calltree_node *, const struct calltree_node *))
{
	if (count < 2)
		return list;
	struct calltree_node *middle = list, *last = NULL;
	for (size_t i = 0; i < count / 2; i++) {
		last = middle;
		middle = middle->sibling;
	}
	last->sibling = NULL;
	struct calltree_node *a = sort_siblings(list, count / 2, compare), *b = sort_siblings(middle, count - count / 2, compare);
	struct calltree_node *head = NULL, **tail = &head;
	while (a && b) {
		struct calltree_node **least = compare(a, b) <= 0 ? &a : &b;
		*tail = *least;
		tail = &(*least)->sibling;
		*least = (*least)->sibling;
	}
	*tail = a ? a : b;
	return head;
}

/* In a loop: trees that were read from text may be of any depth. */
void calltree_sort(struct calltree_node *root, int (*compare)(const struct calltree_node *, const struct calltree_node *))
{
	struct calltree_node *node = root;
	for (;;) {
		size_t count = 0;
		for (struct calltree_node *child = node->children; child; child = child->sibling)
			count++;
		node->children = sort_siblings(node->children, count, compare);
		if (node->children) {
			node = node->children;
			continue;
		}
		while (node != root && !node->sibling)
			node = node->parent;
		if (node == root)
			return;
		node = node->sibling;
	}
}

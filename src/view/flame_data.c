/* Packs the tree of a flame graph: columns of small numbers, which zlib makes much smaller than rows. */
#include "view/flame_data.h"

#include "base/hash.h"
#include "base/mem.h"
#include "result/calltree_limit.h"
#include "view/packed.h"

#include <stdlib.h>
#include <string.h>

struct packing {
	struct strbuf frames, ups, numbers, weights, before;
	struct map64 frame_numbers; /* label, module and class → number of the frame */
	uint64_t frame_count, node_count;
};

/* The first of `node` and its siblings that is heavy enough. */
static const struct calltree_node *first_kept(const struct calltree_node *node, uint64_t least)
{
	while (node && node->total < least)
		node = node->sibling;
	return node;
}

const struct calltree_node *flame_next_node(const struct calltree_node *node, const struct flame_extent *extent, bool enter,
					    unsigned int *depth)
{
	uint64_t least = extent ? extent->least : 0;
	const struct calltree_node *next = enter && !(extent && *depth >= extent->deepest) ? first_kept(node->children, least) : NULL;
	if (next) {
		(*depth)++;
		return next;
	}
	while (node->parent && !(next = first_kept(node->sibling, least))) {
		node = node->parent;
		(*depth)--;
	}
	return next;
}

struct flame_extent flame_extent_of(const struct calltree *tree, unsigned int deepest, size_t most)
{
	struct flame_extent extent = {.deepest = deepest};
	struct calltree_limit limit = {0};
	unsigned int depth = 0;
	for (const struct calltree_node *node = &tree->root; node; node = flame_next_node(node, &extent, true, &depth))
		calltree_limit_add(&limit, node->total, 1);
	extent.least = calltree_limit_least(&limit, most);
	if (extent.least < tree->least)
		extent.least = tree->least;
	return extent;
}

static uint64_t frame_number(struct packing *packing, const struct calltree_node *node, unsigned int class)
{
	bool is_new;
	uint64_t who = hash_combine((uintptr_t)node->label, (uintptr_t)node->module);
	uint64_t *number = map64_insert(&packing->frame_numbers, hash_combine(who, (uint64_t) class << 8 | node->kind), &is_new);
	if (is_new) {
		*number = packing->frame_count++;
		packed_add_text(&packing->frames, node->label ? node->label : "all");
		packed_add_text(&packing->frames, node->module ? node->module : "");
		packed_add_number(&packing->frames, node->kind);
		packed_add_number(&packing->frames, class);
	}
	return *number;
}

/* What the children that are drawn leave of a node's weight; *ret_before: the same of the counts. */
static uint64_t own_weight(const struct calltree_node *node, const struct flame_extent *extent, unsigned int depth, uint64_t *ret_before)
{
	uint64_t own = node->total;
	*ret_before = node->total_count;
	if (depth < extent->deepest)
		for (const struct calltree_node *child = first_kept(node->children, extent->least); child;
		     child = first_kept(child->sibling, extent->least)) {
			own -= child->total;
			*ret_before -= child->total_count;
		}
	return own;
}

bool flame_data_add(struct strbuf *out, const struct calltree *tree, const struct flame_extent *extent, bool changes,
		    unsigned int (*class)(void *context, const struct calltree_node *node), void *context)
{
	struct packing packing = {0};
	unsigned int depth = 0, before = 0;
	for (const struct calltree_node *node = &tree->root; node; node = flame_next_node(node, extent, true, &depth)) {
		if (packing.node_count++)
			packed_add_number(&packing.ups, before + 1 - depth);
		else
			packed_add_number(&packing.ups, 0);
		packed_add_number(&packing.numbers, frame_number(&packing, node, class(context, node)));
		uint64_t own_before, own = own_weight(node, extent, depth, &own_before);
		packed_add_number(&packing.weights, own);
		if (changes)
			packed_add_number(&packing.before, own_before);
		before = depth;
	}
	struct strbuf plain = {0};
	packed_add_number(&plain, packing.frame_count);
	struct strbuf *parts[] = {&packing.frames, NULL, &packing.ups, &packing.numbers, &packing.weights, &packing.before};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!parts[i]) {
			packed_add_number(&plain, packing.node_count);
			continue;
		}
		strbuf_add(&plain, strbuf_str(parts[i]), parts[i]->len);
		strbuf_deinit(parts[i]);
	}
	map64_deinit(&packing.frame_numbers);
	bool fits = packed_write(out, &plain);
	strbuf_deinit(&plain);
	return fits;
}

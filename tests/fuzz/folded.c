/* Folded stacks: whatever the lines say, a node's weight is its own and its children's, and it packs into the data of a flame graph. */
#include "analysis/folded_stacks.h"
#include "base/error.h"
#include "view/flame_data.h"

#include <stdlib.h>

static void check(const struct calltree_node *node)
{
	uint64_t total = node->self;
	for (const struct calltree_node *child = node->children; child; child = child->sibling)
		total += child->total;
	if (total != node->total || !node->label != !node->parent)
		abort();
}

static unsigned int no_class(void *context, const struct calltree_node *node)
{
	(void)context;
	(void)node;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct folded_stacks stacks;
	FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;
	if (!in)
		return 0;
	error_free(folded_stacks_read(in, "fuzz", size & 1, &stacks));
	fclose(in);
	unsigned int depth = 0;
	for (const struct calltree_node *node = &stacks.tree->root; node; node = flame_next_node(node, NULL, true, &depth))
		check(node);
	struct strbuf out = {0};
	const struct flame_extent extent = flame_extent_of(stacks.tree, 1000, 10);
	flame_data_add(&out, stacks.tree, &extent, stacks.two_weights, no_class, NULL);
	strbuf_deinit(&out);
	folded_stacks_deinit(&stacks);
	return 0;
}

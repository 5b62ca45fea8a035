#include "paths.h"

void calltree_add_path(struct calltree *tree, const char *const *labels, size_t depth, uint64_t weight, uint64_t count)
{
	struct calltree_node *node = &tree->root;
	for (size_t i = 0;; i++) {
		node->total += weight;
		node->total_count += count;
		if (i == depth)
			break;
		node = calltree_child(tree, node, labels[i], FRAME_OTHER);
	}
	node->self += weight;
	node->self_count += count;
}

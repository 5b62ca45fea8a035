/* For tests: call trees made of paths. */
#pragma once

#include "result/calltree.h"

#include <stddef.h>

/* Adds a path given outermost first; its weight and count are those of its last node and are in the totals of all above. */
void calltree_add_path(struct calltree *tree, const char *const *labels, size_t depth, uint64_t weight, uint64_t count);

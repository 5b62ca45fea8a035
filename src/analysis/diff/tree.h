/* Two call trees as one, for a differential flame graph: weights are those of the new one, counts the weights of the old one. */
#pragma once

#include "base/intern.h"
#include "result/calltree.h"

/* Nodes are matched by their labels, from the root on. Labels and modules are interned in `names`, which must outlive it; the two trees
 * needn't. Children are sorted by label. */
struct calltree *tree_compare(const struct calltree *old, const struct calltree *new, struct intern *names);

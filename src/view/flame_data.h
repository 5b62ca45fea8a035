/* The tree of a flame graph as the data of its script (flamegraph.js): packed, compressed by zlib, in base64.
 *
 * Unpacked it is, all numbers LEB128:
 *
 *	the number of frames; for each: label, module (UTF-8, each ended by a NUL), kind (enum frame_kind), class (flame_palette.h)
 *	the number of nodes, in preorder, the root first; then four columns with a number for each node:
 *		how many levels above the place below its predecessor it is (0 = its predecessor is its parent)
 *		its frame
 *		its own weight
 *		only with changes: its own weight before
 *
 * A frame is what is drawn alike; two nodes of one function in one colour share it.
 */
#pragma once

#include "base/strbuf.h"
#include "result/calltree.h"

/* Adds the base64 text of `tree` down to `deepest` levels; what lies deeper counts as the deepest frame's own. `class` gives a node's class. Both may
 * use `context`. Returns false when zlib has no memory. */
bool flame_data_add(struct strbuf *out, const struct calltree *tree, unsigned int deepest, bool changes,
		    unsigned int (*class)(void *context, const struct calltree_node *node), void *context);

/* The next node in preorder, going below `node` only when `enter`; NULL at the end. `depth` follows. */
const struct calltree_node *flame_next_node(const struct calltree_node *node, bool enter, unsigned int *depth);

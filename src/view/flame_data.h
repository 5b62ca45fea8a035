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

/* Frames deeper than this are left out: no screen shows them. */
enum { FLAME_DEEPEST = 1000 };
/* About how many frames a page holds: the lightest are left out, which it says. */
enum { FLAME_MOST = 300000 };

/* Which part of a tree is drawn at all: a browser can't hold millions of frames, and nobody sees one that is a millionth of the whole. */
struct flame_extent {
	unsigned int deepest; /* levels below the root */
	uint64_t least;	      /* total weight; 0 = any */
};

/* The extent with about `most` nodes, or more when all have the same weight. */
struct flame_extent flame_extent_of(const struct calltree *tree, unsigned int deepest, size_t most);
/* Adds the base64 text of that part of `tree`; what is left out counts as the own weight of the frame around it. `class` gives a node's
 * class and gets `context`. Returns false when zlib has no memory. */
bool flame_data_add(struct strbuf *out, const struct calltree *tree, const struct flame_extent *extent, bool changes,
		    unsigned int (*class)(void *context, const struct calltree_node *node), void *context);

/* The next node of the extent in preorder, going below `node` only when `enter`; NULL at the end. `depth` follows. NULL for `extent`: all
 * nodes. */
const struct calltree_node *flame_next_node(const struct calltree_node *node, const struct flame_extent *extent, bool enter,
					    unsigned int *depth);

/* Folded stacks, read: "outermost;…;innermost WEIGHT" a line, as the public stackcollapse scripts and `perf flamegraph --folded` write
 * them. With a second weight a line tells of two recordings: how much it was before and how much after (difffolded.pl).
 *
 * A frame may end with what kind it is: _[k] kernel, _[j] JIT, _[i] inlined, _[w] a waker. Empty lines and lines that begin with '#' say
 * nothing.
 */
#pragma once

#include "base/error.h"
#include "base/intern.h"
#include "result/calltree.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct folded_stacks {
	struct intern names; /* of the tree's labels */
	struct calltree *tree;
	bool two_weights;     /* the nodes' counts are the weights before; else they are as many as their weights */
	uint64_t lines;	      /* with a stack */
	uint64_t other_lines; /* that are not of this form, and were left out */
};

/* Reads `in` to its end. `name` is for messages. `reverse`: the innermost frame at the root. An error when no line is a stack; on every
 * return folded_stacks_deinit() frees it. */
struct error *folded_stacks_read(FILE *in, const char *name, bool reverse, struct folded_stacks *ret);
void folded_stacks_deinit(struct folded_stacks *stacks);

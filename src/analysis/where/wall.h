/* All chosen threads' time as a tree of stacks: what runs and what waits, side by side.
 *
 *	thread ─ functions of the program ─┬─ functions of the kernel that ran
 *	                                   └─ "waits: disk" ─ functions of the kernel through which it left the CPU */
#pragma once

#include "analysis/where/reasons.h"
#include "result/calltree.h"

/* Weights are nanoseconds. Labels live as long as the timeline. Idle threads are left out unless `idle`. Freed by calltree_destroy(). */
struct calltree *where_wall_tree(struct where_timeline *timeline, const struct where_sums *sums, bool idle);

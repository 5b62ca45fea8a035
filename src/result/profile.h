/* Result: a recording as a whole, for a page in which people look around: stacks, when they were sampled, who ran where, hot code.
 *
 * Time is cut into `slices`, and each of these into `parts`. Weights are periods of an event.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "result/annotation.h"

#include <stdint.h>

struct profile_fact {
	const char *name, *value; /* unsafe bytes still in the value */
};

/* A node of the tree of stacks; its parent comes before it. Node 0 is the root. */
struct profile_node {
	uint32_t parent, frame;
};

struct profile_frame {
	const char *label, *module; /* module: "" = unknown */
	uint8_t kind;		    /* enum frame_kind */
};

/* What ended in a node during a slice. In the order of nodes, then of slices. */
struct profile_cell {
	uint32_t node, slice;
	uint64_t weight;
};

struct profile_lane {
	const char *name;
	uint64_t *weights; /* by slice */
	uint64_t total;
};

struct profile_event {
	const char *name;
	uint64_t samples, period;
	VEC(struct profile_frame) frames;
	VEC(struct profile_node) nodes;
	VEC(struct profile_cell) cells;
	uint64_t *parts;		  /* by part: slice × parts + part */
	VEC(struct profile_lane) threads; /* the heaviest first */
	VEC(struct profile_lane) cpus;	  /* by number; empty where that wasn't recorded */
	uint64_t other_threads;		  /* how many are left out */
	uint64_t least;			  /* nodes of less weight are left out: it counts for the node around them; 0 = none */
};

struct profile_page {
	struct arena arena; /* owns texts */
	const char *title;
	VEC(struct profile_fact) facts;
	uint32_t slices, parts;
	uint64_t duration_ns;
	VEC(struct profile_event) events;
	VEC(struct annotation *) annotations; /* owned; of the hottest functions */
};

void profile_destroy(struct profile_page *profile);

/* What callgraph.c (which rows have a graph, what belongs to them) and callgraph_grow.c (the graph of one row) share. */
#pragma once

#include "analysis/report/callgraph.h"
#include "analysis/report/callgraph_trie.h"
#include "base/id_table.h"
#include "base/intern.h"

#include <pthread.h>

/* An outermost node of a row's place: where it begins. */
struct hot_root {
	uint32_t first; /* position */
	uint32_t depth;
};

/* What a part of the stacks has of a hot row, in the order of the stacks. */
struct hot_part {
	VEC(uint32_t) own; /* positions of the stacks that end at the row's place, or whose samples are its own */
	VEC(struct hot_root) roots;
};

/* Stacks that one thread looked through. Nodes aren't followed from one part into another. */
struct callgraph_part {
	uint32_t begin, end;   /* positions */
	struct hot_part *rows; /* by hot row */
};

struct callgraphs {
	struct rows *rows;
	struct callgraph_options options;
	uint64_t min_hit;
	const struct stack_order *order;
	struct callgraph_trie trie; /* of all stacks; children mode */
	struct callgraph_part *parts;
	unsigned int part_count;
	uint32_t *hot_rows; /* those that show a graph */
	size_t hot_count;
	uint64_t *hot_places;	 /* bitmap of place classes */
	uint64_t *hot_frames;	 /* bitmap of callers' frames that are of such a class; children mode */
	struct id_table hot_ids; /* by rows_hash() */
	struct calltree **trees; /* by hot row: those that were grown before they were asked for; NULL = none */
	pthread_mutex_t lock;	 /* of what follows */
	const char **labels;	 /* by frame; NULL = not made yet */
	struct intern strings;
	VEC(struct grower *) idle;
};

/* What a thread needs to grow trees, one after the other. */
struct grower *grower_create(const struct callgraphs *graphs);
void grower_destroy(struct grower *grower);
/* The tree of a hot row, by its number. Its nodes' labels are the numbers of their frames. */
struct calltree *callgraph_grow(const struct callgraphs *graphs, struct grower *grower, size_t hot, bool shallow);

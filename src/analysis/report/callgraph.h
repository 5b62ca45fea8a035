/* Call graphs: the tree of the call chains under a row, for the rows that are heavy enough to show one. */
#pragma once

#include "analysis/report/rows.h"
#include "result/calltree.h"

enum callgraph_print { CALLGRAPH_PRINT_NONE, CALLGRAPH_PRINT_GRAPH, CALLGRAPH_PRINT_FRACTAL, CALLGRAPH_PRINT_FLAT, CALLGRAPH_PRINT_FOLDED };

struct callgraph_options {
	enum callgraph_print mode;
	double min_percent; /* of all samples; FRACTAL: of the parent */
	double least_row;   /* rows below this percentage show none */
	size_t event;	    /* which of the rows' events has the stacks */
	bool relative;	    /* percentages relate to the samples that pass the filter */
};

struct callgraphs;

/* The graphs of all shown rows that have branches of at least min_percent. Branches below are left out, but count in their parents. Order
 * as rows_options.caller_order. */
struct callgraphs *callgraphs_create(struct rows *rows, const struct callgraph_options *options);
void callgraphs_destroy(struct callgraphs *graphs);
/* The graph of a row, which is made when it is asked for: destroy it with calltree_destroy(), before `graphs`. NULL when it has none.
 * `shallow`: deeper levels than the first may be missing. Safe on many threads. */
struct calltree *callgraphs_row(struct callgraphs *graphs, uint32_t row, bool shallow);

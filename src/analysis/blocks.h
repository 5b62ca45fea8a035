/* Blocks: what processors that count cycles between branches tell of the code between them, added up.
 *
 *	branch records, the oldest first:    … from₁ → to₁     from₂ → to₂ …
 *	                                              └─ cycles ─┘
 *
 * The code from to₁ to from₂ ran from its first instruction to its last, in the cycles that the second record tells. A block is known by
 * its function and its last instruction; it begins at the earliest instruction that a branch led to, or at the function's start when that
 * is not known: the branch before is in another function, was not recorded, or records leave branches out.
 */
#pragma once

#include "analysis/report/fold.h"
#include "base/arena.h"
#include "base/error.h"
#include "result/branch_counts.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stddef.h>
#include <stdint.h>

enum { BLOCK_RUNS = 8 };

struct block {
	uint64_t cycles;	   /* their sum */
	uint64_t count;		   /* how often it ran */
	uint64_t least, most;	   /* cycles of one run */
	struct frame last;	   /* its last instruction, with the symbol that it is in */
	uint64_t first;		   /* dso address of its first instruction */
	bool has_first;		   /* a branch led there; else it stands for one that isn't known */
	uint64_t runs[BLOCK_RUNS]; /* with options.runs: cycles of its first runs from `first` on, in the order of time */
	unsigned int run_count;
	struct branch_count *counts; /* one for each of the counters; NULL = there are none */
};

struct blocks {
	struct block *list; /* most cycles first */
	size_t count;
	uint64_t cycles;	 /* of all branch records, also of those in unknown functions */
	uint64_t average_cycles; /* the sum over the blocks of what each takes on average */
	/* Events of the group that branch records count, as far as their word has room. */
	struct branch_counter *counters;
	size_t counter_count;
	struct arena arena;
};

struct blocks_options {
	const struct event *event; /* of its samples … */
	/* … those that pass the session's filter and this one, which is called on several threads; NULL = all. */
	bool (*accept)(void *context, const struct fold_sample *sample);
	void *context;
	bool runs;     /* each block's first runs are wanted */
	bool counters; /* so are branch counters, where the event has some */
};

/* The resolver must outlive it. */
struct error *blocks_create(struct session *session, struct resolver *resolver, const struct blocks_options *options, struct blocks **ret);
void blocks_destroy(struct blocks *blocks);

static inline uint64_t block_average(const struct block *block)
{
	return block->cycles / block->count;
}

/* How often events happened in a block of code, by the counters that its branch records have. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An event that branch records count. */
struct branch_counter {
	const char *name; /* unsafe bytes still in it */
	char letter;	  /* stands for it */
};

/* What one of them has in a block. */
struct branch_count {
	uint64_t sum;	/* of all runs of the block */
	bool saturated; /* a counter was full: there may have been more */
};

/* How often each happened in a run on average, rounded up; '-' is never, '+': there may have been more.
 *
 *	|AA  |-   |CCC+|	a letter each time, at most three
 *	A=2 ,B=- ,C=4+		with `numbers`
 */
void branch_counts_add_text(const struct branch_counter *counters, const struct branch_count *counts, size_t count, uint64_t runs,
			    bool numbers, struct strbuf *out);
/* What letters and signs mean, line by line, each behind `prefix`. */
#define BRANCH_COUNTERS_TITLE "Branch counter abbr list"
void branch_counters_add_legend(const struct branch_counter *counters, size_t count, const char *prefix, struct strbuf *out);

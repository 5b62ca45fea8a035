/* Whether a change between two recordings is larger than chance.
 *
 * A share that samples tell of has an error. How large it is the recording itself says: it is cut into slices of time, and slices are drawn
 * again and again, with replacement, each from its neighbourhood (a stratified block bootstrap). How far the share moves from draw to draw
 * is its error. Slices are drawn, not samples, since these depend on their neighbours: a program does one thing for a moment and then
 * another. They are drawn from a neighbourhood, not from the whole, since what a program does first and what it does last is no chance.
 * The error is never less than that of as many independent samples, which is what counts where there are few slices or no times.
 *
 * What one recording can't tell of is how a program varies from run to run (where it was loaded, how warm it found the machine).
 */
#pragma once

#include "analysis/diff/comparison.h"

struct change_error {
	double margin;	  /* percentage points: the true change is this close to the one seen, in 99 of 100 recordings */
	bool significant; /* larger than chance: of 100 comparisons of equal programs, at most one shows any such row */
};

/* By row × file_count + file; nothing for the baseline. `slices`: by file, rows with the comparison's keys and time as one key more; NULL
 * where the comparison has none. The same for the same recordings. Freed by the caller. */
struct change_error *significance_find(struct comparison *comparison, const struct rows *const *slices);

/* Mean and deviation of numbers that come one after the other, of which none is kept. Exact for many large ones (Welford's method). */
#pragma once

#include <stdint.h>

/* All zero = none yet. */
struct statistics {
	uint64_t count;
	double mean, squares;
};
void statistics_add(struct statistics *statistics, double value);
/* The standard deviation of the mean (not of the numbers); 0 with fewer than 2. */
double statistics_deviation(const struct statistics *statistics);
/* The same in percent of the mean. */
double statistics_relative(const struct statistics *statistics);

#include "analysis/counting/statistics.h"

#include <math.h>

void statistics_add(struct statistics *statistics, double value)
{
	double delta = value - statistics->mean;

	statistics->count++;
	statistics->mean += delta / (double)statistics->count;
	statistics->squares += delta * (value - statistics->mean);
}

double statistics_deviation(const struct statistics *statistics)
{
	double count = (double)statistics->count;

	return statistics->count < 2 ? 0 : sqrt(statistics->squares / (count - 1) / count);
}

double statistics_relative(const struct statistics *statistics)
{
	return statistics->mean != 0 ? 100 * statistics_deviation(statistics) / statistics->mean : 0;
}

/* Bars of durations (distribution.h). From one unit on each bucket is twice as wide as the one before; 1024 of a unit are one of the
 * next. */
#include "view/distribution.h"

enum { BAR = 46 };

struct units {
	const char *unit, *next, *last;
};

static void add_bucket(struct strbuf *out, const struct distribution *distribution, unsigned int bucket, const struct units *units)
{
	uint64_t start = distribution_bucket_begin(bucket), stop = distribution_bucket_begin(bucket + 1),
		 count = distribution->counts[bucket];
	size_t length = distribution->count ? (size_t)(count * BAR / distribution->count) : 0;
	bool larger = start >= 1024;

	if (bucket + 1 == DISTRIBUTION_BUCKETS)
		strbuf_printf(out, "  %4d - %-4s %s | %10llu | ", 1, "...", units->last, (unsigned long long)count);
	else
		strbuf_printf(out, "  %4llu - %-4llu %s | %10llu | ", (unsigned long long)(larger ? start >> 10 : start),
			      (unsigned long long)(larger ? stop >> 10 : stop), larger ? units->next : units->unit,
			      (unsigned long long)count);
	strbuf_add_chars(out, '#', length);
	strbuf_add_chars(out, ' ', BAR - length);
	strbuf_add_str(out, " |\n");
}

void distribution_add_text(struct strbuf *out, const struct distribution *distribution, const char *what)
{
	const struct units units = distribution->unit_ns == 1 ? (struct units){"ns", "us", "ms"} : (struct units){"us", "ms", " s"};

	strbuf_printf(out, "# %14s | %10s | %-*s |\n", "  DURATION    ", "COUNT", BAR, "GRAPH");
	for (unsigned int i = 0; i < DISTRIBUTION_BUCKETS; i++)
		add_bucket(out, distribution, i, &units);
	if (distribution->count)
		strbuf_printf(out, "\n# %llu %s, total %.3f us, average %.3f, longest %.3f, shortest %.3f\n",
			      (unsigned long long)distribution->count, what, (double)distribution->total_ns / 1e3,
			      (double)distribution->total_ns / (double)distribution->count / 1e3, (double)distribution->longest_ns / 1e3,
			      (double)distribution->shortest_ns / 1e3);
}

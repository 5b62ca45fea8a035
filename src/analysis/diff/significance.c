/* The errors of changes: a bootstrap over slices of time.
 *
 *	          slice 0   1   2   3  …
 *	row a         12    9   –  14       cells: periods
 *	row b          3    –   5   2
 *	draw 0         2×   0×  1×  1×      share of a in draw 0 = (2·12 + 14) / (2·(12 + 3) + (0 + 5) + (14 + 2))
 */
#include "analysis/diff/significance.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum {
	DRAWS = 400,
	NEIGHBOURS = 5,	    /* slices that are drawn from the same ones */
	LEAST_SLICES = 10,  /* fewer say nothing of how slices differ */
	LEAST_SAMPLES = 10, /* rows with fewer samples in both recordings can't be told from chance, and aren't tried */
};
static const double FALSE_ALARMS = 0.01, MARGIN_ERRORS = 2.576; /* of a normal distribution: 99 % are within so many standard errors */

struct slice_cell {
	uint32_t row, slice;
	double period;
};

/* A recording's cells, sorted by row. */
struct sliced {
	VEC(struct slice_cell) cells;
	uint32_t slice_count;
	uint16_t *drawn;	   /* draw × slice_count + slice: how often */
	double drawn_total[DRAWS]; /* periods of all rows */
	double weights;		   /* sum of the squares of all samples' periods, those of a row taken as equal */
};

static uint64_t next_random(uint64_t *state)
{
	/* splitmix64, a public-domain generator by Sebastiano Vigna. */
	uint64_t mixed = *state += 0x9e3779b97f4a7c15u;
	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return mixed ^ mixed >> 31;
}

static bool counts(const struct comparison *comparison, uint32_t row)
{
	return !comparison->options.relative || comparison->rows.data[row].shown;
}

static int by_row(const void *a, const void *b)
{
	const struct slice_cell *x = a, *y = b;
	return x->row != y->row ? (x->row < y->row ? -1 : 1) : (x->slice > y->slice) - (x->slice < y->slice);
}

/* Slices get numbers in the order of their times, so that nothing depends on that of the rows. */
static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static int64_t time_of(const struct rows *rows, uint32_t row)
{
	const struct key *time = rows->options.keys[rows->options.key_count - 1];
	struct key_source source;
	rows_source(rows, row, time, &source);
	return time->number(rows->context, time, &source);
}

static void gather_cells(struct sliced *sliced, struct comparison *comparison, const struct rows *rows)
{
	VEC(int64_t) times = {0};
	struct map64 numbers = {0};
	bool is_new;
	for (uint32_t i = 0; i < rows->row_count; i++) {
		int64_t time = time_of(rows, i);
		map64_insert(&numbers, (uint64_t)time, &is_new);
		if (is_new)
			vec_push(&times, time);
	}
	if (times.len)
		qsort(times.data, times.len, sizeof(*times.data), by_time);
	for (size_t i = 0; i < times.len; i++)
		*map64_find(&numbers, (uint64_t)times.data[i]) = i;
	sliced->slice_count = (uint32_t)times.len;
	for (uint32_t i = 0; i < rows->row_count; i++) {
		uint32_t row = comparison_find(comparison, rows, i);
		if (row != ID_NONE && counts(comparison, row))
			vec_push(&sliced->cells, (struct slice_cell){.row = row,
								     .slice = (uint32_t)*map64_find(&numbers, (uint64_t)time_of(rows, i)),
								     .period = (double)rows->sums[i].period});
	}
	if (sliced->cells.len)
		qsort(sliced->cells.data, sliced->cells.len, sizeof(*sliced->cells.data), by_row);
	vec_deinit(&times);
	map64_deinit(&numbers);
}

/* One of the neighbourhood of slice `i`; what is left at the end belongs to the last neighbourhood. */
static uint32_t draw_near(uint32_t i, uint32_t count, uint64_t *seed)
{
	uint32_t whole = count / NEIGHBOURS, number = i / NEIGHBOURS;
	if (number + 1 >= whole)
		number = whole ? whole - 1 : 0;
	uint32_t begin = number * NEIGHBOURS, end = number + 1 >= whole ? count : begin + NEIGHBOURS;
	return begin + (uint32_t)(next_random(seed) % (end - begin));
}

static void draw(struct sliced *sliced, uint64_t seed)
{
	uint32_t count = sliced->slice_count;
	double *totals = mem_zalloc_array(count + 1, sizeof(*totals));
	for (size_t i = 0; i < sliced->cells.len; i++)
		totals[sliced->cells.data[i].slice] += sliced->cells.data[i].period;
	sliced->drawn = mem_zalloc_array((size_t)DRAWS * count + 1, sizeof(*sliced->drawn));
	for (size_t d = 0; d < DRAWS; d++) {
		uint16_t *drawn = sliced->drawn + d * count;
		for (uint32_t i = 0; i < count; i++)
			drawn[draw_near(i, count, &seed)]++;
		for (uint32_t i = 0; i < count; i++)
			sliced->drawn_total[d] += drawn[i] * totals[i];
	}
	free(totals);
}

static struct sliced *slice_file(struct comparison *comparison, const struct rows *rows, size_t file)
{
	struct sliced *sliced = mem_zalloc(sizeof(*sliced));
	if (rows)
		gather_cells(sliced, comparison, rows);
	draw(sliced, file + 1);
	for (uint32_t row = 0; row < comparison->rows.len; row++) {
		const struct comparison_part *part = comparison_part(comparison, row, file);
		if (part->count && counts(comparison, row))
			sliced->weights += (double)part->period * (double)part->period / (double)part->count;
	}
	return sliced;
}

static void sliced_destroy(struct sliced *sliced)
{
	vec_deinit(&sliced->cells);
	free(sliced->drawn);
	free(sliced);
}

/* Of the row's share, from draw to draw. `first` is where its cells begin, or could. */
static double drawn_variance(const struct sliced *sliced, uint32_t row, size_t first)
{
	double sum = 0, squares = 0;
	if (sliced->slice_count < LEAST_SLICES)
		return 0;
	for (size_t d = 0; d < DRAWS; d++) {
		const uint16_t *drawn = sliced->drawn + d * sliced->slice_count;
		double period = 0;
		for (size_t i = first; i < sliced->cells.len && sliced->cells.data[i].row == row; i++)
			period += drawn[sliced->cells.data[i].slice] * sliced->cells.data[i].period;
		double share = sliced->drawn_total[d] > 0 ? period / sliced->drawn_total[d] : 0;
		sum += share;
		squares += share * share;
	}
	double mean = sum / DRAWS;
	/* Drawn from so few, slices vary less among each other than others of their kind would. */
	return fmax(squares / DRAWS - mean * mean, 0) * NEIGHBOURS / (NEIGHBOURS - 1);
}

/* Of as many samples that don't depend on each other. */
static double independent_variance(const struct comparison *comparison, const struct sliced *sliced, uint32_t row, size_t file)
{
	const struct comparison_part *part = comparison_part(comparison, row, file);
	double total = (double)comparison->totals[file], share = total > 0 ? (double)part->period / total : 0;
	double own = part->count ? (double)part->period * (double)part->period / (double)part->count : 0;
	return total > 0 ? (own * (1 - share) * (1 - share) + fmax(sliced->weights - own, 0) * share * share) / (total * total) : 0;
}

/* By row: the variance of its share in a file. */
static double *find_variances(const struct comparison *comparison, const struct sliced *sliced, size_t file)
{
	double *variances = mem_zalloc_array(comparison->rows.len + 1, sizeof(*variances));
	for (size_t i = 0; i < sliced->cells.len; i++) {
		uint32_t row = sliced->cells.data[i].row;
		if (!i || sliced->cells.data[i - 1].row != row)
			variances[row] = drawn_variance(sliced, row, i);
	}
	for (uint32_t row = 0; row < comparison->rows.len; row++)
		variances[row] = fmax(variances[row], independent_variance(comparison, sliced, row, file));
	return variances;
}

static bool is_tried(const struct comparison *comparison, uint32_t row, size_t file)
{
	return comparison_part(comparison, row, 0)->count + comparison_part(comparison, row, file)->count >= LEAST_SAMPLES;
}

/* The chance of a false alarm is shared by all rows that are tried (Bonferroni). */
static void judge(const struct comparison *comparison, const double *old, const double *new, size_t file, struct change_error *errors)
{
	size_t tried = 0;
	for (uint32_t row = 0; row < comparison->rows.len; row++)
		tried += is_tried(comparison, row, file);
	for (uint32_t row = 0; row < comparison->rows.len; row++) {
		double change = comparison_share(comparison, row, file) - comparison_share(comparison, row, 0);
		double error = 100 * sqrt(old[row] + new[row]);
		struct change_error *found = &errors[row * comparison->file_count + file];
		found->margin = MARGIN_ERRORS * error;
		found->significant = error > 0 && is_tried(comparison, row, file) &&
				     erfc(fabs(change) / error * M_SQRT1_2) * (double)tried < FALSE_ALARMS;
	}
}

struct change_error *significance_find(struct comparison *comparison, const struct rows *const *slices)
{
	struct change_error *errors = mem_zalloc_array(comparison->rows.len * comparison->file_count + 1, sizeof(*errors));
	double *old = NULL;
	for (size_t file = 0; file < comparison->file_count; file++) {
		struct sliced *sliced = slice_file(comparison, slices[file], file);
		double *variances = find_variances(comparison, sliced, file);
		sliced_destroy(sliced);
		if (!file) {
			old = variances;
			continue;
		}
		judge(comparison, old, variances, file, errors);
		free(variances);
	}
	free(old);
	return errors;
}

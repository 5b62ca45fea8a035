/* Which rows of a timechart are shown, and in which order. */
#include "analysis/timechart/timechart_internal.h"

#include "base/number.h"

#include <stdlib.h>
#include <string.h>

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_rows(const void *a, const void *b)
{
	const struct timechart_row *left = *(const struct timechart_row *const *)a, *right = *(const struct timechart_row *const *)b;
	int order = compare_u32(left->parent, right->parent);
	if (!order)
		order = compare_u32(left->tid, right->tid);
	if (!order)
		order = (left->begin > right->begin) - (left->begin < right->begin);
	return order ? order : strcmp(untrusted_raw(left->comm), untrusted_raw(right->comm));
}

static bool is_chosen(const struct timechart_row *row, const struct timechart_options *options)
{
	uint32_t tid;
	for (size_t i = 0; i < options->only_count; i++)
		if (!strcmp(untrusted_raw(row->comm), options->only[i]) || (number_parse_u32(options->only[i], &tid) && tid == row->tid))
			return true;
	return false;
}

static size_t show_above(struct timechart *chart, uint64_t least)
{
	size_t shown = 0;
	for (size_t i = 0; i < chart->rows.len; i++) {
		struct timechart_row *row = chart->rows.data[i];
		row->shown = (chart->io ? row->bytes : row->times[TIMECHART_RUNNING]) >= least;
		shown += row->shown;
	}
	return shown;
}

/* Those that ran for long or moved much; if they are too few, ten times less, and so on. */
static void show_busiest(struct timechart *chart, uint64_t wanted)
{
	enum { LEAST_NS = 10000000, LEAST_BYTES = 1 << 20, STEP = 10 };
	size_t shown = 0;
	for (uint64_t least = chart->io ? LEAST_BYTES : LEAST_NS; least && (shown < wanted || !wanted); least /= STEP) {
		shown = show_above(chart, least);
		if (!wanted)
			return;
	}
}

void timechart_choose(struct timechart *chart, const struct timechart_options *options)
{
	if (chart->rows.len)
		qsort(chart->rows.data, chart->rows.len, sizeof(*chart->rows.data), compare_rows);
	if (!options->only_count)
		show_busiest(chart, options->least_rows);
	for (size_t i = 0; i < chart->rows.len; i++) {
		struct timechart_row *row = chart->rows.data[i];
		if (options->only_count)
			row->shown = is_chosen(row, options);
		if (!options->least_rows)
			row->shown = false;
		if (row->begin < chart->begin)
			row->begin = chart->begin;
		if (!row->end || row->end > chart->end)
			row->end = chart->end;
		if (row->end < row->begin)
			row->end = row->begin;
		if (row->shown)
			row->place = chart->shown++;
	}
}

/* ---- topology ---- */

static bool list_has(const char *list, uint32_t cpu)
{
	int *cpus;
	size_t count;
	bool has = false;
	if (!number_parse_list(list, &cpus, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		has |= cpus[i] == (int)cpu;
	free(cpus);
	return has;
}

static size_t group_of(const char *const *lists, uint32_t cpu)
{
	size_t group = 0;
	while (lists && lists[group] && !list_has(lists[group], cpu))
		group++;
	return group;
}

struct cpu_rank {
	size_t package, core;
	uint32_t cpu;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct cpu_rank *left = a, *right = b;
	int order = (left->package > right->package) - (left->package < right->package);
	if (!order)
		order = (left->core > right->core) - (left->core < right->core);
	return order ? order : compare_u32(left->cpu, right->cpu);
}

void timechart_place_cpus(struct timechart *chart, const struct features *features)
{
	VEC(struct cpu_rank) ranks = {0};
	for (uint32_t cpu = 0; cpu < chart->cpu_count; cpu++)
		vec_push(&ranks, (struct cpu_rank){group_of((const char *const *)features->core_siblings, cpu),
						   group_of((const char *const *)features->thread_siblings, cpu), cpu});
	if (ranks.len)
		qsort(ranks.data, ranks.len, sizeof(*ranks.data), compare_ranks);
	chart->cpu_places = arena_alloc(&chart->arena, ranks.len * sizeof(*chart->cpu_places));
	for (uint32_t place = 0; place < ranks.len; place++)
		chart->cpu_places[ranks.data[place].cpu] = place;
	vec_deinit(&ranks);
}

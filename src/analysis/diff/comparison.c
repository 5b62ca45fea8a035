/* Comparison: rows of several recordings matched by what their keys say, and put in order.
 *
 * Of the rows that are one here, the one whose text is shown is that of the lowest address: so it doesn't depend on the order in which
 * they come. */
#include "analysis/diff/comparison.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what rows have in common ---- */

static void get_value(struct comparison *comparison, const struct rows *rows, uint32_t row, size_t position, struct comparison_value *ret)
{
	const struct key *key = rows->options.keys[position];
	struct key_source source;
	rows_source(rows, row, key, &source);
	*ret = (struct comparison_value){0};
	if (key->string) {
		const char *text = source.string ? source.string : key->string(rows->context, key, &source);
		ret->text = text ? intern_string(&comparison->strings, text) : NULL;
	} else {
		ret->number = key->number(rows->context, key, &source);
	}
}

static uint32_t hash_values(const struct comparison_value *values, size_t count)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < count; i++)
		hash = hash_combine(hash ^ (uintptr_t)values[i].text, (uint64_t)values[i].number);
	return (uint32_t)hash;
}

static uint32_t find(const struct comparison *comparison, const struct comparison_value *values, uint32_t hash)
{
	struct id_probe probe;
	size_t count = comparison->key_count;
	for (uint32_t id = id_table_first(&comparison->ids, hash, &probe); id != ID_NONE; id = id_table_next(&comparison->ids, &probe)) {
		const struct comparison_value *known = &comparison->values.data[id * count];
		size_t same = 0;
		while (same < count && known[same].text == values[same].text && known[same].number == values[same].number)
			same++;
		if (same == count)
			return id;
	}
	return ID_NONE;
}

uint32_t comparison_find(struct comparison *comparison, const struct rows *rows, uint32_t row)
{
	struct comparison_value values[ROWS_KEYS_MAX];
	for (size_t i = 0; i < comparison->key_count; i++)
		get_value(comparison, rows, row, i, &values[i]);
	return find(comparison, values, hash_values(values, comparison->key_count));
}

/* ---- whose text is shown ---- */

/* The address in its file, as the kernel's tool has it. */
static uint64_t rank_row(const struct rows *rows, uint32_t row)
{
	static const struct key place = {.domain = KEY_PLACE};
	struct key_source source;
	rows_source(rows, row, &place, &source);
	const struct map *map = source.place ? source.place->map : NULL;
	if (!source.place || source.place->symbol)
		return source.place ? source.place->symbol->start : 0;
	return map && !map->identity ? source.place->ip - map->start + map->pgoff : source.place->ip;
}

/* ---- adding up ---- */

static uint32_t add_row(struct comparison *comparison, const struct comparison_value *values, uint32_t hash)
{
	uint32_t id = (uint32_t)comparison->rows.len;
	vec_push(&comparison->rows, (struct comparison_row){.file = UINT32_MAX});
	for (size_t i = 0; i < comparison->file_count; i++)
		vec_push(&comparison->parts, (struct comparison_part){0});
	for (size_t i = 0; i < comparison->key_count; i++)
		vec_push(&comparison->values, values[i]);
	id_table_insert(&comparison->ids, hash, id);
	return id;
}

static void add_file(struct comparison *comparison, uint32_t file)
{
	const struct rows *rows = comparison->files[file];
	if (!rows)
		return;
	uint64_t *shown = rows_shown(rows);
	struct comparison_value values[ROWS_KEYS_MAX];
	for (uint32_t i = 0; i < rows->row_count; i++) {
		for (size_t k = 0; k < comparison->key_count; k++)
			get_value(comparison, rows, i, k, &values[k]);
		uint32_t hash = hash_values(values, comparison->key_count), id = find(comparison, values, hash);
		if (id == ID_NONE)
			id = add_row(comparison, values, hash);
		struct comparison_part *part = &comparison->parts.data[id * comparison->file_count + file];
		part->period += rows->sums[i].period;
		part->count += rows->sums[i].count;
		part->present = true;
		struct comparison_row *known = &comparison->rows.data[id], next = {.file = file, .row = i};
		if (known->file < file)
			continue;
		next.rank = rank_row(rows, i);
		next.shown = shown[i / 64] >> (i % 64) & 1;
		if (known->file == UINT32_MAX || next.rank < known->rank)
			*known = next;
	}
	free(shown);
	comparison->totals[file] = comparison->options.relative ? rows->total_shown[0] : rows->total[0];
}

/* ---- figures ---- */

static double percent(uint64_t period, uint64_t total)
{
	return total ? 100.0 * (double)period / (double)total : 0;
}

double comparison_share(const struct comparison *comparison, uint32_t row, size_t file)
{
	return percent(comparison_part(comparison, row, file)->period, comparison->totals[file]);
}

double comparison_change(const struct comparison *comparison, uint32_t row, size_t file)
{
	const struct comparison_options *options = &comparison->options;
	const struct comparison_part *before = comparison_part(comparison, row, 0), *after = comparison_part(comparison, row, file);
	switch (options->method) {
	case COMPARISON_RATIO:
		return (double)after->period / (double)(before->period ? before->period : 1);
	case COMPARISON_WDIFF:
		return (double)(int64_t)(after->period * (uint64_t)options->new_weight - before->period * (uint64_t)options->old_weight);
	default:
		return comparison_share(comparison, row, file) - comparison_share(comparison, row, 0);
	}
}

/* ---- order ---- */

static int larger_first(double a, double b)
{
	return a > b ? -1 : a < b;
}

/* `matched_first`: rows for which there is nothing to compute, as the baseline doesn't have them, come last, and none of them before
 * another. */
static int by_change(const struct comparison *comparison, uint32_t a, uint32_t b, size_t file, bool matched_first)
{
	bool has_a = comparison_part(comparison, a, file)->present, has_b = comparison_part(comparison, b, file)->present;
	if (!has_a || !has_b)
		return has_b - has_a;
	double x = comparison_change(comparison, a, file), y = comparison_change(comparison, b, file);
	enum comparison_method method = comparison->options.method;
	if (method == COMPARISON_DELTA_ABS)
		return larger_first(fabs(x), fabs(y));
	if (method == COMPARISON_DELTA)
		return larger_first(x, y);
	bool old_a = comparison_part(comparison, a, 0)->present, old_b = comparison_part(comparison, b, 0)->present;
	if (matched_first && (!old_a || !old_b))
		return old_b - old_a;
	return larger_first(x, y);
}

static int by_baseline(const struct comparison *comparison, uint32_t a, uint32_t b)
{
	uint64_t x = comparison_part(comparison, a, 0)->period, y = comparison_part(comparison, b, 0)->period;
	return x > y ? -1 : x < y;
}

static int by_value(const struct key *key, const struct comparison_value *a, const struct comparison_value *b)
{
	int order;
	if (!key->string)
		order = a->number < b->number ? -1 : a->number > b->number;
	else if (!a->text || !b->text)
		return (b->text != NULL) - (a->text != NULL);
	else
		order = strcmp(a->text, b->text);
	return key->flags & KEY_DESCENDING ? -order : order;
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct comparison *comparison = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	size_t first = comparison->options.order, keys = comparison->key_count;
	int order = first ? by_change(comparison, a, b, first, true) : 0;
	if (!order)
		order = by_baseline(comparison, a, b);
	for (size_t file = 1; !order && file < comparison->file_count; file++)
		order = by_change(comparison, a, b, file, false);
	for (size_t i = 0; !order && i < keys; i++)
		order = by_value(comparison->keys[i], &comparison->values.data[a * keys + i], &comparison->values.data[b * keys + i]);
	return order;
}

static bool is_shown(const struct comparison *comparison, uint32_t row)
{
	bool others = !comparison->options.baseline_only;
	for (size_t file = 1; file < comparison->file_count; file++)
		others |= comparison_part(comparison, row, file)->present;
	return comparison->rows.data[row].shown && others &&
	       (!comparison->options.baseline_only || comparison_part(comparison, row, 0)->present);
}

/* What of the baseline the kernel's tool relates its column to: with baseline_only that is less than all. */
static bool counts_in_total(const struct comparison *comparison, uint32_t row)
{
	return (!comparison->options.relative || comparison->rows.data[row].shown) &&
	       (!comparison->options.baseline_only || is_shown(comparison, row));
}

struct comparison *comparison_create(const struct rows *const *files, size_t count, const struct comparison_options *options)
{
	struct comparison *comparison = mem_zalloc(sizeof(*comparison));
	comparison->options = *options;
	comparison->files = files;
	comparison->file_count = count;
	comparison->keys = files[0]->options.keys;
	comparison->key_count = files[0]->options.key_count;
	for (uint32_t file = 0; file < count; file++)
		add_file(comparison, file);
	comparison->order = mem_alloc_array(comparison->rows.len + 1, sizeof(*comparison->order));
	const bool of_rows = options->relative || options->baseline_only; /* else also of samples that are in none */
	comparison->shown_total = of_rows ? 0 : comparison->totals[0];
	for (uint32_t row = 0; row < comparison->rows.len; row++) {
		if (of_rows && counts_in_total(comparison, row))
			comparison->shown_total += comparison_part(comparison, row, 0)->period;
		if (is_shown(comparison, row))
			comparison->order[comparison->shown_count++] = row;
	}
	qsort_r(comparison->order, comparison->shown_count, sizeof(*comparison->order), compare_rows, comparison);
	return comparison;
}

void comparison_destroy(struct comparison *comparison)
{
	if (!comparison)
		return;
	vec_deinit(&comparison->rows);
	vec_deinit(&comparison->parts);
	vec_deinit(&comparison->values);
	free(comparison->order);
	id_table_deinit(&comparison->ids);
	intern_deinit(&comparison->strings);
	free(comparison);
}

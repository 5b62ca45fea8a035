/* Figures and order of rows (rows.h). */
#include "analysis/lock/rows.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

uint64_t lock_row_value(const struct lock_row *row, enum lock_value which)
{
	switch (which) {
	case LOCK_ACQUIRED:
		return row->acquired;
	case LOCK_CONTENDED:
		return row->contended;
	case LOCK_AVERAGE:
		return row->waited ? row->total / row->waited : 0;
	case LOCK_TOTAL:
		return row->total;
	case LOCK_MAX:
		return row->max;
	case LOCK_MIN:
		return row->min;
	}
	return 0;
}

const struct thread *lock_row_owner(const struct lock_row *row)
{
	size_t i = 0;
	while (i < row->owners.all.len && !row->owners.all.data[i].thread)
		i++;
	return i < row->owners.all.len ? row->owners.all.data[i].thread : NULL;
}

void lock_row_add_wait(struct lock_row *row, uint64_t ns)
{
	row->waited++;
	row->total += ns;
	if (ns > row->max)
		row->max = ns;
	if (row->waited == 1 || ns < row->min)
		row->min = ns;
}

void lock_rows_deinit(struct lock_rows *rows)
{
	vec_deinit(&rows->all);
}

static void add_row(struct lock_row *into, const struct lock_row *row)
{
	if (row->waited && (!into->waited || row->min < into->min))
		into->min = row->min;
	if (row->max > into->max)
		into->max = row->max;
	into->contended += row->contended;
	into->acquired += row->acquired;
	into->waited += row->waited;
	into->total += row->total;
}

void lock_rows_combine(struct lock_rows *rows)
{
	struct map64 by_name = {0};
	size_t kept = 0;
	for (size_t i = 0; i < rows->all.len; i++) {
		struct lock_row *row = rows->all.data[i];
		bool is_new;
		uint64_t *slot = map64_insert(&by_name, hash_bytes(row->name, strlen(row->name)), &is_new);
		if (!is_new) {
			add_row((void *)(uintptr_t)*slot, row);
			continue;
		}
		*slot = (uintptr_t)row;
		rows->all.data[kept++] = row;
	}
	rows->all.len = kept;
	map64_deinit(&by_name);
}

struct ordered {
	struct lock_row *row;
	uint64_t value;
	size_t place;
};

static int compare(const void *a, const void *b)
{
	const struct ordered *one = a, *other = b;
	if (one->value != other->value)
		return one->value < other->value ? 1 : -1;
	return (one->place > other->place) - (one->place < other->place);
}

void lock_rows_sort(struct lock_rows *rows, enum lock_value by)
{
	size_t count = rows->all.len;
	struct ordered *ordered = mem_alloc_array(count + 1, sizeof(*ordered));
	for (size_t i = 0; i < count; i++) {
		struct lock_row *row = rows->all.data[i];
		ordered[i] = (struct ordered){row, lock_row_value(row, by), i};
	}
	qsort(ordered, count, sizeof(*ordered), compare);
	for (size_t i = 0; i < count; i++)
		rows->all.data[i] = ordered[i].row;
	free(ordered);
}

void lock_rows_keep_acquired(struct lock_rows *rows)
{
	size_t kept = 0;
	for (size_t i = 0; i < rows->all.len; i++)
		if (rows->all.data[i]->acquired)
			rows->all.data[kept++] = rows->all.data[i];
	rows->all.len = kept;
}

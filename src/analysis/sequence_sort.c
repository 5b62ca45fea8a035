/* Multikey quicksort, two elements at a time. Large sets are divided by it into parts, which are sorted by several threads:
 *
 *	| < pivot | = pivot: go on at the next elements | > pivot |   ──►   parts of some thousand, in order   ──►   each sorted on its own
 */
#include "analysis/sequence_sort.h"

#include "base/mem.h"
#include "base/pool.h"
#include "base/vec.h"

#include <stdlib.h>

struct sorted_item {
	uint64_t key; /* two elements at the depth that is being sorted, 0 behind the end */
	uint32_t number;
};

static void load_keys(const struct sequences *sequences, struct sorted_item *items, size_t count, uint32_t depth)
{
	for (size_t i = 0; i < count; i++)
		items[i].key = sequences->key(sequences->context, items[i].number, depth);
}

static void swap(struct sorted_item *a, struct sorted_item *b)
{
	struct sorted_item t = *a;
	*a = *b;
	*b = t;
}

static void insertion_sort(struct sorted_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t at = i; at && items[at].key < items[at - 1].key; at--)
			swap(&items[at], &items[at - 1]);
}

/* Keys below, equal to and above that of some element: | < | = | > |. */
static void split(struct sorted_item *items, size_t count, size_t *ret_equal, size_t *ret_above)
{
	uint64_t a = items[0].key, b = items[count / 2].key, c = items[count - 1].key;
	uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
	size_t below = 0, at = 0, above = count;
	while (at < above) {
		if (items[at].key < pivot)
			swap(&items[at++], &items[below++]);
		else if (items[at].key > pivot)
			swap(&items[at], &items[--above]);
		else
			at++;
	}
	*ret_equal = below;
	*ret_above = above;
}

/* Items whose keys at `depth` are loaded. */
struct part {
	struct sorted_item *items;
	size_t count;
	uint32_t depth;
};

/* How far sets are divided, and what becomes of the parts. */
struct dividing {
	const struct sequences *sequences;
	size_t most; /* items of a part, but for those with equal keys */
	void (*take)(struct dividing *dividing, const struct part *part);
	void (*take_equal)(struct dividing *dividing, const struct part *part); /* keys are equal at `depth` */
	VEC(struct part) parts;
};

/* The largest piece is divided in the loop, the others by calls: they are at most as deep as the logarithm of the count. Items that are
 * equal to the end go nowhere. */
static void divide(struct dividing *dividing, struct part part)
{
	while (part.count > dividing->most) {
		size_t equal, above;
		split(part.items, part.count, &equal, &above);
		size_t same = above - equal, rest = part.count - above;
		struct part below = {part.items, equal, part.depth}, behind = {part.items + above, rest, part.depth};
		struct part between = {part.items + equal, same, part.depth};
		if (same >= equal && same >= rest) {
			divide(dividing, below);
			divide(dividing, behind);
			part = between;
			if (!(uint32_t)part.items->key)
				return;
			part.depth += 2;
			load_keys(dividing->sequences, part.items, part.count, part.depth);
			continue;
		}
		dividing->take_equal(dividing, &between);
		divide(dividing, equal < rest ? below : behind);
		part = equal < rest ? behind : below;
	}
	if (part.count > 1)
		dividing->take(dividing, &part);
}

/* ---- sorting ---- */

/* Items with equal keys. Those that end there are equal. */
static void sort_equal(struct dividing *sorting, const struct part *part)
{
	if (part->count < 2 || !(uint32_t)part->items->key)
		return;
	load_keys(sorting->sequences, part->items, part->count, part->depth + 2);
	divide(sorting, (struct part){part->items, part->count, part->depth + 2});
}

/* Runs of equal keys are sorted by what follows. */
static void sort_runs(struct dividing *sorting, const struct part *part)
{
	for (size_t begin = 0, end; begin < part->count; begin = end) {
		uint64_t key = part->items[begin].key;
		for (end = begin + 1; end < part->count && part->items[end].key == key; end++)
			;
		sort_equal(sorting, &(struct part){part->items + begin, end - begin, part->depth});
	}
}

static void sort_few(struct dividing *sorting, const struct part *few)
{
	struct part part = *few;
	insertion_sort(part.items, part.count);
	/* As long as all are alike it goes on here: each call for a run has fewer items, so that there are at most FEW. */
	while (part.items[0].key == part.items[part.count - 1].key && (uint32_t)part.items[0].key) {
		part.depth += 2;
		load_keys(sorting->sequences, part.items, part.count, part.depth);
		insertion_sort(part.items, part.count);
	}
	sort_runs(sorting, &part);
}

/* ---- several threads ---- */

static void keep_part(struct dividing *dividing, const struct part *part)
{
	vec_push(&dividing->parts, *part);
}

static void sort_part(void *context, unsigned int worker, size_t number)
{
	enum { FEW = 16 };
	const struct dividing *dividing = context;
	struct dividing sorting = {.sequences = dividing->sequences, .most = FEW, .take = sort_few, .take_equal = sort_equal};
	(void)worker;
	divide(&sorting, dividing->parts.data[number]);
}

void sequences_sort(const struct sequences *sequences, uint32_t *numbers, size_t count)
{
	enum { PART_LEAST = 1 << 12, PARTS = 16 };
	struct sorted_item *items = mem_alloc_array(count + 1, sizeof(*items));
	size_t most = count / PARTS > PART_LEAST && sequences->jobs > 1 ? count / PARTS : count;
	struct dividing dividing = {.sequences = sequences, .most = most, .take = keep_part, .take_equal = keep_part};
	for (size_t i = 0; i < count; i++)
		items[i].number = numbers[i];
	load_keys(sequences, items, count, 0);
	divide(&dividing, (struct part){items, count, 0});
	pool_run(sequences->jobs, dividing.parts.len, sort_part, &dividing);
	vec_deinit(&dividing.parts);
	for (size_t i = 0; i < count; i++)
		numbers[i] = items[i].number;
	free(items);
}

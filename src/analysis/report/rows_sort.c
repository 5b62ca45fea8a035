/* Rows: their order. By the sums and ranks that the sort keys name; rows that are equal in all of them by address. */
#include "analysis/report/rows_internal.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static uint64_t total_value(const struct rows *rows, uint32_t row, enum key_total total, size_t event)
{
	const struct row_sums *sums = &rows->sums[row * rows->options.event_count + event];
	switch (total) {
	case TOTAL_OVERHEAD_CHILDREN:
		return rows->options.children ? sums->children : sums->period;
	case TOTAL_SAMPLES:
		return sums->count;
	case TOTAL_OVERHEAD_SYS:
		return rows->modes ? rows->modes[row * rows->options.event_count + event].sys : 0;
	case TOTAL_OVERHEAD_US:
		return rows->modes ? rows->modes[row * rows->options.event_count + event].us : 0;
	case TOTAL_OVERHEAD_GUEST_SYS:
		return rows->modes ? rows->modes[row * rows->options.event_count + event].guest_sys : 0;
	case TOTAL_OVERHEAD_GUEST_US:
		return rows->modes ? rows->modes[row * rows->options.event_count + event].guest_us : 0;
	default:
		return sums->period;
	}
}

static int compare_total(const struct rows *rows, uint32_t a, uint32_t b, enum key_total total)
{
	size_t first = rows->options.sort_event;
	int result = compare_u64(total_value(rows, a, total, first), total_value(rows, b, total, first));
	/* The leader doesn't count when another event is asked for. */
	for (size_t i = 1; !result && i < rows->options.event_count; i++)
		if (i != first)
			result = compare_u64(total_value(rows, a, total, i), total_value(rows, b, total, i));
	if (result || total != TOTAL_OVERHEAD_CHILDREN || !rows->options.children || !rows->options.tie_by_depth)
		return result;
	/* Callers above what they call when both have the same: by the depth of what hangs below them. */
	const struct fold *fold = rows->fold;
	if (fold->actors[fold->entries[rows->rows[a].first].actor].thread != fold->actors[fold->entries[rows->rows[b].first].actor].thread)
		return 0;
	int deeper = (int)rows->private->depths[a] - (int)rows->private->depths[b];
	return rows->options.caller_order ? -deeper : deeper;
}

static const uint32_t *ranks_of(const struct rows *rows, const struct key *key)
{
	if (key->domain == KEY_STACK)
		return rows->private->parent_ranks;
	const struct classes *classes = &rows->private->classes[key->domain == KEY_ACTOR   ? CLASS_ACTOR
								: key->domain == KEY_PLACE ? CLASS_PLACE
											   : CLASS_EXTRA];
	for (unsigned int i = 0; i < classes->key_count; i++)
		if (classes->keys[i] == key)
			return classes->ranks[i];
	return NULL;
}

static int64_t place_address(const struct rows *rows, uint32_t place)
{
	struct key_source source;
	static const struct key any = {.domain = KEY_PLACE};
	classes_source(rows, CLASS_PLACE, place, &any, &source);
	const struct fold_frame *frame = source.target ? source.target : source.place;
	bool raw = source.caller || source.target || !frame->map;
	return (int64_t)(frame->symbol ? frame->symbol->start : raw ? frame->ip : map_to_dso(frame->map, frame->ip));
}

/* Rows with equal ranks: by address, as signed numbers. */
static int compare_place(const struct rows *rows, uint32_t a, uint32_t b)
{
	if (rows->rows[a].place == rows->rows[b].place)
		return 0;
	int64_t u = place_address(rows, rows->rows[a].place), v = place_address(rows, rows->rows[b].place);
	return (u > v) - (u < v);
}

static int compare_key(const struct rows *rows, uint32_t a, uint32_t b, const struct key *key)
{
	const uint32_t *ranks = ranks_of(rows, key);
	if (!ranks)
		return 0;
	uint32_t u = ranks[classes_of_row(rows, a, key)], v = ranks[classes_of_row(rows, b, key)];
	return (u > v) - (u < v);
}

int rows_compare_key(const struct rows *rows, uint32_t a, uint32_t b, const struct key *key)
{
	int result = compare_key(rows, a, b, key);
	return result || key->domain != KEY_PLACE ? result : compare_place(rows, a, b);
}

/* What the sort keys say. Not transitive in children mode: see compare_total(). */
static int compare_sorted(const struct rows *rows, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < rows->options.sort_count; i++) {
		const struct key *key = rows->options.sort[i];
		if (rows->options.sort_skipped[i])
			continue;
		int result = key->domain == KEY_TOTAL ? compare_total(rows, a, b, key->total) : compare_key(rows, a, b, key);
		if (result)
			return result;
	}
	return 0;
}

/* Where a row was first seen: entry and depth, of which no two rows have the same. */
static uint64_t first_place(const struct rows_row *row)
{
	return (uint64_t)row->first << 32 | row->first_depth;
}

/* By what tells rows apart, symbols by address. Rows that are still equal: the earlier one first. */
static int compare_identity(const struct rows *rows, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < rows->options.sort_count; i++) {
		const struct key *key = rows->options.sort[i];
		if (key->domain == KEY_TOTAL)
			continue;
		int result = key->flags & KEY_HAS_SYM ? compare_place(rows, a, b) : compare_key(rows, a, b, key);
		if (result)
			return result;
	}
	int result = compare_place(rows, a, b);
	uint64_t first_a = first_place(&rows->rows[a]), first_b = first_place(&rows->rows[b]);
	return result ? result : (first_a > first_b) - (first_a < first_b);
}

static int by_identity(const void *x, const void *y, void *context)
{
	return compare_identity(context, *(const uint32_t *)x, *(const uint32_t *)y);
}

/* Many rows: all that orders a row is packed into a few words, bit after bit, the most significant first. Parts of the rows are sorted in
 * parallel, then merged.
 *
 *	| overhead, largest first | rank of comm | rank of dso | rank of symbol | address | first entry, depth |
 */

enum { FIELDS_MAX = ROWS_KEYS_MAX + 64 };

struct sort_field {
	enum { FIELD_TOTAL, FIELD_RANK, FIELD_PLACE, FIELD_FIRST } kind;
	const struct key *key;
	const uint32_t *ranks;
	size_t event;
	uint64_t base; /* totals: the largest one, from which they count down; ranks: the smallest one */
	unsigned int bits;
};

struct sort_item {
	uint32_t row;
	uint64_t words[];
};

struct sorting {
	const struct rows *rows;
	VEC(struct sort_field) fields;
	size_t words; /* of an item */
	size_t size;  /* of an item, bytes */
	unsigned int jobs;
	char *items, *merged;
	size_t step; /* items in a sorted part */
};

static unsigned int bits_of(uint64_t value)
{
	return value ? 64 - (unsigned int)__builtin_clzl(value) : 0;
}

static void add_total_field(struct sorting *sorting, const struct key *key, size_t event)
{
	const struct rows *rows = sorting->rows;
	uint64_t largest = 0;
	for (uint32_t i = 0; i < rows->row_count; i++) {
		uint64_t value = total_value(rows, i, key->total, event);
		largest = value > largest ? value : largest;
	}
	vec_push(&sorting->fields,
		 (struct sort_field){.kind = FIELD_TOTAL, .key = key, .event = event, .base = largest, .bits = bits_of(largest)});
}

static void add_rank_field(struct sorting *sorting, const struct key *key)
{
	const struct rows *rows = sorting->rows;
	const uint32_t *ranks = ranks_of(rows, key);
	if (!ranks)
		return;
	uint32_t smallest = UINT32_MAX, largest = 0;
	for (size_t i = 0; i < rows->shown_count; i++) {
		uint32_t rank = ranks[classes_of_row(rows, rows->order[i], key)];
		smallest = rank < smallest ? rank : smallest;
		largest = rank > largest ? rank : largest;
	}
	vec_push(
		&sorting->fields,
		(struct sort_field){.kind = FIELD_RANK, .key = key, .ranks = ranks, .base = smallest, .bits = bits_of(largest - smallest)});
}

static void choose_fields(struct sorting *sorting)
{
	const struct rows_options *options = &sorting->rows->options;
	for (size_t i = 0; i < options->sort_count; i++) {
		const struct key *key = options->sort[i];
		if (options->sort_skipped[i])
			continue;
		if (key->domain != KEY_TOTAL) {
			add_rank_field(sorting, key);
			continue;
		}
		add_total_field(sorting, key, options->sort_event);
		for (size_t event = 1; event < options->event_count; event++)
			if (event != options->sort_event)
				add_total_field(sorting, key, event);
	}
	vec_push(&sorting->fields, (struct sort_field){.kind = FIELD_PLACE, .bits = 64});
	vec_push(&sorting->fields, (struct sort_field){.kind = FIELD_FIRST, .bits = 64});
	unsigned int bits = 0;
	for (size_t i = 0; i < sorting->fields.len; i++)
		bits += sorting->fields.data[i].bits;
	sorting->words = (bits + 63) / 64;
	sorting->size = sizeof(struct sort_item) + sorting->words * sizeof(uint64_t);
}

static uint64_t field_value(const struct rows *rows, const struct sort_field *field, uint32_t row)
{
	switch (field->kind) {
	case FIELD_TOTAL:
		return field->base - total_value(rows, row, field->key->total, field->event);
	case FIELD_RANK:
		return field->ranks[classes_of_row(rows, row, field->key)] - field->base;
	case FIELD_PLACE:
		return (uint64_t)place_address(rows, rows->rows[row].place) ^ (uint64_t)1 << 63;
	default:
		return first_place(&rows->rows[row]);
	}
}

static struct sort_item *item_at(const struct sorting *sorting, char *items, size_t index)
{
	return (struct sort_item *)(items + index * sorting->size);
}

static void make_item(const struct sorting *sorting, uint32_t row, struct sort_item *item)
{
	unsigned int at = 0;
	item->row = row;
	for (size_t i = 0; i < sorting->words; i++)
		item->words[i] = 0;
	for (size_t i = 0; i < sorting->fields.len; i++) {
		const struct sort_field *field = &sorting->fields.data[i];
		if (!field->bits)
			continue;
		uint64_t value = field_value(sorting->rows, field, row);
		unsigned int room = 64 - at % 64;
		if (field->bits <= room) {
			item->words[at / 64] |= value << (room - field->bits);
		} else {
			item->words[at / 64] |= value >> (field->bits - room);
			item->words[at / 64 + 1] |= value << (64 - (field->bits - room));
		}
		at += field->bits;
	}
}

static int compare_items(const void *x, const void *y, void *context)
{
	const struct sorting *sorting = context;
	const struct sort_item *a = x, *b = y;
	for (size_t i = 0; i < sorting->words; i++)
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	return 0;
}

static size_t end_of(const struct sorting *sorting, size_t begin)
{
	size_t end = begin + sorting->step, count = sorting->rows->shown_count;
	return end < count ? end : count;
}

static void sort_part(void *context, unsigned int worker, size_t part)
{
	struct sorting *sorting = context;
	size_t begin = part * sorting->step, end = end_of(sorting, begin);
	(void)worker;
	for (size_t i = begin; i < end; i++)
		make_item(sorting, sorting->rows->order[i], item_at(sorting, sorting->items, i));
	qsort_r(item_at(sorting, sorting->items, begin), end - begin, sorting->size, compare_items, sorting);
}

/* Two sorted parts that follow each other become one. */
static void merge_parts(void *context, unsigned int worker, size_t pair)
{
	struct sorting *sorting = context;
	size_t a = 2 * pair * sorting->step, middle = end_of(sorting, a), b = middle, end = end_of(sorting, middle);
	(void)worker;
	for (size_t to = a; to < end; to++) {
		bool first = b == end || (a < middle && compare_items(item_at(sorting, sorting->items, a),
								      item_at(sorting, sorting->items, b), sorting) <= 0);
		memcpy(item_at(sorting, sorting->merged, to), item_at(sorting, sorting->items, first ? a++ : b++), sorting->size);
	}
}

static void sort_by_words(struct rows *rows)
{
	struct sorting sorting = {.rows = rows, .jobs = rows->options.jobs ? rows->options.jobs : 1};
	choose_fields(&sorting);
	size_t count = rows->shown_count, parts = 1;
	while (parts < sorting.jobs && count / parts > 4096)
		parts *= 2;
	sorting.step = (count + parts - 1) / parts;
	sorting.items = mem_alloc_array(count + 1, sorting.size);
	sorting.merged = parts > 1 ? mem_alloc_array(count + 1, sorting.size) : NULL;
	pool_run(sorting.jobs, parts, sort_part, &sorting);
	for (; parts > 1; parts /= 2) {
		pool_run(sorting.jobs, parts / 2, merge_parts, &sorting);
		char *other = sorting.items;
		sorting.items = sorting.merged;
		sorting.merged = other;
		sorting.step *= 2;
	}
	for (size_t i = 0; i < count; i++)
		rows->order[i] = item_at(&sorting, sorting.items, i)->row;
	free(sorting.items);
	free(sorting.merged);
	vec_deinit(&sorting.fields);
}

/* A red-black tree of rows, filled in the order of their identity and read from the left. */

enum { NIL = 0 };

struct tree_node {
	uint32_t parent, left, right;
	uint32_t row;
	bool red;
};

struct tree {
	struct tree_node *nodes; /* nodes[0] is nobody */
	uint32_t root;
};

static void rotate(struct tree *tree, uint32_t x, bool left)
{
	struct tree_node *n = tree->nodes;
	uint32_t y = left ? n[x].right : n[x].left, inner = left ? n[y].left : n[y].right, up = n[x].parent;
	*(left ? &n[x].right : &n[x].left) = inner;
	if (inner)
		n[inner].parent = x;
	*(left ? &n[y].left : &n[y].right) = x;
	n[y].parent = up;
	n[x].parent = y;
	if (!up)
		tree->root = y;
	else if (n[up].left == x)
		n[up].left = y;
	else
		n[up].right = y;
}

static void rebalance(struct tree *tree, uint32_t x)
{
	struct tree_node *n = tree->nodes;
	while (n[x].parent && n[n[x].parent].red) {
		uint32_t parent = n[x].parent, grand = n[parent].parent;
		bool left = n[grand].left == parent;
		uint32_t uncle = left ? n[grand].right : n[grand].left;
		if (n[uncle].red) {
			n[parent].red = n[uncle].red = false;
			n[grand].red = true;
			x = grand;
			continue;
		}
		if (x == (left ? n[parent].right : n[parent].left)) {
			rotate(tree, parent, left);
			x = parent;
			parent = n[x].parent;
		}
		n[parent].red = false;
		n[grand].red = true;
		rotate(tree, grand, !left);
	}
	n[tree->root].red = false;
}

static void insert(struct tree *tree, const struct rows *rows, uint32_t x)
{
	struct tree_node *n = tree->nodes;
	uint32_t at = tree->root, parent = NIL;
	bool left = false;
	while (at) {
		parent = at;
		left = compare_sorted(rows, n[x].row, n[at].row) < 0;
		at = left ? n[at].left : n[at].right;
	}
	n[x].parent = parent;
	n[x].red = true;
	if (!parent)
		tree->root = x;
	else
		*(left ? &n[parent].left : &n[parent].right) = x;
	rebalance(tree, x);
}

/* The order that the kernel tool's rows come out in when keys contradict each other: it fills such a tree. */
static void sort_by_tree(struct rows *rows, size_t rows_count)
{
	qsort_r(rows->order, rows_count, sizeof(*rows->order), by_identity, rows);
	struct tree tree = {.nodes = mem_zalloc_array(rows_count + 1, sizeof(*tree.nodes))};
	for (uint32_t i = 0; i < rows_count; i++) {
		tree.nodes[i + 1].row = rows->order[i];
		insert(&tree, rows, i + 1);
	}
	uint32_t at = tree.root, count = 0;
	while (at && tree.nodes[at].left)
		at = tree.nodes[at].left;
	while (at) {
		rows->order[count++] = tree.nodes[at].row;
		if (tree.nodes[at].right) {
			at = tree.nodes[at].right;
			while (tree.nodes[at].left)
				at = tree.nodes[at].left;
			continue;
		}
		uint32_t child = at;
		for (at = tree.nodes[at].parent; at && tree.nodes[at].right == child; at = tree.nodes[at].parent)
			child = at;
	}
	free(tree.nodes);
}

enum { TREE_ROWS_MAX = 1 << 14 };

/* Where the rows that can be sorted by a tree end: rows with equal sums belong together. */
static size_t tree_end(const struct rows *rows)
{
	if (rows->shown_count <= TREE_ROWS_MAX)
		return rows->shown_count;
	size_t end = TREE_ROWS_MAX;
	while (end && total_value(rows, rows->order[end], TOTAL_OVERHEAD_CHILDREN, rows->options.sort_event) ==
			      total_value(rows, rows->order[end - 1], TOTAL_OVERHEAD_CHILDREN, rows->options.sort_event))
		end--;
	return end;
}

/* ---- few of many ---- */

/* A number that never falls as the value grows: how many bits it has, and the three below the highest one. */
enum { LOW_BITS = 3, MAGNITUDES = 65 << LOW_BITS };

static unsigned int magnitude(uint64_t value)
{
	unsigned int bits = bits_of(value);
	unsigned int low = bits > LOW_BITS ? (value >> (bits - 1 - LOW_BITS)) & ((1 << LOW_BITS) - 1) : 0;
	return bits << LOW_BITS | low;
}

static uint64_t first_total(const struct rows *rows, uint32_t row)
{
	return total_value(rows, row, rows->options.sort[0]->total, rows->options.sort_event);
}

bool rows_can_choose(const struct rows *rows)
{
	const struct rows_options *options = &rows->options;
	return options->most && options->most < rows->row_count && !options->children && options->sort_count &&
	       options->sort[0]->domain == KEY_TOTAL && !options->sort_skipped[0];
}

void rows_choose(struct rows *rows)
{
	size_t counts[MAGNITUDES] = {0}, more = 0, kept = 0;
	for (size_t i = 0; i < rows->shown_count; i++)
		counts[magnitude(first_total(rows, rows->order[i]))]++;
	unsigned int least = MAGNITUDES;
	while (least && more < rows->options.most)
		more += counts[--least];
	for (size_t i = 0; i < rows->shown_count; i++)
		if (magnitude(first_total(rows, rows->order[i])) >= least)
			rows->order[kept++] = rows->order[i];
	rows->shown_count = kept;
}

/* ---- */

void rows_sort(struct rows *rows)
{
	const struct rows_options *options = &rows->options;
	bool tree = options->children && options->tie_by_depth && options->sort_count && options->sort[0]->domain == KEY_TOTAL &&
		    options->sort[0]->total == TOTAL_OVERHEAD_CHILDREN;
	bool whole = options->children && options->tie_by_depth && rows->shown_count <= TREE_ROWS_MAX;
	if (!whole)
		sort_by_words(rows);
	if (whole || tree)
		sort_by_tree(rows, tree_end(rows));
}

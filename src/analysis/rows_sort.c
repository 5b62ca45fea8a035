/* Rows: their order. By the sums and ranks that the sort keys name; rows that are equal in all of them by address. */
#include "analysis/rows_internal.h"
#include "base/radix.h"

#include <stdlib.h>

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
	const struct classes *classes = &rows->private->classes[key->domain == KEY_ACTOR ? CLASS_ACTOR : key->domain == KEY_PLACE ? CLASS_PLACE : CLASS_EXTRA];
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
	const struct fold_frame *frame = source.place;
	return (int64_t)(frame->symbol ? frame->symbol->start : frame->map && !source.caller ? map_to_dso(frame->map, frame->ip) : frame->ip);
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
	uint32_t first_a = rows->rows[a].first, first_b = rows->rows[b].first;
	return result ? result : (first_a > first_b) - (first_a < first_b);
}

static int by_identity(const void *x, const void *y, void *context)
{
	return compare_identity(context, *(const uint32_t *)x, *(const uint32_t *)y);
}

/* Many rows: one pass of a stable sort for each key, the least significant first. */

struct pass {
	const struct rows *rows;
	const struct key *key;
	const uint32_t *ranks;
	size_t event;
};

static uint64_t rank_value(const void *context, uint32_t row)
{
	const struct pass *pass = context;
	return pass->ranks[classes_of_row(pass->rows, row, pass->key)];
}

static uint64_t descending_total(const void *context, uint32_t row)
{
	const struct pass *pass = context;
	return ~total_value(pass->rows, row, pass->key->total, pass->event);
}

static uint64_t place_value(const void *context, uint32_t row)
{
	const struct pass *pass = context;
	return (uint64_t)place_address(pass->rows, pass->rows->rows[row].place) ^ (uint64_t)1 << 63;
}

static uint64_t first_value(const void *context, uint32_t row)
{
	return ((const struct rows *)context)->rows[row].first;
}

static void sort_by_passes(struct rows *rows)
{
	const struct rows_options *options = &rows->options;
	struct pass pass = {.rows = rows};
	radix_sort(rows->order, rows->shown_count, first_value, rows);
	radix_sort(rows->order, rows->shown_count, place_value, &pass);
	for (size_t i = options->sort_count; i-- > 0;) {
		if (options->sort_skipped[i])
			continue;
		pass.key = options->sort[i];
		if (pass.key->domain != KEY_TOTAL) {
			pass.ranks = ranks_of(rows, pass.key);
			if (pass.ranks)
				radix_sort(rows->order, rows->shown_count, rank_value, &pass);
			continue;
		}
		for (size_t event = options->event_count; event-- > 1;) {
			pass.event = event;
			if (event != options->sort_event)
				radix_sort(rows->order, rows->shown_count, descending_total, &pass);
		}
		pass.event = options->sort_event;
		radix_sort(rows->order, rows->shown_count, descending_total, &pass);
	}
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

void rows_sort(struct rows *rows)
{
	const struct rows_options *options = &rows->options;
	bool tree = options->children && options->tie_by_depth && options->sort_count && options->sort[0]->domain == KEY_TOTAL &&
		    options->sort[0]->total == TOTAL_OVERHEAD_CHILDREN;
	bool whole = options->children && options->tie_by_depth && rows->shown_count <= TREE_ROWS_MAX;
	if (!whole)
		sort_by_passes(rows);
	if (whole || tree)
		sort_by_tree(rows, tree_end(rows));
}

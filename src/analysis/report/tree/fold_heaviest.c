/* Fold: the heaviest nodes of a call tree.
 *
 * A picture has room for so many nodes. The heaviest one that is known is divided next, by the labels with which its stacks go on: its
 * children are no heavier. When there are enough nodes, what wasn't divided is never looked at:
 *
 *	main 90 ─┬─ parse 60 ─┬─ read 35           divided: main, parse, run
 *	         │            └─ token 20
 *	         └─ run 25 ─── …                   then read, …
 *
 * Stacks that have their first piece in common are a bundle, which is moved as one until that piece is at its end; only there, and only if
 * a heavy node is there, it becomes one bundle for each stack. A node's bundles stand side by side, in a few spans: when it is divided,
 * each child's bundles are moved together, those of children that are too light are dropped.
 */
#include "analysis/report/tree/fold_tree.h"

#include "base/radix.h"

#include <stdlib.h>
#include <string.h>

struct bundle {
	uint32_t next;	     /* the frame with which its stacks go on, if any are left: in growing->frames; LEAF */
	uint32_t left : 31;  /* frames of the piece */
	uint32_t last : 1;   /* no other piece follows */
	uint32_t begin, end; /* its stacks, in growing->entries; ascending numbers */
	uint64_t total, total_count;
};

/* Of stacks without a piece. */
#define LEAF UINT32_MAX

/* What is asked of memory so many steps before it is needed. */
enum { AHEAD = 16 };

/* Of bundles. */
struct span {
	uint32_t begin, end;
	uint32_t next; /* another one of the same node; FOLD_NONE = none */
};

struct heavy_node {
	uint32_t parent, depth;
	uint32_t rank;	  /* of its label */
	uint32_t first;	  /* the smallest number of its entries */
	uint32_t spans;	  /* the first one */
	uint32_t waiting; /* the next node that isn't divided, of about the same weight */
	uint64_t total, total_count;
};

/* A node's child while the node is divided. */
struct child {
	uint32_t rank, first;
	uint32_t bundles; /* of the span at hand; then where the next one goes */
	uint32_t node;	  /* FOLD_NONE = too light */
	uint64_t total, total_count;
};

struct dividing {
	const struct tree_growing *growing;
	struct calltree_limit limit;
	uint64_t least;				  /* nodes below aren't needed, as far as is known */
	uint32_t waiting[CALLTREE_LIMIT_BUCKETS]; /* nodes that aren't divided, by weight */
	VEC(struct bundle) bundles;
	VEC(struct span) spans;
	VEC(struct heavy_node) nodes; /* parents before their children, which are in the order of their labels */
	VEC(struct child) children;   /* of the node at hand */
	VEC(uint32_t) of_bundle; /* by bundle of the node at hand: which child, FOLD_NONE = its stacks end, or go on in other bundles */
	VEC(struct bundle) moved;
	uint32_t *child_of; /* by rank: number + 1, 0 = none */
};

/* ---- stacks in bundles ---- */

static uint32_t first_piece(const struct tree_growing *growing, const struct fold_entry *entry)
{
	uint32_t first = growing->options->reverse ? entry->inner : entry->outer;
	return first != FOLD_NONE ? first : growing->options->reverse ? entry->outer : entry->inner;
}

/* Stacks that begin with the same piece of the same thread. Those without a piece are their leaf. */
static uint64_t by_beginning(const void *context, uint32_t number)
{
	const struct tree_growing *growing = context;
	const struct fold_entry *entry = &growing->fold->entries[number];
	uint32_t piece = first_piece(growing, entry);
	uint64_t root = growing->root_ranks ? growing->root_ranks[entry->actor] : 0;
	return root << 33 | (piece == FOLD_NONE ? (uint64_t)1 << 32 | entry->leaf : piece);
}

/* Where it begins, or goes on behind its first piece. */
static void set_piece(const struct tree_growing *growing, uint32_t piece, struct bundle *bundle)
{
	if (piece == FOLD_NONE) {
		bundle->next = LEAF;
		bundle->left = 1;
		return;
	}
	const struct fold_piece *of = &growing->pieces[piece];
	bundle->left = of->frame_count;
	bundle->next = of->frames + (growing->options->reverse || !of->frame_count ? 0 : of->frame_count - 1);
}

static void weigh(const struct tree_growing *growing, uint32_t at, struct bundle *bundle)
{
	const struct fold_entry *entry = &growing->fold->entries[growing->entries[at]];
	bundle->total += growing->options->count ? entry->count : entry->period;
	bundle->total_count += entry->count;
}

static uint32_t add_span(struct dividing *dividing, uint32_t begin, uint32_t end)
{
	vec_push(&dividing->spans, (struct span){.begin = begin, .end = end, .next = FOLD_NONE});
	return (uint32_t)dividing->spans.len - 1;
}

static void make_bundles(struct dividing *dividing)
{
	const struct tree_growing *growing = dividing->growing;
	uint64_t before = 0;
	radix_sort(growing->entries, growing->count, by_beginning, growing);
	for (uint32_t i = 0; i < growing->count; i++) {
		const struct fold_entry *entry = &growing->fold->entries[growing->entries[i]];
		if (i + AHEAD < growing->count)
			__builtin_prefetch(&growing->fold->entries[growing->entries[i + AHEAD]]);
		uint64_t beginning = by_beginning(growing, growing->entries[i]);
		if (!i || beginning != before) {
			struct bundle *bundle = vec_add(&dividing->bundles);
			*bundle = (struct bundle){.begin = i};
			set_piece(growing, first_piece(growing, entry), bundle);
		}
		before = beginning;
		vec_last(&dividing->bundles)->end = i + 1;
		weigh(growing, i, vec_last(&dividing->bundles));
	}
}

/* A bundle at the end of its piece: a bundle for each stack that goes on. */
static void untie(struct dividing *dividing, const struct bundle tied)
{
	const struct tree_growing *growing = dividing->growing;
	for (uint32_t i = tied.begin; i < tied.end; i++) {
		const struct fold_entry *entry = &growing->fold->entries[growing->entries[i]];
		if (i + AHEAD < tied.end)
			__builtin_prefetch(&growing->fold->entries[growing->entries[i + AHEAD]]);
		uint32_t second = growing->options->reverse ? entry->outer : entry->inner;
		if (second == FOLD_NONE || second == first_piece(growing, entry))
			continue;
		struct bundle bundle = {.begin = i, .end = i + 1, .last = true};
		set_piece(growing, second, &bundle);
		weigh(growing, i, &bundle);
		if (bundle.left)
			vec_push(&dividing->bundles, bundle);
	}
}

/* ---- nodes ---- */

static uint32_t add_node(struct dividing *dividing, uint32_t parent, uint32_t depth, const struct child *child)
{
	uint32_t number = (uint32_t)dividing->nodes.len, *waiting = &dividing->waiting[calltree_limit_bucket(child->total)];
	vec_push(&dividing->nodes, (struct heavy_node){.parent = parent,
						       .depth = depth,
						       .rank = child->rank,
						       .first = child->first,
						       .spans = FOLD_NONE,
						       .waiting = *waiting,
						       .total = child->total,
						       .total_count = child->total_count});
	*waiting = number;
	if (depth <= dividing->growing->options->deepest)
		calltree_limit_add(&dividing->limit, child->total, 1);
	return number;
}

static void give_span(struct dividing *dividing, uint32_t node, uint32_t begin, uint32_t end)
{
	uint32_t span = add_span(dividing, begin, end);
	dividing->spans.data[span].next = dividing->nodes.data[node].spans;
	dividing->nodes.data[node].spans = span;
}

/* Which child of the node at hand a bundle belongs to, and its share of that. */
static uint32_t count_for_child(struct dividing *dividing, const struct bundle *bundle, uint32_t rank)
{
	uint32_t *number = &dividing->child_of[rank];
	uint32_t first = dividing->growing->entries[bundle->begin];
	if (!*number) {
		vec_push(&dividing->children, (struct child){.rank = rank, .first = first});
		*number = (uint32_t)dividing->children.len;
	}
	struct child *child = &dividing->children.data[*number - 1];
	child->first = first < child->first ? first : child->first;
	child->total += bundle->total;
	child->total_count += bundle->total_count;
	return *number - 1;
}

/* Of the label with which its stacks go on. */
static uint32_t next_rank(const struct tree_growing *growing, const struct bundle *bundle)
{
	if (bundle->next == LEAF)
		return growing->frame_ranks[growing->fold->entries[growing->entries[bundle->begin]].leaf];
	return growing->frame_ranks[growing->frames[bundle->next]];
}

/* Finds the node's children. What goes on behind a piece's end gets a span of its own, which is looked at last. */
static void find_children(struct dividing *dividing, uint32_t node)
{
	const struct tree_growing *growing = dividing->growing;
	uint32_t untied = (uint32_t)dividing->bundles.len;
	dividing->children.len = dividing->of_bundle.len = 0;
	for (uint32_t span = dividing->nodes.data[node].spans; span != FOLD_NONE; span = dividing->spans.data[span].next) {
		for (uint32_t i = dividing->spans.data[span].begin; i < dividing->spans.data[span].end; i++) {
			const struct bundle *bundle = &dividing->bundles.data[i];
			if (i + AHEAD < dividing->spans.data[span].end)
				__builtin_prefetch(&growing->frames[bundle[AHEAD].next]);
			uint32_t child = FOLD_NONE;
			if (bundle->left)
				child = count_for_child(dividing, bundle, next_rank(growing, bundle));
			else if (!bundle->last)
				untie(dividing, *bundle);
			vec_push(&dividing->of_bundle, child);
		}
		if (dividing->spans.data[span].next == FOLD_NONE && untied < dividing->bundles.len) {
			uint32_t more = add_span(dividing, untied, (uint32_t)dividing->bundles.len);
			dividing->spans.data[span].next = more;
			untied = (uint32_t)dividing->bundles.len;
		}
	}
}

/* A span's bundles to its children, one step further on. */
static void divide_span(struct dividing *dividing, const struct span span, const uint32_t *of_bundle)
{
	struct child *children = dividing->children.data;
	uint32_t at = span.begin, count = span.end - span.begin;
	for (size_t i = 0; i < dividing->children.len; i++)
		children[i].bundles = 0;
	for (uint32_t i = 0; i < count; i++)
		if (of_bundle[i] != FOLD_NONE)
			children[of_bundle[i]].bundles++;
	for (size_t i = 0; i < dividing->children.len; i++) {
		uint32_t bundles = children[i].bundles;
		if (!bundles || children[i].node == FOLD_NONE)
			continue;
		give_span(dividing, children[i].node, at, at + bundles);
		children[i].bundles = at - span.begin;
		at += bundles;
	}
	vec_reserve(&dividing->moved, count);
	struct bundle *bundles = dividing->bundles.data + span.begin, *moved = dividing->moved.data;
	bool reverse = dividing->growing->options->reverse;
	for (uint32_t i = 0; i < count; i++) {
		if (of_bundle[i] == FOLD_NONE || children[of_bundle[i]].node == FOLD_NONE)
			continue;
		struct bundle *to = &moved[children[of_bundle[i]].bundles++];
		*to = bundles[i];
		to->left--;
		to->next += reverse ? 1 : UINT32_MAX; /* to the next frame, or the one before */
	}
	memcpy(bundles, moved, (at - span.begin) * sizeof(*bundles));
}

static int by_rank(const void *a, const void *b, void *context)
{
	const struct child *children = context;
	uint32_t x = children[*(const uint32_t *)a].rank, y = children[*(const uint32_t *)b].rank;
	return (x > y) - (x < y);
}

/* Children that are heavy enough become nodes, in the order of their labels. */
static void add_children(struct dividing *dividing, uint32_t node, uint32_t depth)
{
	struct child *children = dividing->children.data;
	uint32_t *heavy = mem_alloc_array(dividing->children.len + 1, sizeof(*heavy)), count = 0;
	for (uint32_t i = 0; i < dividing->children.len; i++) {
		dividing->child_of[children[i].rank] = 0;
		children[i].node = FOLD_NONE;
		if (children[i].total >= dividing->least)
			heavy[count++] = i;
	}
	if (count > 1)
		qsort_r(heavy, count, sizeof(*heavy), by_rank, children);
	for (uint32_t i = 0; i < count; i++)
		children[heavy[i]].node = add_node(dividing, node, depth, &children[heavy[i]]);
	free(heavy);
}

static void divide(struct dividing *dividing, uint32_t node)
{
	size_t done = 0;
	find_children(dividing, node);
	add_children(dividing, node, dividing->nodes.data[node].depth + 1);
	for (uint32_t at = dividing->nodes.data[node].spans; at != FOLD_NONE; at = dividing->spans.data[at].next) {
		const struct span span = dividing->spans.data[at];
		divide_span(dividing, span, dividing->of_bundle.data + done);
		done += span.end - span.begin;
	}
}

/* The heaviest first, until there are as many as are wanted. */
static void divide_heaviest(struct dividing *dividing)
{
	enum { RENEWED_AFTER = 1 << 10 };
	size_t renewed = 0;
	for (unsigned int bucket = CALLTREE_LIMIT_BUCKETS; bucket-- > calltree_limit_bucket(dividing->least);) {
		for (uint32_t node; (node = dividing->waiting[bucket]) != FOLD_NONE;) {
			dividing->waiting[bucket] = dividing->nodes.data[node].waiting;
			divide(dividing, node);
			if (dividing->nodes.len - renewed < RENEWED_AFTER)
				continue;
			renewed = dividing->nodes.len;
			dividing->least = calltree_limit_least(&dividing->limit, dividing->growing->options->most);
		}
	}
	dividing->least = calltree_limit_least(&dividing->limit, dividing->growing->options->most);
}

/* ---- the root, and the result ---- */

/* The thread's names are its children; bundles are in their order. */
static void divide_root(struct dividing *dividing)
{
	const struct tree_growing *growing = dividing->growing;
	for (uint32_t begin = 0, end; begin < dividing->bundles.len; begin = end) {
		struct child child = {.first = FOLD_NONE};
		for (end = begin; end < dividing->bundles.len; end++) {
			const struct bundle *bundle = &dividing->bundles.data[end];
			uint32_t first = growing->entries[bundle->begin], rank = growing->root_ranks[growing->fold->entries[first].actor];
			if (end > begin && rank != child.rank)
				break;
			child.rank = rank;
			child.first = first < child.first ? first : child.first;
			child.total += bundle->total;
			child.total_count += bundle->total_count;
		}
		give_span(dividing, add_node(dividing, 0, 1, &child), begin, end);
	}
}

static void begin_root(struct dividing *dividing)
{
	struct child root = {.first = FOLD_NONE};
	for (size_t i = 0; i < dividing->bundles.len; i++) {
		root.total += dividing->bundles.data[i].total;
		root.total_count += dividing->bundles.data[i].total_count;
	}
	add_node(dividing, FOLD_NONE, 0, &root);
	if (dividing->growing->root_ranks) {
		dividing->waiting[calltree_limit_bucket(root.total)] = FOLD_NONE;
		divide_root(dividing);
	} else if (dividing->bundles.len) {
		give_span(dividing, 0, 0, (uint32_t)dividing->bundles.len);
	}
}

static void set_weights(const struct heavy_node *from, struct calltree_node *node)
{
	node->self = node->total = from->total;
	node->self_count = node->total_count = from->total_count;
}

/* Behind the children that the parent has already. */
static void add_child(struct calltree_node *parent, struct calltree_node *last, struct calltree_node *node)
{
	node->parent = parent;
	*(last ? &last->sibling : &parent->children) = node;
	parent->self -= node->total;
	parent->self_count -= node->total_count;
}

static void make_tree(const struct dividing *dividing, struct calltree *tree)
{
	struct calltree_node **nodes = mem_zalloc_array(dividing->nodes.len, sizeof(*nodes)), *last = NULL;
	tree->least = dividing->least;
	nodes[0] = &tree->root;
	set_weights(&dividing->nodes.data[0], &tree->root);
	for (size_t i = 1; i < dividing->nodes.len; i++) {
		const struct heavy_node *from = &dividing->nodes.data[i];
		if (from->total < tree->least || !nodes[from->parent]) /* sums of a stranger's periods wrap: a child may be heavier */
			continue;
		struct calltree_node *node = nodes[i] = arena_zalloc(&tree->arena, sizeof(*node)), *parent = nodes[from->parent];
		fold_tree_describe(dividing->growing, from->first, from->depth, node);
		set_weights(from, node);
		add_child(parent, last && last->parent == parent ? last : NULL, node);
		last = node;
		tree->nodes++;
	}
	free(nodes);
}

void fold_tree_heaviest(const struct tree_growing *growing, struct calltree *tree)
{
	struct dividing dividing = {.growing = growing};
	memset(dividing.waiting, 0xff, sizeof(dividing.waiting));
	dividing.child_of = mem_zalloc_array(growing->label_count + 1, sizeof(*dividing.child_of));
	make_bundles(&dividing);
	begin_root(&dividing);
	divide_heaviest(&dividing);
	make_tree(&dividing, tree);
	vec_deinit(&dividing.bundles);
	vec_deinit(&dividing.spans);
	vec_deinit(&dividing.nodes);
	vec_deinit(&dividing.children);
	vec_deinit(&dividing.of_bundle);
	vec_deinit(&dividing.moved);
	free(dividing.child_of);
}

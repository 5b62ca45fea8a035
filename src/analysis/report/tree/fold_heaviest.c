/* Fold: the heaviest nodes of a call tree.
 *
 * A picture has room for so many nodes. The heaviest ones that are known are divided next, by the labels with which their stacks go on:
 * their children are no heavier. When there are enough nodes, what wasn't divided is never looked at:
 *
 *	main 90 ─┬─ parse 60 ─┬─ read 35           divided: main, parse, run
 *	         │            └─ token 20
 *	         └─ run 25 ─── …                   then read, …
 *
 * Stacks that have a part in common are a bundle (fold_bundles.h), which is untied only where that part ends, and only if a heavy node is
 * there. A node's bundles stand side by side, in a few spans: when it is divided,
 * each child's bundles are moved together, those of children that are too light are dropped.
 *
 * No two nodes have a bundle in common, so that each thread takes some of the heaviest nodes, divides them on its own, and hands their
 * children over. Which nodes are divided depends on chance then, but not which of them are heavy enough in the end.
 */
#include "analysis/report/tree/fold_bundles.h"

#include "base/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct span {
	struct bundle *bundles;
	uint32_t count;
	struct span *next; /* another one of the same node */
};

struct heavy_node {
	uint32_t parent, depth;
	uint32_t rank;	  /* of its label */
	uint32_t frame;	  /* that of its first sample; of children of the root that are threads: none */
	uint32_t waiting; /* the next node that isn't divided, of about the same weight */
	uint32_t bundles;
	uint64_t total, total_count;
	struct span *spans; /* NULL = it is divided */
};

/* A node's child while the node is divided. */
struct child {
	uint32_t rank, frame;
	uint32_t bundles; /* of the span at hand; then where the next one goes */
	uint32_t node;	  /* in divider->made; FOLD_NONE = too light */
	bool mixed;	  /* of several frames that aren't described alike */
	uint64_t total, total_count;
};

#define MADE ((uint32_t)1 << 31)

/* What a thread needs. */
struct divider {
	VEC(struct heavy_node) taken;
	VEC(struct heavy_node) made; /* their children, and those of some children; MADE: `parent` is a number in here */
	VEC(struct child) children;  /* of the node at hand */
	VEC(uint32_t) of_bundle;     /* by bundle of the node at hand: which child, FOLD_NONE = its stacks end, or go on in other bundles */
	bundle_list moved, untied;
	uint32_t *child_of; /* by rank: number + 1, 0 = none */
	uint64_t least;	    /* nodes below aren't needed, as far as is known */
	struct arena arena; /* spans and untied bundles */
};

struct dividing {
	const struct tree_growing *growing;
	struct stack_lists stacks;
	struct divider *dividers;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	struct calltree_limit limit;
	uint64_t least;
	size_t renewed;				  /* how many nodes there were when `least` was told */
	unsigned int working;			  /* threads that may find more nodes */
	unsigned int heaviest;			  /* no node waits in a bucket above */
	uint32_t waiting[CALLTREE_LIMIT_BUCKETS]; /* nodes that aren't divided, by weight */
	VEC(struct heavy_node) nodes;		  /* parents before their children, which are in the order of their labels */
};

/* ---- a node's children ---- */

static void give_span(struct divider *divider, struct heavy_node *node, struct bundle *bundles, uint32_t count)
{
	struct span *span = arena_alloc(&divider->arena, sizeof(*span));
	*span = (struct span){.bundles = bundles, .count = count, .next = node->spans};
	node->spans = span;
	node->bundles += count;
}

/* Which child of the node at hand a bundle belongs to, and its share of that. */
static uint32_t count_for_child(const struct dividing *dividing, struct divider *divider, const struct bundle *bundle)
{
	uint32_t frame = stack_lists_frame(&dividing->stacks, *bundle->next),
		 *number = &divider->child_of[stack_lists_rank(&dividing->stacks, *bundle->next)];
	if (!*number) {
		vec_push(&divider->children, (struct child){.rank = stack_lists_rank(&dividing->stacks, *bundle->next), .frame = frame});
		*number = (uint32_t)divider->children.len;
	}
	struct child *child = &divider->children.data[*number - 1];
	child->mixed |= child->frame != frame && dividing->stacks.looks[child->frame] != dividing->stacks.looks[frame];
	child->total += bundle->total;
	child->total_count += bundle->total_count;
	return *number - 1;
}

/* What the next steps read. */
static void look_ahead(const struct dividing *dividing, const struct bundle *bundle)
{
	if (bundle->left)
		__builtin_prefetch(bundle->next);
	else if (bundle->entered < STRETCHES)
		__builtin_prefetch(stack_lists_stack(&dividing->stacks, bundle->begin));
}

static void find_in_span(const struct dividing *dividing, struct divider *divider, const struct span *span)
{
	vec_reserve(&divider->of_bundle, divider->of_bundle.len + span->count);
	for (uint32_t i = 0; i < span->count && i < AHEAD; i++)
		look_ahead(dividing, &span->bundles[i]);
	for (uint32_t i = 0; i < span->count; i++) {
		struct bundle *bundle = &span->bundles[i];
		if (i + AHEAD < span->count)
			look_ahead(dividing, bundle + AHEAD);
		uint32_t child = FOLD_NONE;
		if (bundle->left || stack_lists_go_on(&dividing->stacks, bundle))
			child = count_for_child(dividing, divider, bundle);
		else if (bundle->count > 1)
			stack_lists_untie(&dividing->stacks, bundle, &divider->untied);
		divider->of_bundle.data[divider->of_bundle.len++] = child;
	}
}

/* What goes on behind a part's end gets a span of its own. */
static void find_children(const struct dividing *dividing, struct divider *divider, struct heavy_node *node)
{
	divider->children.len = divider->of_bundle.len = divider->untied.len = 0;
	struct span **end = &node->spans;
	for (; *end; end = &(*end)->next)
		find_in_span(dividing, divider, *end);
	uint32_t untied = (uint32_t)divider->untied.len;
	if (!untied)
		return;
	struct bundle *bundles = arena_copy(&divider->arena, divider->untied.data, untied * sizeof(*bundles));
	*end = arena_alloc(&divider->arena, sizeof(**end));
	**end = (struct span){.bundles = bundles, .count = untied};
	find_in_span(dividing, divider, *end);
}

/* A span's bundles to its children, one step further on. */
static void divide_span(const struct dividing *dividing, struct divider *divider, const struct span *span, const uint32_t *of_bundle)
{
	struct child *children = divider->children.data;
	uint32_t at = 0;
	for (size_t i = 0; i < divider->children.len; i++)
		children[i].bundles = 0;
	for (uint32_t i = 0; i < span->count; i++)
		if (of_bundle[i] != FOLD_NONE)
			children[of_bundle[i]].bundles++;
	for (size_t i = 0; i < divider->children.len; i++) {
		uint32_t bundles = children[i].bundles;
		if (!bundles || children[i].node == FOLD_NONE)
			continue;
		give_span(divider, &divider->made.data[children[i].node], span->bundles + at, bundles);
		children[i].bundles = at;
		at += bundles;
	}
	vec_reserve(&divider->moved, span->count);
	struct bundle *moved = divider->moved.data;
	bool reverse = dividing->growing->options->reverse;
	for (uint32_t i = 0; i < span->count; i++) {
		if (of_bundle[i] == FOLD_NONE || children[of_bundle[i]].node == FOLD_NONE)
			continue;
		struct bundle *to = &moved[children[of_bundle[i]].bundles++];
		*to = span->bundles[i];
		to->left--;
		to->next += reverse ? 1 : -1;
	}
	memcpy(span->bundles, moved, at * sizeof(*moved));
}

static int by_rank(const void *a, const void *b, void *context)
{
	const struct child *children = context;
	uint32_t x = children[*(const uint32_t *)a].rank, y = children[*(const uint32_t *)b].rank;
	return (x > y) - (x < y);
}

/* Children that are heavy enough become nodes, in the order of their labels. */
static void make_children(struct divider *divider, uint32_t parent, uint32_t depth)
{
	struct child *children = divider->children.data;
	uint32_t *heavy = mem_alloc_array(divider->children.len + 1, sizeof(*heavy)), count = 0;
	for (uint32_t i = 0; i < divider->children.len; i++) {
		divider->child_of[children[i].rank] = 0;
		children[i].node = FOLD_NONE;
		if (children[i].total >= divider->least)
			heavy[count++] = i;
	}
	if (count > 1)
		qsort_r(heavy, count, sizeof(*heavy), by_rank, children);
	for (uint32_t i = 0; i < count; i++) {
		struct child *child = &children[heavy[i]];
		child->node = (uint32_t)divider->made.len;
		vec_push(&divider->made, (struct heavy_node){.parent = parent,
							     .depth = depth,
							     .rank = child->rank,
							     .frame = child->frame,
							     .total = child->total,
							     .total_count = child->total_count});
	}
	free(heavy);
}

/* The first sample of some stacks, and its frame in a node. */
struct first {
	uint64_t time;
	uint32_t place, frame;
	bool known;
};

/* Where samples of one time have no place, frames decide. */
static bool is_earlier(const struct dividing *dividing, const struct first *a, const struct first *b)
{
	const struct fold_frame *frames = dividing->growing->fold->frames;
	if (a->time != b->time)
		return a->time < b->time;
	return a->place != b->place ? a->place < b->place : fold_frame_compare(&frames[a->frame], &frames[b->frame]) < 0;
}

static void find_first(const struct dividing *dividing, const struct bundle *bundle, struct first *first)
{
	struct first other = {.frame = stack_lists_frame(&dividing->stacks, *bundle->next), .known = true};
	for (uint32_t i = 0; i < bundle->count; i++) {
		const struct loose_stack *stack = stack_lists_stack(&dividing->stacks, bundle->begin + i);
		other.time = fold_loose_time(dividing->growing->fold, stack);
		other.place = stack->place;
		if (!first->known || is_earlier(dividing, &other, first))
			*first = other;
	}
}

/* Which frame of several, that are described differently, a node is described by: that of its first sample. */
static void choose_frames(const struct dividing *dividing, struct divider *divider, const struct heavy_node *node)
{
	struct first *firsts = mem_zalloc_array(divider->children.len + 1, sizeof(*firsts));
	const uint32_t *of_bundle = divider->of_bundle.data;
	for (const struct span *span = node->spans; span; of_bundle += span->count, span = span->next) {
		for (uint32_t i = 0; i < span->count; i++) {
			const struct child *child = of_bundle[i] != FOLD_NONE ? &divider->children.data[of_bundle[i]] : NULL;
			if (child && child->mixed && child->total >= divider->least)
				find_first(dividing, &span->bundles[i], &firsts[of_bundle[i]]);
		}
	}
	for (size_t i = 0; i < divider->children.len; i++)
		if (firsts[i].known)
			divider->children.data[i].frame = firsts[i].frame;
	free(firsts);
}

static void divide(const struct dividing *dividing, struct divider *divider, struct heavy_node *node, uint32_t number)
{
	bool mixed = false;
	find_children(dividing, divider, node);
	for (size_t i = 0; i < divider->children.len; i++)
		mixed |= divider->children.data[i].mixed;
	if (mixed)
		choose_frames(dividing, divider, node);
	make_children(divider, number, node->depth + 1);
	const uint32_t *of_bundle = divider->of_bundle.data;
	for (const struct span *span = node->spans; span; of_bundle += span->count, span = span->next)
		divide_span(dividing, divider, span, of_bundle);
}

/* ---- the heaviest nodes ---- */

static void add_node(struct dividing *dividing, const struct heavy_node *node)
{
	unsigned int bucket = calltree_limit_bucket(node->total);
	uint32_t number = (uint32_t)dividing->nodes.len;
	vec_push(&dividing->nodes, *node);
	if (node->spans) {
		dividing->nodes.data[number].waiting = dividing->waiting[bucket];
		dividing->waiting[bucket] = number;
		dividing->heaviest = bucket > dividing->heaviest ? bucket : dividing->heaviest;
	}
	if (node->depth <= dividing->growing->options->deepest)
		calltree_limit_add(&dividing->limit, node->total, 1);
}

/* Some of the heaviest ones that wait. */
static void take_nodes(struct dividing *dividing, struct divider *divider)
{
	enum { NODES = 64, BUNDLES = 1 << 13 };
	uint32_t bundles = 0;
	divider->taken.len = divider->made.len = 0;
	for (unsigned int least = calltree_limit_bucket(dividing->least);; dividing->heaviest--) {
		for (uint32_t number; (number = dividing->waiting[dividing->heaviest]) != FOLD_NONE;) {
			if (dividing->heaviest < least || divider->taken.len == NODES || bundles > BUNDLES)
				return;
			struct heavy_node *node = &dividing->nodes.data[number];
			dividing->waiting[dividing->heaviest] = node->waiting;
			bundles += node->bundles;
			vec_push(&divider->taken, *node);
			vec_last(&divider->taken)->parent = number;
		}
		if (dividing->heaviest <= least)
			return;
	}
}

static void hand_over(struct dividing *dividing, const struct divider *divider)
{
	enum { RENEWED_AFTER = 1 << 10 };
	uint32_t first = (uint32_t)dividing->nodes.len;
	for (size_t i = 0; i < divider->made.len; i++) {
		struct heavy_node node = divider->made.data[i];
		if (node.parent & MADE)
			node.parent = first + (node.parent & ~MADE);
		add_node(dividing, &node);
	}
	if (dividing->nodes.len - dividing->renewed < RENEWED_AFTER)
		return;
	dividing->renewed = dividing->nodes.len;
	dividing->least = calltree_limit_least(&dividing->limit, dividing->growing->options->most);
}

/* The bundles of the node that is divided next. */
static void ask_for(const struct heavy_node *node)
{
	for (const struct span *span = node->spans; span; span = span->next)
		for (uint32_t i = 0; i < span->count && i < AHEAD; i += 2)
			__builtin_prefetch(&span->bundles[i]);
}

/* Children that aren't much lighter will be taken soon: they are divided while their stacks are in the cache. */
static void divide_taken(const struct dividing *dividing, struct divider *divider)
{
	enum { FEW = 1 << 11, LIGHTER = 2 };
	uint64_t least = divider->taken.data[0].total / LIGHTER;
	least = least > divider->least ? least : divider->least;
	for (size_t i = 0; i < divider->taken.len; i++) {
		if (i + 1 < divider->taken.len)
			ask_for(&divider->taken.data[i + 1]);
		divide(dividing, divider, &divider->taken.data[i], divider->taken.data[i].parent);
	}
	for (size_t i = 0; i < divider->made.len; i++) {
		struct heavy_node node = divider->made.data[i];
		if (node.total < least || node.bundles > FEW)
			continue;
		divider->made.data[i].spans = NULL;
		divide(dividing, divider, &node, (uint32_t)i | MADE);
	}
}

/* The heaviest first, until there are as many as are wanted. */
static void divide_heaviest(void *context, unsigned int worker, size_t item)
{
	struct dividing *dividing = context;
	struct divider *divider = &dividing->dividers[item];
	(void)worker;
	pthread_mutex_lock(&dividing->lock);
	for (;;) {
		take_nodes(dividing, divider);
		if (!divider->taken.len) {
			if (!dividing->working)
				break;
			pthread_cond_wait(&dividing->more, &dividing->lock);
			continue;
		}
		dividing->working++;
		divider->least = dividing->least;
		pthread_mutex_unlock(&dividing->lock);
		divide_taken(dividing, divider);
		pthread_mutex_lock(&dividing->lock);
		dividing->working--;
		hand_over(dividing, divider);
		pthread_cond_broadcast(&dividing->more);
	}
	pthread_mutex_unlock(&dividing->lock);
}

/* ---- the root, and the result ---- */

/* The threads' names are its children; bundles are in their order, in each list. */
static void divide_root(struct dividing *dividing)
{
	const struct tree_growing *growing = dividing->growing;
	struct divider *divider = &dividing->dividers[0];
	struct heavy_node *nodes = mem_zalloc_array(growing->label_count + 1, sizeof(*nodes));
	for (size_t l = 0; l < dividing->stacks.count; l++) {
		const struct stack_list *list = &dividing->stacks.lists[l];
		for (size_t begin = 0, end; begin < list->bundles.len; begin = end) {
			struct heavy_node *node = NULL;
			for (end = begin; end < list->bundles.len; end++) {
				const struct bundle *bundle = &list->bundles.data[end];
				uint32_t rank = growing->root_ranks[stack_lists_stack(&dividing->stacks, bundle->begin)->actor];
				if (node && rank != node->rank)
					break;
				node = &nodes[rank];
				node->rank = rank;
				node->total += bundle->total;
				node->total_count += bundle->total_count;
			}
			give_span(divider, node, list->bundles.data + begin, (uint32_t)(end - begin));
		}
	}
	for (size_t i = 0; i < growing->label_count; i++) {
		if (!nodes[i].spans)
			continue;
		nodes[i].depth = 1;
		nodes[i].frame = FOLD_NONE;
		add_node(dividing, &nodes[i]);
	}
	free(nodes);
}

static void begin_root(struct dividing *dividing)
{
	struct heavy_node root = {.parent = FOLD_NONE};
	for (size_t l = 0; l < dividing->stacks.count; l++) {
		struct stack_list *list = &dividing->stacks.lists[l];
		for (size_t i = 0; i < list->bundles.len; i++) {
			root.total += list->bundles.data[i].total;
			root.total_count += list->bundles.data[i].total_count;
		}
		if (list->bundles.len && !dividing->growing->root_ranks)
			give_span(&dividing->dividers[0], &root, list->bundles.data, (uint32_t)list->bundles.len);
	}
	add_node(dividing, &root);
	if (dividing->growing->root_ranks)
		divide_root(dividing);
}

static void set_weights(const struct heavy_node *from, struct calltree_node *node)
{
	node->self = node->total = from->total;
	node->self_count = node->total_count = from->total_count;
}

/* By number: the first child that is heavy enough; 0 = none. */
static uint32_t *find_first_children(const struct dividing *dividing, uint64_t least)
{
	const struct heavy_node *nodes = dividing->nodes.data;
	uint32_t *first = mem_zalloc_array(dividing->nodes.len, sizeof(*first));
	for (size_t i = dividing->nodes.len; i-- > 1;)
		if (nodes[i].total >= least)
			first[nodes[i].parent] = (uint32_t)i;
	return first;
}

/* The next child of the same parent; 0 = none. */
static uint32_t find_sibling(const struct dividing *dividing, uint32_t number, uint64_t least)
{
	const struct heavy_node *nodes = dividing->nodes.data;
	for (uint32_t i = number + 1; i < dividing->nodes.len && nodes[i].parent == nodes[number].parent; i++)
		if (nodes[i].total >= least)
			return i;
	return 0;
}

static struct calltree_node *make_node(const struct dividing *dividing, const struct heavy_node *from, struct calltree *tree)
{
	struct calltree_node *node = arena_zalloc(&tree->arena, sizeof(*node));
	node->label = dividing->growing->labels[from->rank].text;
	fold_tree_describe(dividing->growing, from->frame, node);
	set_weights(from, node);
	tree->nodes++;
	return node;
}

/* In the order in which views go through it, so that it lies in memory like that. */
static void make_tree(const struct dividing *dividing, struct calltree *tree)
{
	VEC(uint32_t) path = {0};
	uint32_t *first = find_first_children(dividing, tree->least), number = *first;
	struct calltree_node *parent = &tree->root, **link = &parent->children;
	set_weights(&dividing->nodes.data[0], parent);
	for (;;) {
		if (number) {
			struct calltree_node *node = *link = make_node(dividing, &dividing->nodes.data[number], tree);
			node->parent = parent;
			parent->self -= node->total;
			parent->self_count -= node->total_count;
			vec_push(&path, number);
			number = first[number];
			parent = node;
			link = &node->children;
			continue;
		}
		if (!path.len)
			break;
		number = find_sibling(dividing, path.data[--path.len], tree->least);
		link = &parent->sibling;
		parent = parent->parent;
	}
	vec_deinit(&path);
	free(first);
}

static void sum_modules(const struct dividing *dividing, struct calltree *tree)
{
	uint64_t *own = dividing->stacks.lists->own;
	for (size_t l = 1; l < dividing->stacks.count; l++)
		for (size_t i = 0; i < dividing->growing->fold->frame_count; i++)
			own[i] += dividing->stacks.lists[l].own[i];
	fold_tree_sum_modules(dividing->growing, own, tree);
}

static void divider_deinit(struct divider *divider)
{
	vec_deinit(&divider->taken);
	vec_deinit(&divider->made);
	vec_deinit(&divider->children);
	vec_deinit(&divider->of_bundle);
	vec_deinit(&divider->moved);
	vec_deinit(&divider->untied);
	free(divider->child_of);
	arena_deinit(&divider->arena);
}

void fold_tree_heaviest(const struct tree_growing *growing, struct calltree *tree)
{
	struct dividing dividing = {.growing = growing};
	unsigned int jobs = growing->fold->private->options.jobs;
	memset(dividing.waiting, 0xff, sizeof(dividing.waiting));
	pthread_mutex_init(&dividing.lock, NULL);
	pthread_cond_init(&dividing.more, NULL);
	stack_lists_init(&dividing.stacks, growing);
	dividing.dividers = mem_zalloc_array(jobs, sizeof(*dividing.dividers));
	for (unsigned int i = 0; i < jobs; i++)
		dividing.dividers[i].child_of = mem_zalloc_array(growing->label_count + 1, sizeof(uint32_t));
	begin_root(&dividing);
	pool_run(jobs, jobs, divide_heaviest, &dividing);
	tree->least = calltree_limit_least(&dividing.limit, growing->options->most);
	if (tree->least)
		sum_modules(&dividing, tree);
	for (unsigned int i = 0; i < jobs; i++)
		divider_deinit(&dividing.dividers[i]);
	free(dividing.dividers);
	stack_lists_deinit(&dividing.stacks);
	make_tree(&dividing, tree); /* most of the memory is free again */
	vec_deinit(&dividing.nodes);
	pthread_cond_destroy(&dividing.more);
	pthread_mutex_destroy(&dividing.lock);
}

/* Fold: all stacks as one call tree (flame graphs).
 *
 * Stacks are sorted by the ranks of their labels. Read one after the other they are the tree, then, in the order of its labels, and only
 * the path to the stack at hand is open. What a node weighs is known when it is closed: those that are too light for the picture never
 * become nodes of the result. How light that is tells a walk before, which only counts.
 *
 *	main parse read        main ── parse ── read        open: main, parse, token
 *	main parse token                  └──── token       closed: read
 *	main run               └──── run
 */
#include "analysis/report/fold_internal.h"
#include "analysis/sequence_sort.h"
#include "result/calltree_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node whose stacks aren't all seen. */
struct open_node {
	uint64_t total, total_count;
	uint64_t kept, kept_count; /* of the children that are nodes */
	uint32_t first;		   /* the smallest number of its entries: what it is called, and whose, is of that one */
	struct calltree_node *children, *last;
};

struct growing {
	struct fold *fold;
	const struct fold_calltree_options *options;
	uint32_t *frame_ranks; /* by frame: of its label */
	uint32_t *root_ranks;  /* by actor; NULL = stacks begin at the root */
	const char **labels;   /* by rank */
	uint32_t *entries;     /* numbers, in the order of their stacks */
	size_t count;
	VEC(uint32_t) stack;	    /* the last stack's ranks, outermost first */
	VEC(struct open_node) path; /* the root, then one for each of `stack` */
	struct calltree *tree;	    /* NULL: weights are counted in `limit` */
	struct calltree_limit limit;
};

/* A thread's label; spaces become underscores, as in the public scripts: a folded line has one space, before its count. */
static const char *root_label(struct fold *fold, const struct fold_actor *actor, const struct fold_calltree_options *options)
{
	char text[96];
	if (options->by_thread)
		snprintf(text, sizeof(text), "%s-%u/%u", untrusted_raw(actor->comm), actor->thread->pid, actor->thread->tid);
	else
		snprintf(text, sizeof(text), "%s", untrusted_raw(actor->comm));
	for (char *at = text; *at; at++)
		if (*at == ' ' || *at == ';')
			*at = *at == ' ' ? '_' : ':';
	return intern_string(&fold->private->names, text);
}

/* ---- ranks of labels ---- */

struct labels {
	VEC(const char *) distinct;
	struct map64 numbers; /* by pointer: they are interned */
};

static uint32_t number_label(struct labels *labels, const char *label)
{
	bool new;
	uint64_t *slot = map64_insert(&labels->numbers, (uintptr_t)label, &new);
	if (new) {
		*slot = labels->distinct.len;
		vec_push(&labels->distinct, label);
	}
	return (uint32_t)*slot;
}

static int by_label(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Numbers become ranks. */
static void rank(const uint32_t *ranks, uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = ranks[numbers[i]];
}

static void rank_labels(struct growing *growing)
{
	struct fold *fold = growing->fold;
	const struct fold_calltree_options *options = growing->options;
	struct labels labels = {0};
	growing->frame_ranks = mem_alloc_array(fold->frame_count + 1, sizeof(*growing->frame_ranks));
	for (uint32_t i = 0; i < fold->frame_count; i++)
		growing->frame_ranks[i] = number_label(&labels, fold_frame_name(fold, i));
	if (options->by_comm || options->by_thread) {
		growing->root_ranks = mem_alloc_array(fold->actor_count + 1, sizeof(*growing->root_ranks));
		for (uint32_t i = 0; i < fold->actor_count; i++)
			growing->root_ranks[i] = number_label(&labels, root_label(fold, &fold->actors[i], options));
	}
	size_t count = labels.distinct.len;
	uint32_t *ranks = mem_alloc_array(count + 1, sizeof(*ranks));
	if (count)
		qsort(labels.distinct.data, count, sizeof(*labels.distinct.data), by_label);
	for (uint32_t i = 0; i < count; i++)
		ranks[*map64_find(&labels.numbers, (uintptr_t)labels.distinct.data[i])] = i;
	rank(ranks, growing->frame_ranks, fold->frame_count);
	if (growing->root_ranks)
		rank(ranks, growing->root_ranks, fold->actor_count);
	growing->labels = labels.distinct.data;
	map64_deinit(&labels.numbers);
	free(ranks);
}

/* ---- stacks in order ---- */

/* The frame at a depth, counted from the root's children on, less the thread's. */
static uint32_t frame_at(const struct growing *growing, const struct fold_entry *entry, uint32_t depth)
{
	return fold_frame_id(growing->fold, entry, growing->options->reverse ? depth : fold_depth(growing->fold, entry) - 1 - depth);
}

static uint64_t element(const struct growing *growing, const struct fold_entry *entry, uint32_t frames, uint32_t depth)
{
	if (growing->root_ranks && !depth--)
		return growing->root_ranks[entry->actor] + (uint64_t)1;
	return depth < frames
		       ? growing->frame_ranks[fold_frame_id(growing->fold, entry, growing->options->reverse ? depth : frames - 1 - depth)] +
				 (uint64_t)1
		       : 0;
}

static uint64_t key_of(const void *context, uint32_t number, uint32_t depth)
{
	const struct growing *growing = context;
	const struct fold_entry *entry = &growing->fold->entries[number];
	uint32_t frames = fold_depth(growing->fold, entry);
	return element(growing, entry, frames, depth) << 32 | element(growing, entry, frames, depth + 1);
}

static void sort_entries(struct growing *growing)
{
	const struct fold *fold = growing->fold;
	const struct sequences sequences = {.key = key_of, .context = growing, .jobs = fold->private->options.jobs};
	growing->entries = mem_alloc_array(fold->entry_count + 1, sizeof(*growing->entries));
	for (uint32_t i = 0; i < fold->entry_count; i++)
		if (growing->options->event < 0 || fold->entries[i].event == growing->options->event)
			growing->entries[growing->count++] = i;
	sequences_sort(&sequences, growing->entries, growing->count);
}

/* ---- nodes ---- */

/* What its first entry says of the node at this depth. */
static void describe(const struct growing *growing, uint32_t first, size_t depth, struct calltree_node *node)
{
	node->kind = FRAME_OTHER;
	node->label = growing->labels[growing->stack.data[depth - 1]];
	if (growing->root_ranks && depth == 1)
		return;
	uint32_t frame = frame_at(growing, &growing->fold->entries[first], (uint32_t)(depth - 1 - !!growing->root_ranks));
	const struct map *map = growing->fold->frames[frame].map;
	node->kind = (uint8_t)fold_frame_kind(growing->fold, frame);
	node->module = map ? map->dso->short_name : NULL;
}

static void set_weights(const struct open_node *open, struct calltree_node *node)
{
	node->total = open->total;
	node->total_count = open->total_count;
	node->self = open->total - open->kept;
	node->self_count = open->total_count - open->kept_count;
	node->children = open->children;
	for (struct calltree_node *child = node->children; child; child = child->sibling)
		child->parent = node;
}

/* The innermost open node, which isn't the root. */
static void close_node(struct growing *growing)
{
	size_t depth = growing->path.len - 1;
	const struct open_node *open = &growing->path.data[depth];
	struct open_node *parent = &growing->path.data[depth - 1];
	parent->total += open->total;
	parent->total_count += open->total_count;
	parent->first = open->first < parent->first ? open->first : parent->first;
	growing->path.len--;
	if (!growing->tree) {
		if (depth <= growing->options->deepest)
			calltree_limit_add(&growing->limit, open->total);
		return;
	}
	if (open->total < growing->tree->least)
		return;
	struct calltree_node *node = arena_zalloc(&growing->tree->arena, sizeof(*node));
	describe(growing, open->first, depth, node);
	set_weights(open, node);
	growing->tree->nodes++;
	parent->kept += node->total;
	parent->kept_count += node->total_count;
	*(parent->last ? &parent->last->sibling : &parent->children) = node;
	parent->last = node;
}

/* The path becomes the entry's. */
static void follow(struct growing *growing, uint32_t number)
{
	const struct fold_entry *entry = &growing->fold->entries[number];
	uint32_t frames = fold_depth(growing->fold, entry), depth = frames + !!growing->root_ranks, shared = 0;
	while (shared < depth && shared + 1 < growing->path.len &&
	       growing->stack.data[shared] + (uint64_t)1 == element(growing, entry, frames, shared))
		shared++;
	while (growing->path.len > shared + 1)
		close_node(growing);
	growing->stack.len = shared;
	for (uint32_t at = shared; at < depth; at++) {
		vec_push(&growing->stack, (uint32_t)(element(growing, entry, frames, at) - 1));
		vec_push(&growing->path, (struct open_node){.first = UINT32_MAX});
	}
}

/* All stacks: counts what nodes weigh, or makes the tree. */
static void walk(struct growing *growing)
{
	growing->path.len = growing->stack.len = 0;
	vec_push(&growing->path, (struct open_node){.first = UINT32_MAX});
	for (size_t i = 0; i < growing->count; i++) {
		enum { AHEAD = 16 };
		uint32_t number = growing->entries[i];
		const struct fold_entry *entry = &growing->fold->entries[number];
		if (i + AHEAD < growing->count)
			__builtin_prefetch(&growing->fold->entries[growing->entries[i + AHEAD]]);
		follow(growing, number);
		struct open_node *last = vec_last(&growing->path);
		last->total += growing->options->count ? entry->count : entry->period;
		last->total_count += entry->count;
		last->first = number < last->first ? number : last->first;
	}
	while (growing->path.len > 1)
		close_node(growing);
}

/* What ends in each file, as the legend of a picture needs it. */
static void sum_modules(const struct growing *growing, struct calltree *tree)
{
	struct map64 places = {0};
	VEC(struct calltree_module) modules = {0};
	for (size_t i = 0; i < growing->count; i++) {
		const struct fold_entry *entry = &growing->fold->entries[growing->entries[i]];
		uint32_t frames = fold_depth(growing->fold, entry);
		const struct map *map = frames ? growing->fold->frames[frame_at(growing, entry, frames - 1)].map : NULL;
		bool new;
		if (!map)
			continue;
		uint64_t *place = map64_insert(&places, (uintptr_t)map->dso->short_name, &new);
		if (new) {
			*place = modules.len;
			vec_push(&modules, (struct calltree_module){.name = map->dso->short_name});
		}
		modules.data[*place].self += growing->options->count ? entry->count : entry->period;
	}
	tree->module_count = modules.len;
	tree->modules = arena_alloc(&tree->arena, (modules.len + 1) * sizeof(*tree->modules));
	for (size_t i = 0; i < modules.len; i++)
		tree->modules[i] = modules.data[i];
	vec_deinit(&modules);
	map64_deinit(&places);
}

struct calltree *fold_calltree(struct fold *fold, const struct fold_calltree_options *options)
{
	struct growing growing = {.fold = fold, .options = options};
	struct calltree *tree = calltree_create();
	rank_labels(&growing);
	sort_entries(&growing);
	if (options->most) {
		walk(&growing);
		calltree_limit_add(&growing.limit, growing.path.data[0].total);
		tree->least = calltree_limit_least(&growing.limit, options->most);
	}
	if (tree->least)
		sum_modules(&growing, tree);
	growing.tree = tree;
	walk(&growing);
	set_weights(&growing.path.data[0], &tree->root);
	vec_deinit(&growing.stack);
	vec_deinit(&growing.path);
	free(growing.frame_ranks);
	free(growing.root_ranks);
	free(growing.labels);
	free(growing.entries);
	return tree;
}

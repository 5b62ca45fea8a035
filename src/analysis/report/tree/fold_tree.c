/* Fold: all stacks as one call tree (flame graphs).
 *
 * Stacks are sorted by the ranks of their labels. Read one after the other they are the tree, then, in the order of its labels, and only
 * the path to the stack at hand is open. How many labels a stack shares with the one before says which nodes are closed: labels aren't
 * looked at again, and nodes one below the other with the same stacks are one run until a stack leaves it. What a node weighs is known
 * when it is closed: those that are too light for the picture never become nodes of the result. How light that is tells a walk before,
 * which only counts.
 *
 *	main parse read        main ── parse ── read        open: main, parse, token
 *	main parse token                  └──── token       closed: read
 *	main run               └──── run
 */
#include "analysis/report/tree/fold_tree.h"

#include "analysis/sequence_sort.h"
#include "base/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_AT_ONCE = 1 << 14, HEAVIEST_SHARE = 4 };

/* A stack beside the one before it. */
struct stack_step {
	uint32_t shared; /* how many labels both begin with */
	uint32_t depth;	 /* how many it has */
};

/* Nodes one below the other that have the same stacks, so far, and those aren't all seen. It begins below the end of the run before. */
struct open_run {
	uint32_t end;	/* depth of its last node; 0 = the root */
	uint32_t first; /* the smallest number of its entries: what nodes are called, and whose, is of that one */
	uint64_t total, total_count;
	uint64_t kept, kept_count; /* of the last node's children that are nodes of the result */
	struct calltree_node *children, *last;
};

/* A thread's label; spaces become underscores, as in the public scripts: a folded line has one space, before its count. */
static const char *root_label(struct fold *fold, const struct fold_actor *actor, const struct fold_calltree_options *options)
{
	char text[96];
	if (options->by_thread)
		snprintf(text, sizeof(text), "%s-%u/%u", untrusted_raw(actor->comm), actor->thread->pid, actor->thread->tid);
	else
		snprintf(text, sizeof(text), "%s", untrusted_raw(actor->comm));
	for (char *at = text; *at && !options->raw_roots; at++)
		if (*at == ' ' || *at == ';')
			*at = *at == ' ' ? '_' : ':';
	return intern_string(&fold->private->names, text);
}

/* ---- ranks of labels ---- */

struct labels {
	VEC(struct label) distinct;
	struct map64 numbers; /* by their pointers */
};

static uint64_t label_key(const struct label *label)
{
	return hash_combine(hash_combine((uintptr_t)label->text, (uintptr_t)label->file), label->kind);
}

static uint32_t number_label(struct labels *labels, const struct label *label)
{
	bool new;
	uint64_t *slot = map64_insert(&labels->numbers, label_key(label), &new);
	if (new) {
		*slot = labels->distinct.len;
		vec_push(&labels->distinct, *label);
	}
	return (uint32_t)*slot;
}

static int by_label(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	int order = x->text == y->text ? 0 : strcmp(x->text, y->text);
	if (!order && x->file != y->file)
		order = !x->file ? -1 : !y->file ? 1 : strcmp(x->file, y->file);
	return order ? order : x->kind - y->kind;
}

static struct label label_of_frame(const struct tree_growing *growing, uint32_t frame)
{
	struct label label = {.text = fold_frame_name(growing->fold, frame)};
	const struct map *map = growing->fold->frames[frame].map;
	if (growing->options->by_file) {
		label.file = map ? map->dso->short_name : NULL;
		label.kind = (uint8_t)fold_frame_kind(growing->fold, frame);
	}
	return label;
}

/* Numbers become ranks. */
static void rank(const uint32_t *ranks, uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = ranks[numbers[i]];
}

static void rank_labels(struct tree_growing *growing)
{
	struct fold *fold = growing->fold;
	const struct fold_calltree_options *options = growing->options;
	struct labels labels = {0};
	growing->frame_ranks = mem_alloc_array(fold->frame_count + 1, sizeof(*growing->frame_ranks));
	for (uint32_t i = 0; i < fold->frame_count; i++) {
		const struct label label = label_of_frame(growing, i);
		growing->frame_ranks[i] = number_label(&labels, &label);
	}
	if (options->by_comm || options->by_thread) {
		growing->root_ranks = mem_alloc_array(fold->actor_count + 1, sizeof(*growing->root_ranks));
		for (uint32_t i = 0; i < fold->actor_count; i++) {
			const struct label label = {.text = root_label(fold, &fold->actors[i], options), .kind = FRAME_OTHER};
			growing->root_ranks[i] = number_label(&labels, &label);
		}
	}
	size_t count = labels.distinct.len;
	uint32_t *ranks = mem_alloc_array(count + 1, sizeof(*ranks));
	if (count)
		qsort(labels.distinct.data, count, sizeof(*labels.distinct.data), by_label);
	for (uint32_t i = 0; i < count; i++)
		ranks[*map64_find(&labels.numbers, label_key(&labels.distinct.data[i]))] = i;
	rank(ranks, growing->frame_ranks, fold->frame_count);
	if (growing->root_ranks)
		rank(ranks, growing->root_ranks, fold->actor_count);
	growing->labels = labels.distinct.data;
	growing->label_count = labels.distinct.len;
	map64_deinit(&labels.numbers);
	free(ranks);
}

/* ---- stacks in order ---- */

static uint64_t key_of(const void *context, uint32_t number, uint32_t depth)
{
	const struct tree_growing *growing = context;
	const struct fold_entry *entry = &growing->fold->entries[number];
	const struct stack_frames frames = fold_tree_frames(growing, entry);
	return fold_tree_element(growing, entry, &frames, depth) << 32 | fold_tree_element(growing, entry, &frames, depth + 1);
}

/* From a stack to the next one; `before` may be NULL. */
static struct stack_step step_to(const struct tree_growing *growing, const struct fold_entry *before, const struct fold_entry *entry)
{
	const struct stack_frames frames = fold_tree_frames(growing, entry);
	struct stack_step step = {.depth = frames.count + !!growing->root_ranks};
	if (!before)
		return step;
	const struct stack_frames others = fold_tree_frames(growing, before);
	uint64_t label;
	while ((label = fold_tree_element(growing, entry, &frames, step.shared)) &&
	       label == fold_tree_element(growing, before, &others, step.shared))
		step.shared++;
	return step;
}

static void step_range(void *context, unsigned int worker, size_t item)
{
	enum { AHEAD = 16 };
	const struct tree_growing *growing = context;
	const struct fold_entry *entries = growing->fold->entries;
	size_t begin = item * STEPS_AT_ONCE, end = begin + STEPS_AT_ONCE < growing->count ? begin + STEPS_AT_ONCE : growing->count;
	(void)worker;
	for (size_t i = begin; i < end; i++) {
		if (i + AHEAD < growing->count)
			__builtin_prefetch(&entries[growing->entries[i + AHEAD]]);
		growing->steps[i] = step_to(growing, i ? &entries[growing->entries[i - 1]] : NULL, &entries[growing->entries[i]]);
	}
}

static bool any_shared(const struct fold *fold)
{
	for (size_t i = 0; i < fold->piece_count; i++)
		if (fold->pieces[i].shared)
			return true;
	return false;
}

/* Pieces are looked at from both ends, many times: where they share frames, they get all of theirs while the tree grows. */
static void make_whole(struct tree_growing *growing)
{
	const struct fold *fold = growing->fold;
	size_t count = 0;
	growing->pieces = fold->pieces;
	growing->frames = fold->frame_ids;
	if (!any_shared(fold))
		return;
	growing->whole_pieces = mem_alloc_array(fold->piece_count, sizeof(*growing->whole_pieces));
	for (size_t i = 0; i < fold->piece_count; i++) {
		growing->whole_pieces[i] = (struct fold_piece){.frames = (uint32_t)count, .frame_count = fold->pieces[i].frame_count};
		count += fold->pieces[i].frame_count;
	}
	if (count > UINT32_MAX)
		mem_exhausted();
	growing->whole_frames = mem_alloc_array(count, sizeof(*growing->whole_frames));
	for (size_t i = 0; i < fold->piece_count; i++)
		fold_piece_copy(fold, &fold->pieces[i], growing->whole_frames + growing->whole_pieces[i].frames);
	growing->pieces = growing->whole_pieces;
	growing->frames = growing->whole_frames;
}

static void list_entries(struct tree_growing *growing)
{
	const struct fold *fold = growing->fold;
	growing->entries = mem_alloc_array(fold->entry_count + 1, sizeof(*growing->entries));
	for (uint32_t i = 0; i < fold->entry_count; i++)
		if (growing->options->event < 0 || fold->entries[i].event == growing->options->event)
			growing->entries[growing->count++] = i;
}

static void sort_entries(struct tree_growing *growing)
{
	const struct fold *fold = growing->fold;
	unsigned int jobs = fold->private->options.jobs;
	const struct sequences sequences = {.key = key_of, .context = growing, .jobs = jobs};
	sequences_sort(&sequences, growing->entries, growing->count);
	growing->steps = mem_alloc_array(growing->count + 1, sizeof(*growing->steps));
	pool_run(jobs, (growing->count + STEPS_AT_ONCE - 1) / STEPS_AT_ONCE, step_range, growing);
}

/* ---- nodes ---- */

void fold_tree_describe(const struct tree_growing *growing, uint32_t frame, struct calltree_node *node)
{
	node->kind = FRAME_OTHER;
	if (frame == FOLD_NONE)
		return;
	const struct map *map = growing->fold->frames[frame].map;
	node->kind = (uint8_t)fold_frame_kind(growing->fold, frame);
	node->module = map ? map->dso->short_name : NULL;
}

/* What the entry `first`, the first one of a node at this depth, says of it. */
static void describe_by_entry(const struct tree_growing *growing, uint32_t first, uint32_t depth, struct calltree_node *node)
{
	const struct fold_entry *entry = &growing->fold->entries[first];
	const struct stack_frames frames = fold_tree_frames(growing, entry);
	bool thread = growing->root_ranks && depth == 1;
	node->label = growing->labels[fold_tree_element(growing, entry, &frames, depth - 1) - 1].text;
	fold_tree_describe(growing, thread ? FOLD_NONE : fold_tree_frame(growing, &frames, depth - 1 - !!growing->root_ranks), node);
}

static void set_weights(const struct open_run *open, struct calltree_node *node)
{
	node->total = open->total;
	node->total_count = open->total_count;
	node->self = open->total - open->kept;
	node->self_count = open->total_count - open->kept_count;
	node->children = open->children;
	for (struct calltree_node *child = node->children; child; child = child->sibling)
		child->parent = node;
}

static void add_child(struct open_run *parent, struct calltree_node *node)
{
	parent->kept += node->total;
	parent->kept_count += node->total_count;
	*(parent->last ? &parent->last->sibling : &parent->children) = node;
	parent->last = node;
}

/* The run's nodes below `depth` are known: they become children of the node there, or count for the limit. */
static void close_below(struct tree_growing *growing, struct open_run *parent, const struct open_run *run, uint32_t depth)
{
	if (!growing->tree) {
		uint32_t deepest = run->end < growing->options->deepest ? run->end : growing->options->deepest;
		if (deepest > depth)
			calltree_limit_add(&growing->limit, run->total, deepest - depth);
		return;
	}
	if (run->total < growing->tree->least)
		return;
	struct open_run below = *run;
	for (uint32_t at = run->end; at > depth; at--) {
		struct calltree_node *node = arena_zalloc(&growing->tree->arena, sizeof(*node));
		describe_by_entry(growing, run->first, at, node);
		set_weights(&below, node);
		growing->tree->nodes++;
		below.children = below.last = NULL;
		below.kept = below.kept_count = 0;
		add_child(&below, node);
	}
	add_child(parent, below.last);
}

/* Nodes below `depth` have all their stacks. */
static void close_to(struct tree_growing *growing, uint32_t depth)
{
	while (vec_last(&growing->path)->end > depth) {
		struct open_run run = *vec_last(&growing->path);
		struct open_run *parent = &growing->path.data[growing->path.len - 2];
		if (parent->end < depth) {
			/* The upper part goes on, with one child. */
			struct open_run *upper = vec_last(&growing->path);
			upper->end = depth;
			upper->children = upper->last = NULL;
			upper->kept = upper->kept_count = 0;
			close_below(growing, upper, &run, depth);
			return;
		}
		parent->total += run.total;
		parent->total_count += run.total_count;
		parent->first = run.first < parent->first ? run.first : parent->first;
		close_below(growing, parent, &run, parent->end);
		growing->path.len--;
	}
}

/* All stacks: counts what nodes weigh, or makes the tree. */
static void walk(struct tree_growing *growing)
{
	growing->path.len = 0;
	vec_push(&growing->path, (struct open_run){.first = UINT32_MAX});
	for (size_t i = 0; i < growing->count; i++) {
		enum { AHEAD = 16 };
		uint32_t number = growing->entries[i];
		const struct fold_entry *entry = &growing->fold->entries[number];
		if (i + AHEAD < growing->count)
			__builtin_prefetch(&growing->fold->entries[growing->entries[i + AHEAD]]);
		const struct stack_step *step = &growing->steps[i];
		close_to(growing, step->shared);
		if (step->depth > step->shared)
			vec_push(&growing->path, (struct open_run){.end = step->depth, .first = UINT32_MAX});
		struct open_run *last = vec_last(&growing->path);
		last->total += growing->options->count ? entry->count : entry->period;
		last->total_count += entry->count;
		last->first = number < last->first ? number : last->first;
	}
	close_to(growing, 0);
}

/* ---- where stacks end ---- */

/* A node on the way, and the first of its children that no stack has come to yet. */
struct placed {
	uint32_t number;
	const struct calltree_node *next;
};

static bool is_labelled(const struct tree_growing *growing, const struct calltree_node *node, const struct label *label)
{
	if (node->label != label->text)
		return false;
	return !growing->options->by_file || (node->module == label->file && node->kind == label->kind);
}

/* Children come in the order of their labels, as stacks do: the next one is meant, or one that was left out. */
static const struct calltree_node *next_child(const struct tree_growing *growing, struct placed *placed, uint64_t rank)
{
	const struct calltree_node *child = placed->next;
	if (!child || !is_labelled(growing, child, &growing->labels[rank - 1]))
		return NULL;
	placed->next = child->sibling;
	return child;
}

static void find_places(const struct tree_growing *growing, const struct calltree *tree, struct fold_calltree_places *places)
{
	VEC(struct placed) path = {0};
	places->by_entry = mem_alloc_array(growing->fold->entry_count + 1, sizeof(*places->by_entry));
	memset(places->by_entry, 0xff, growing->fold->entry_count * sizeof(*places->by_entry));
	vec_push(&places->nodes, &tree->root);
	vec_push(&places->parents, 0);
	vec_push(&path, (struct placed){.next = tree->root.children});
	for (size_t i = 0; i < growing->count; i++) {
		const struct fold_entry *entry = &growing->fold->entries[growing->entries[i]];
		const struct stack_frames frames = fold_tree_frames(growing, entry);
		const struct stack_step *step = &growing->steps[i];
		if (path.len > step->shared + (size_t)1)
			path.len = step->shared + (size_t)1;
		for (uint32_t depth = step->shared; path.len == depth + (size_t)1 && depth < step->depth; depth++) {
			const struct calltree_node *child =
				next_child(growing, vec_last(&path), fold_tree_element(growing, entry, &frames, depth));
			if (!child)
				break;
			vec_push(&places->parents, vec_last(&path)->number);
			vec_push(&path, (struct placed){.number = (uint32_t)places->nodes.len, .next = child->children});
			vec_push(&places->nodes, child);
		}
		places->by_entry[growing->entries[i]] = vec_last(&path)->number;
	}
	vec_deinit(&path);
}

void fold_calltree_places_deinit(struct fold_calltree_places *places)
{
	vec_deinit(&places->nodes);
	vec_deinit(&places->parents);
	free(places->by_entry);
}

void fold_tree_sum_modules(const struct tree_growing *growing, const uint64_t *own, struct calltree *tree)
{
	struct map64 places = {0};
	VEC(struct calltree_module) modules = {0};
	for (size_t i = 0; i < growing->fold->frame_count; i++) {
		const struct map *map = growing->fold->frames[i].map;
		bool new;
		if (!map || !own[i])
			continue;
		uint64_t *place = map64_insert(&places, (uintptr_t)map->dso->short_name, &new);
		if (new) {
			*place = modules.len;
			vec_push(&modules, (struct calltree_module){.name = map->dso->short_name});
		}
		modules.data[*place].self += own[i];
	}
	tree->module_count = modules.len;
	tree->modules = arena_alloc(&tree->arena, (modules.len + 1) * sizeof(*tree->modules));
	for (size_t i = 0; i < modules.len; i++)
		tree->modules[i] = modules.data[i];
	vec_deinit(&modules);
	map64_deinit(&places);
}

static void sum_modules(const struct tree_growing *growing, struct calltree *tree)
{
	uint64_t *own = mem_zalloc_array(growing->fold->frame_count + 1, sizeof(*own));
	for (size_t i = 0; i < growing->count; i++) {
		const struct fold_entry *entry = &growing->fold->entries[growing->entries[i]];
		const struct stack_frames frames = fold_tree_frames(growing, entry);
		if (frames.count)
			own[fold_tree_frame(growing, &frames, frames.count - 1)] += growing->options->count ? entry->count : entry->period;
	}
	fold_tree_sum_modules(growing, own, tree);
	free(own);
}

/* From stacks in order. */
static void grow(struct tree_growing *growing, struct calltree *tree)
{
	sort_entries(growing);
	if (growing->options->most) {
		walk(growing);
		calltree_limit_add(&growing->limit, growing->path.data[0].total, 1);
		tree->least = calltree_limit_least(&growing->limit, growing->options->most);
	}
	growing->tree = tree;
	walk(growing);
	set_weights(&growing->path.data[0], &tree->root);
	if (tree->least)
		sum_modules(growing, tree);
	if (growing->options->places)
		find_places(growing, tree, growing->options->places);
}

/* From entries: with few stacks, too many nodes are heavy enough. */
static void grow_from_entries(struct tree_growing *growing, struct calltree *tree)
{
	const struct fold_calltree_options *options = growing->options;
	make_whole(growing);
	list_entries(growing);
	if (options->most && growing->count / HEAVIEST_SHARE > options->most && !options->places)
		fold_tree_heaviest(growing, tree);
	else
		grow(growing, tree);
}

struct calltree *fold_calltree(struct fold *fold, const struct fold_calltree_options *options)
{
	struct tree_growing growing = {.fold = fold, .options = options};
	struct calltree *tree = calltree_create();
	rank_labels(&growing);
	if (fold->private->loose.len)
		fold_tree_heaviest(&growing, tree);
	else
		grow_from_entries(&growing, tree);
	free(growing.steps);
	vec_deinit(&growing.path);
	free(growing.frame_ranks);
	free(growing.root_ranks);
	free(growing.labels);
	free(growing.whole_pieces);
	free(growing.whole_frames);
	free(growing.entries);
	return tree;
}

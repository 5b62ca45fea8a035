/* The call graph of one row: subtrees merged.
 *
 * Samples taken at the row's place itself are shown with their whole stacks: a trie of the row's own. The others are subtrees of the trie
 * of all stacks, less the row's own stacks. Sets of nodes are merged from the top: children of the same frame are one set, and only sets
 * that reach the limit are looked at further. So the work goes with the nodes that are shown, not with the samples below them.
 */
#include "analysis/report/callgraph_internal.h"
#include "analysis/report/fold_internal.h"
#include "analysis/report/rows_internal.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* A node of the trie of all stacks, less the row's own stacks; or of the row's own trie. */
struct element {
	uint32_t first, last; /* stacks of its trie */
	uint32_t depth : 31;
	uint32_t own : 1;
};

/* Elements with the same frame. */
struct group {
	struct trie_weight weight;
	uint32_t frame;
	uint32_t elements;
	uint32_t first; /* entry; only where nothing else decides the order */
	bool tied;
};

struct group_list {
	VEC(struct group) groups;
};

struct found {
	struct element element;
	uint32_t frame;
};

struct grower {
	uint32_t *group_of;	      /* by frame: group + 1 while children are grouped, else 0 */
	VEC(struct found) found;      /* the children that are being grouped */
	VEC(struct element) elements; /* the sets of the nodes that are being grown, outer ones first */
};

struct grower *grower_create(const struct callgraphs *graphs)
{
	struct grower *grower = mem_zalloc(sizeof(*grower));
	grower->group_of = mem_zalloc_table(graphs->rows->fold->frame_count + 1, sizeof(*grower->group_of));
	return grower;
}

void grower_destroy(struct grower *grower)
{
	free(grower->group_of);
	vec_deinit(&grower->found);
	vec_deinit(&grower->elements);
	free(grower);
}

/* To be compared with that of a frame of the same file. The address that a frame with a symbol has is that of some occurrence: it decides
 * nothing. */
static uint64_t address_among(const struct fold_frame *frame, const struct fold_frame *other)
{
	if (frame->symbol)
		return frame->symbol->start;
	return other->symbol && frame->map ? map_to_dso(frame->map, frame->ip) : frame->ip;
}

/* Equal weights: larger files' numbers, then larger addresses first; those in one function where frames are told apart by them. */
static int compare_frames(const struct fold *fold, const struct fold_frame *a, const struct fold_frame *b)
{
	int64_t x = a->map ? (int64_t)a->map->dso->index : -1, y = b->map ? (int64_t)b->map->dso->index : -1;
	if (x != y)
		return x > y ? -1 : 1;
	uint64_t u = address_among(a, b), v = address_among(b, a);
	if (u == v && a->symbol && b->symbol && fold->private->options.by_address) {
		u = map_to_dso(a->map, a->ip);
		v = map_to_dso(b->map, b->ip);
	}
	return u > v ? -1 : u < v;
}

/* Where the weight doesn't decide the order. */
static bool weighs_same(const struct callgraphs *graphs, const struct group *a, const struct group *b)
{
	return graphs->options.mode == CALLGRAPH_PRINT_FLAT || graphs->options.mode == CALLGRAPH_PRINT_FOLDED ||
	       a->weight.period == b->weight.period;
}

static int compare_groups(const void *x, const void *y, void *context)
{
	const struct group *a = x, *b = y;
	const struct callgraphs *graphs = context;
	const struct fold *fold = graphs->rows->fold;
	if (!weighs_same(graphs, a, b))
		return a->weight.period > b->weight.period ? -1 : 1;
	return compare_frames(fold, &fold->frames[a->frame], &fold->frames[b->frame]) ?: (a->first > b->first) - (a->first < b->first);
}

/* The tree of one row. */
struct graph_growth {
	const struct callgraphs *graphs;
	struct grower *grower;
	struct calltree *tree;
	struct callgraph_trie own; /* of its own stacks */
	bool shallow;
};

static const struct callgraph_trie *trie_of(const struct graph_growth *growing, const struct element *element)
{
	return element->own ? &growing->own : &growing->graphs->trie;
}

/* The first of the own stacks from `low` on that isn't before `position`: in steps that double, since it is near. */
static uint32_t own_from(const struct graph_growth *growing, uint32_t low, uint32_t position)
{
	const uint32_t *positions = growing->own.positions;
	uint32_t count = (uint32_t)growing->own.count, step = 1, high = low;
	while (high < count && positions[high] < position) {
		low = high + 1;
		high = count - low > step ? low + step : count;
		step *= 2;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (positions[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Less the row's own stacks, which are looked for from *low on: elements of a set ascend. False when nothing is left. */
static bool weigh(const struct graph_growth *growing, const struct element *element, uint32_t *low, struct trie_weight *ret)
{
	*ret = callgraph_trie_sum(trie_of(growing, element), element->first, element->last);
	if (element->own)
		return true;
	uint32_t first = *low = own_from(growing, *low, element->first);
	*low = own_from(growing, first, element->last);
	if (element->last - element->first == *low - first)
		return false;
	struct trie_weight own = callgraph_trie_sum(&growing->own, first, *low);
	ret->period -= own.period;
	ret->count -= own.count;
	return true;
}

static void add_to_group(struct graph_growth *growing, struct group_list *list, uint32_t frame, struct trie_weight weight)
{
	uint32_t *number = &growing->grower->group_of[frame];
	if (!*number) {
		vec_push(&list->groups, (struct group){.frame = frame, .first = UINT32_MAX});
		*number = (uint32_t)list->groups.len;
	}
	struct group *group = &list->groups.data[*number - 1];
	group->weight.period += weight.period;
	group->weight.count += weight.count;
	group->elements++;
}

static const struct fold_entry *entry_of(const struct graph_growth *growing, const struct element *element)
{
	return stack_order_entry(growing->graphs->order, callgraph_trie_position(trie_of(growing, element), element->first));
}

/* Where the frame of a stack at `depth` is; NULL behind its end. */
static const uint32_t *place_of_frame(const struct stack_order *order, const struct fold_entry *entry, uint32_t depth)
{
	const struct fold *fold = order->fold;
	for (int i = 0; i < 2; i++) {
		uint32_t number = order->outside_in == !i ? entry->outer : entry->inner;
		if (number == FOLD_NONE)
			continue;
		const struct fold_piece *piece = &fold->pieces[number];
		if (depth < piece->frame_count)
			return fold_piece_frame(fold, piece, order->outside_in ? piece->frame_count - 1 - depth : depth);
		depth -= piece->frame_count;
	}
	return NULL;
}

static void prefetch_pieces(const struct fold *fold, const struct fold_entry *entry)
{
	if (entry->outer != FOLD_NONE)
		__builtin_prefetch(&fold->pieces[entry->outer]);
	if (entry->inner != FOLD_NONE)
		__builtin_prefetch(&fold->pieces[entry->inner]);
}

/* What will be read of the elements behind number `i`, each step for one that is nearer than that of the step before. */
static void prefetch_found(const struct graph_growth *growing, size_t i)
{
	enum { STEP = 8 };
	const struct stack_order *order = growing->graphs->order;
	const struct found *found = growing->grower->found.data;
	size_t count = growing->grower->found.len;
	if (i + 3 * STEP < count) {
		const struct element *element = &found[i + 3 * STEP].element;
		__builtin_prefetch(entry_of(growing, element));
		__builtin_prefetch(&trie_of(growing, element)->before[element->first / TRIE_STEP]);
	}
	if (i + 2 * STEP < count)
		prefetch_pieces(order->fold, entry_of(growing, &found[i + 2 * STEP].element));
	if (i + STEP < count) {
		const struct element *element = &found[i + STEP].element;
		__builtin_prefetch(place_of_frame(order, entry_of(growing, element), element->depth));
	}
}

/* The elements that were found get their frames and are put into groups. Those whose stack has ended, or is the row's own, are none. */
static void group_found(struct graph_growth *growing, struct group_list *list)
{
	const struct stack_order *order = growing->graphs->order;
	const uint32_t *functions = order->fold->functions;
	struct grower *grower = growing->grower;
	size_t kept = 0;
	uint32_t low = 0;
	for (size_t i = 0; i < grower->found.len; i++) {
		prefetch_found(growing, i);
		struct found found = grower->found.data[i];
		struct trie_weight weight;
		const uint32_t *frame = place_of_frame(order, entry_of(growing, &found.element), found.element.depth);
		if (!frame || !weigh(growing, &found.element, &low, &weight))
			continue;
		found.frame = functions ? functions[*frame] : *frame;
		add_to_group(growing, list, found.frame, weight);
		grower->found.data[kept++] = found;
	}
	grower->found.len = kept;
}

/* The nodes at `depth` that are stacks of [first, last). */
static void find_nodes(struct graph_growth *growing, bool own, uint32_t first, uint32_t last, uint32_t depth)
{
	const struct callgraph_trie *trie = own ? &growing->own : &growing->graphs->trie;
	while (first < last) {
		uint32_t end = callgraph_trie_end(trie, first, last, depth);
		vec_push(&growing->grower->found,
			 (struct found){.element = {.first = first, .last = end, .depth = depth & INT32_MAX, .own = own}});
		first = end;
	}
}

/* The first entry of an element's stacks. */
static uint32_t first_entry(const struct graph_growth *growing, const struct element *element)
{
	const uint32_t *entries = growing->graphs->order->entries;
	uint32_t first = UINT32_MAX, low = element->own ? 0 : own_from(growing, 0, element->first);
	for (uint32_t i = element->first; i < element->last; i++) {
		if (!element->own && low < growing->own.count && growing->own.positions[low] == i) {
			low++;
			continue;
		}
		uint32_t entry = entries[callgraph_trie_position(trie_of(growing, element), i)];
		first = entry < first ? entry : first;
	}
	return first;
}

static void number_groups(const struct graph_growth *growing, const struct group_list *list)
{
	for (size_t i = 0; i < list->groups.len; i++)
		growing->grower->group_of[list->groups.data[i].frame] = (uint32_t)i + 1;
}

/* Groups of the same weight of which some have symbols and some only addresses, or that nothing tells apart (functions inlined at one
 * place): there is no order that all comparisons agree with. */
static bool is_unclear(const struct callgraphs *graphs, const struct group *groups, size_t count)
{
	const struct fold_frame *frames = graphs->rows->fold->frames;
	for (size_t i = 1; i < count; i++)
		if (!frames[groups[i].frame].symbol != !frames[groups[i - 1].frame].symbol ||
		    !compare_groups(&groups[i - 1], &groups[i], (void *)graphs))
			return true;
	return false;
}

static int by_first(const void *x, const void *y)
{
	const struct group *a = x, *b = y;
	return (a->first > b->first) - (a->first < b->first);
}

/* Such groups are sorted from the order of their first samples, which is the same in every run. */
static void order_ties(const struct graph_growth *growing, struct group_list *list)
{
	const struct grower *grower = growing->grower;
	const struct callgraphs *graphs = growing->graphs;
	struct group *groups = list->groups.data;
	size_t count = list->groups.len;
	bool ties = false;
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && weighs_same(graphs, &groups[begin], &groups[end]); end++)
			;
		bool tied = is_unclear(graphs, groups + begin, end - begin);
		for (size_t i = begin; i < end; i++)
			groups[i].tied = tied;
		ties |= tied;
	}
	for (size_t i = 0; ties && i < grower->found.len; i++) {
		struct group *group = &groups[grower->group_of[grower->found.data[i].frame] - 1];
		uint32_t first = group->tied ? first_entry(growing, &grower->found.data[i].element) : UINT32_MAX;
		group->first = first < group->first ? first : group->first;
	}
	for (size_t begin = 0, end; ties && begin < count; begin = end) {
		for (end = begin + 1; end < count && weighs_same(graphs, &groups[begin], &groups[end]); end++)
			;
		if (!groups[begin].tied)
			continue;
		qsort(groups + begin, end - begin, sizeof(*groups), by_first);
		qsort_r(groups + begin, end - begin, sizeof(*groups), compare_groups, (void *)graphs);
	}
}

/* What was found goes into the elements, group by group in their order. Returns where it begins. */
static size_t sort_found(struct graph_growth *growing, struct group_list *list)
{
	struct grower *grower = growing->grower;
	size_t begin = grower->elements.len;
	if (!list->groups.len)
		return begin;
	qsort_r(list->groups.data, list->groups.len, sizeof(*list->groups.data), compare_groups, (void *)growing->graphs);
	number_groups(growing, list);
	order_ties(growing, list);
	number_groups(growing, list);
	size_t *starts = mem_alloc_array(list->groups.len, sizeof(*starts)), at = begin;
	for (size_t i = 0; i < list->groups.len; i++) {
		starts[i] = at;
		at += list->groups.data[i].elements;
	}
	vec_reserve(&grower->elements, at);
	grower->elements.len = at;
	for (size_t i = 0; i < grower->found.len; i++)
		grower->elements.data[starts[grower->group_of[grower->found.data[i].frame] - 1]++] = grower->found.data[i].element;
	for (size_t i = 0; i < list->groups.len; i++)
		grower->group_of[list->groups.data[i].frame] = 0;
	grower->found.len = 0;
	free(starts);
	return begin;
}

static void grow_children(struct graph_growth *growing, struct calltree_node *node, struct group_list *list);

static void grow(struct graph_growth *growing, struct calltree_node *node, size_t begin, size_t end)
{
	struct group_list list = {0};
	for (size_t i = begin; i < end; i++) {
		const struct element element = growing->grower->elements.data[i];
		find_nodes(growing, element.own, element.first, element.last, element.depth + 1);
	}
	group_found(growing, &list);
	grow_children(growing, node, &list);
	vec_deinit(&list.groups);
}

/* Of the groups that were found. */
static void grow_children(struct graph_growth *growing, struct calltree_node *node, struct group_list *list)
{
	const struct callgraphs *graphs = growing->graphs;
	size_t begin = sort_found(growing, list), at = begin;
	uint64_t below = 0, count_below = 0, least = graphs->min_hit;
	for (size_t i = 0; i < list->groups.len; i++) {
		below += list->groups.data[i].weight.period;
		count_below += list->groups.data[i].weight.count;
	}
	node->self = node->total - below;
	node->self_count = node->total_count - count_below;
	if (graphs->options.mode == CALLGRAPH_PRINT_FRACTAL)
		least = (uint64_t)ceil((double)below * graphs->options.min_percent / 100);
	struct calltree_node **tail = &node->children;
	for (size_t i = 0; i < list->groups.len; at += list->groups.data[i++].elements) {
		const struct group *group = &list->groups.data[i];
		if (group->weight.period < least)
			continue;
		struct calltree_node *child = arena_zalloc(&growing->tree->arena, sizeof(*child));
		*child = (struct calltree_node){.label = (const char *)(uintptr_t)group->frame,
						.kind = (uint8_t)fold_frame_kind(graphs->rows->fold, group->frame),
						.total = group->weight.period,
						.total_count = group->weight.count,
						.parent = node};
		*tail = child;
		tail = &child->sibling;
		growing->tree->nodes++;
		if (!growing->shallow)
			grow(growing, child, at, at + group->elements);
	}
	growing->grower->elements.len = begin;
}

/* What the own stacks that have no frame weigh: they are part of the row, and of no node. `found` are the nodes at depth 0. */
static struct trie_weight weigh_empty(const struct graph_growth *growing)
{
	struct trie_weight sum = {0};
	for (size_t i = 0; i < growing->grower->found.len; i++) {
		const struct element *element = &growing->grower->found.data[i].element;
		if (place_of_frame(growing->graphs->order, entry_of(growing, element), 0))
			continue;
		struct trie_weight weight = callgraph_trie_sum(&growing->own, element->first, element->last);
		sum.period += weight.period;
		sum.count += weight.count;
	}
	return sum;
}

/* The positions of the row's own stacks, of all parts. */
static uint32_t *join_own(const struct callgraphs *graphs, size_t hot, size_t *ret_count)
{
	size_t count = 0;
	for (unsigned int i = 0; i < graphs->part_count; i++)
		count += graphs->parts[i].rows[hot].own.len;
	uint32_t *own = mem_alloc_array(count + 1, sizeof(*own));
	*ret_count = 0;
	for (unsigned int i = 0; i < graphs->part_count; i++)
		for (size_t p = 0; p < graphs->parts[i].rows[hot].own.len; p++)
			own[(*ret_count)++] = graphs->parts[i].rows[hot].own.data[p];
	return own;
}

static void find_roots(struct graph_growth *growing, size_t hot)
{
	const struct callgraphs *graphs = growing->graphs;
	for (unsigned int i = 0; i < graphs->part_count; i++) {
		const struct hot_part *part = &graphs->parts[i].rows[hot];
		for (size_t r = 0; r < part->roots.len; r++) {
			const struct hot_root *root = &part->roots.data[r];
			uint32_t last = callgraph_trie_end(&graphs->trie, root->first, graphs->parts[i].end, root->depth);
			vec_push(&growing->grower->found,
				 (struct found){.element = {.first = root->first, .last = last, .depth = root->depth & INT32_MAX}});
		}
	}
}

struct calltree *callgraph_grow(const struct callgraphs *graphs, struct grower *grower, size_t hot, bool shallow)
{
	struct graph_growth growing = {.graphs = graphs, .grower = grower, .tree = calltree_create(), .shallow = shallow};
	struct group_list list = {0};
	size_t own_count;
	uint32_t *own = join_own(graphs, hot, &own_count);
	callgraph_trie_init(&growing.own, graphs->order, own, own_count, 1);
	find_nodes(&growing, true, 0, (uint32_t)own_count, 0);
	struct trie_weight total = weigh_empty(&growing);
	find_roots(&growing, hot);
	group_found(&growing, &list);
	for (size_t i = 0; i < list.groups.len; i++) {
		total.period += list.groups.data[i].weight.period;
		total.count += list.groups.data[i].weight.count;
	}
	growing.tree->root.total = total.period;
	growing.tree->root.total_count = total.count;
	grow_children(&growing, &growing.tree->root, &list);
	vec_deinit(&list.groups);
	callgraph_trie_deinit(&growing.own);
	free(own);
	return growing.tree;
}

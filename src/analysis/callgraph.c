/* Call graphs: tries merged.
 *
 * All stacks in order are one trie (callgraph_trie.h). A row's call graph is what hangs below its place, added up: the subtrees of the nodes of that place that
 * have none of them above.
 *
 *	main ── run ──┬── read ── copy        the graph of `read`:   read ──┬── copy
 *	              └── parse ── read ── fill                             └── fill
 *
 * Samples taken at the place itself are shown with their whole stacks instead. They are a small trie of the row's own, and are taken off where a subtree has
 * them. Sets of nodes are merged from the top: children of the same frame are one set, and only sets that reach the limit are looked at further. So the work
 * goes with the nodes that are shown, not with the samples below them.
 */
#include "analysis/callgraph.h"

#include "analysis/callgraph_trie.h"
#include "analysis/fold_internal.h"
#include "analysis/rows_internal.h"
#include "analysis/source_lines.h"
#include "base/mem.h"
#include "base/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node of the trie of all stacks, less the row's own stacks [low, high); or of the row's own trie. */
struct element {
	uint32_t node;
	uint32_t low; /* OWN: of the row's own trie */
	uint32_t high;
};

#define OWN UINT32_MAX

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

/* What a worker needs to grow trees. */
struct grower {
	uint32_t *group_of; /* by frame: group + 1 while children are grouped, else 0 */
	VEC(struct found) found; /* the children that are being grouped */
	VEC(struct element) elements; /* the sets of the nodes that are being grown, outer ones first */
};

/* A row that shows a graph. */
struct hot_row {
	uint32_t row;
	uint32_t until;	       /* nodes before this one are below one of `roots` */
	VEC(uint32_t) own;     /* positions of the stacks that end at the row's place, or whose samples are its own */
	VEC(uint32_t) roots;   /* outermost nodes of its place */
};

struct callgraphs {
	struct rows *rows;
	struct callgraph_options options;
	uint64_t min_hit;
	const struct stack_order *order;
	struct callgraph_trie trie; /* of all stacks; children mode */
	struct calltree **trees; /* by hot row */
	struct hot_row *hot_rows;
	size_t hot_count;
	uint64_t *hot_places;	/* bitmap of place classes */
	struct id_table hot_ids; /* by rows_hash() */
};

static uint32_t find_hot(const struct callgraphs *graphs, uint32_t actor, uint32_t place, uint32_t extra)
{
	if (!(graphs->hot_places[place / 64] >> (place % 64) & 1))
		return FOLD_NONE;
	struct id_probe probe;
	for (uint32_t id = id_table_first(&graphs->hot_ids, rows_hash(actor, place, extra), &probe); id != ID_NONE; id = id_table_next(&graphs->hot_ids, &probe)) {
		const struct rows_row *row = &graphs->rows->rows[graphs->hot_rows[id].row];
		if (row->actor == actor && row->place == place && row->extra == extra)
			return id;
	}
	return FOLD_NONE;
}

static uint64_t row_value(const struct rows *rows, uint32_t row, size_t event)
{
	const struct row_sums *sums = &rows->sums[row * rows->options.event_count + event];
	return rows->options.children ? sums->children : sums->period;
}

static const char *frame_label(struct rows *rows, uint32_t id)
{
	const struct fold_frame *frame = &rows->fold->frames[id];
	bool by_address = rows->fold->private->options.by_address, inlined = frame->symbol && frame->symbol->inlined;
	if (frame->symbol && !by_address && !inlined)
		return intern_string(rows->context->strings, frame->symbol->name);
	if (frame->symbol) {
		struct strbuf place = {0};
		strbuf_add_str(&place, frame->symbol->name);
		if (by_address && *source_lines_file(rows->context->lines, frame, true))
			strbuf_printf(&place, " %s", source_lines_line(rows->context->lines, frame, true));
		else if (by_address)
			strbuf_printf(&place, " +%lu", map_to_dso(frame->map, frame->ip) - frame->symbol->start);
		if (inlined)
			strbuf_add_str(&place, " (inlined)");
		const char *label = intern_string(rows->context->strings, strbuf_str(&place));
		strbuf_deinit(&place);
		return label;
	}
	char text[32];
	snprintf(text, sizeof(text), "%#lx", frame->ip);
	return intern_string(rows->context->strings, text);
}

/* Equal weights: larger files' numbers, then larger addresses first. */
static int compare_frames(const struct fold_frame *a, const struct fold_frame *b)
{
	int64_t x = a->map ? (int64_t)a->map->dso->index : -1, y = b->map ? (int64_t)b->map->dso->index : -1;
	if (x != y)
		return x > y ? -1 : 1;
	bool symbols = a->symbol && b->symbol && a->symbol->start != b->symbol->start;
	uint64_t u = symbols ? a->symbol->start : a->ip, v = symbols ? b->symbol->start : b->ip;
	return u > v ? -1 : u < v;
}

/* Where the weight doesn't decide the order. */
static bool weighs_same(const struct callgraphs *graphs, const struct group *a, const struct group *b)
{
	return graphs->options.mode == CALLGRAPH_FLAT || graphs->options.mode == CALLGRAPH_FOLDED || a->weight.period == b->weight.period;
}

static int compare_groups(const void *x, const void *y, void *context)
{
	const struct group *a = x, *b = y;
	const struct callgraphs *graphs = context;
	const struct fold *fold = graphs->rows->fold;
	if (!weighs_same(graphs, a, b))
		return a->weight.period > b->weight.period ? -1 : 1;
	return compare_frames(&fold->frames[a->frame], &fold->frames[b->frame]) ?: (a->first > b->first) - (a->first < b->first);
}

/* The tree of one row. */
struct growing {
	const struct callgraphs *graphs;
	struct grower *grower;
	struct calltree *tree;
	struct callgraph_trie own;
	const uint32_t *positions; /* of its own stacks */
};

/* The first of the own stacks [low, high) that isn't before `position`. */
static uint32_t own_from(const struct growing *growing, uint32_t low, uint32_t high, uint32_t position)
{
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (growing->positions[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_found(struct growing *growing, struct group_list *list, const struct element *element, uint32_t frame, struct trie_weight weight)
{
	const struct fold *fold = growing->graphs->rows->fold;
	struct grower *grower = growing->grower;
	if (fold->functions)
		frame = fold->functions[frame];
	if (!grower->group_of[frame]) {
		vec_push(&list->groups, (struct group){.frame = frame, .first = UINT32_MAX});
		grower->group_of[frame] = (uint32_t)list->groups.len;
	}
	struct group *group = &list->groups.data[grower->group_of[frame] - 1];
	group->weight.period += weight.period;
	group->weight.count += weight.count;
	group->elements++;
	vec_push(&grower->found, (struct found){.element = *element, .frame = frame});
}

/* A node of the trie of all stacks. Own stacks are looked for in [*low, high); *low moves behind the node's. */
static void add_node(struct growing *growing, struct group_list *list, uint32_t number, uint32_t *low, uint32_t high)
{
	const struct callgraph_trie *trie = &growing->graphs->trie;
	const struct trie_node *node = &trie->nodes[number];
	struct element element = {.node = number, .low = own_from(growing, *low, high, node->first)};
	element.high = *low = own_from(growing, element.low, high, node->last);
	if (node->last - node->first == element.high - element.low)
		return;
	struct trie_weight weight = callgraph_trie_sum(trie, node->first, node->last);
	if (element.low < element.high) {
		struct trie_weight own = callgraph_trie_sum(&growing->own, element.low, element.high);
		weight.period -= own.period;
		weight.count -= own.count;
	}
	add_found(growing, list, &element, node->frame, weight);
}

static void add_own(struct growing *growing, struct group_list *list, uint32_t first, uint32_t end)
{
	const struct callgraph_trie *trie = &growing->own;
	for (uint32_t at = first; at < end; at = trie->nodes[at].end) {
		const struct element element = {.node = at, .low = OWN};
		add_found(growing, list, &element, trie->nodes[at].frame, callgraph_trie_sum(trie, trie->nodes[at].first, trie->nodes[at].last));
	}
}

static void add_children(struct growing *growing, struct group_list *list, struct element element)
{
	const struct trie_node *nodes = growing->graphs->trie.nodes;
	if (element.low == OWN) {
		add_own(growing, list, element.node + 1, growing->own.nodes[element.node].end);
		return;
	}
	for (uint32_t at = element.node + 1; at < nodes[element.node].end; at = nodes[at].end)
		add_node(growing, list, at, &element.low, element.high);
}

/* The first entry of an element's stacks. */
static uint32_t first_entry(const struct growing *growing, const struct element *element)
{
	const struct stack_order *order = growing->graphs->order;
	bool own = element->low == OWN;
	const struct trie_node *node = &(own ? &growing->own : &growing->graphs->trie)->nodes[element->node];
	uint32_t first = UINT32_MAX, low = element->low;
	for (uint32_t i = node->first; i < node->last; i++) {
		if (!own && low < element->high && growing->positions[low] == i) {
			low++;
			continue;
		}
		uint32_t entry = order->entries[own ? growing->positions[i] : i];
		first = entry < first ? entry : first;
	}
	return first;
}

static void number_groups(const struct growing *growing, const struct group_list *list)
{
	for (size_t i = 0; i < list->groups.len; i++)
		growing->grower->group_of[list->groups.data[i].frame] = (uint32_t)i + 1;
}

/* Groups of the same weight of which some have symbols and some only addresses, or that nothing tells apart (functions inlined at one place): there is no
 * order that all comparisons agree with. */
static bool is_unclear(const struct callgraphs *graphs, const struct group *groups, size_t count)
{
	const struct fold_frame *frames = graphs->rows->fold->frames;
	for (size_t i = 1; i < count; i++)
		if (!frames[groups[i].frame].symbol != !frames[groups[i - 1].frame].symbol || !compare_groups(&groups[i - 1], &groups[i], (void *)graphs))
			return true;
	return false;
}

static int by_first(const void *x, const void *y)
{
	const struct group *a = x, *b = y;
	return (a->first > b->first) - (a->first < b->first);
}

/* Such groups are sorted from the order of their first samples, which is the same in every run. */
static void order_ties(const struct growing *growing, struct group_list *list)
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
static size_t sort_found(struct growing *growing, struct group_list *list)
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

static void grow_children(struct growing *growing, struct calltree_node *node, struct group_list *list);

static void grow(struct growing *growing, struct calltree_node *node, size_t begin, size_t end)
{
	struct group_list list = {0};
	for (size_t i = begin; i < end; i++)
		add_children(growing, &list, growing->grower->elements.data[i]);
	grow_children(growing, node, &list);
	vec_deinit(&list.groups);
}

/* Of the groups that were found. The nodes' labels are their frames' ids until label_nodes(): names are interned on one thread. */
static void grow_children(struct growing *growing, struct calltree_node *node, struct group_list *list)
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
	if (graphs->options.mode == CALLGRAPH_FRACTAL)
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
		grow(growing, child, at, at + group->elements);
	}
	growing->grower->elements.len = begin;
}

static void label_nodes(struct callgraphs *graphs, struct calltree_node *node)
{
	for (struct calltree_node *child = node->children; child; child = child->sibling) {
		child->label = frame_label(graphs->rows, (uint32_t)(uintptr_t)child->label);
		label_nodes(graphs, child);
	}
}

/* What hot rows consist of. */

static void find_own(struct callgraphs *graphs)
{
	const struct rows *rows = graphs->rows;
	for (size_t i = 0; i < graphs->order->count; i++) {
		const struct fold_entry *entry = stack_order_entry(graphs->order, i);
		if ((entry->inner == FOLD_NONE && entry->outer == FOLD_NONE) || rows_event(rows, entry) != (int)graphs->options.event)
			continue;
		uint32_t hot = find_hot(graphs, rows->private->actor_class[entry->actor], rows_self_place(rows, entry), rows_entry_extra(rows, entry));
		if (hot != FOLD_NONE)
			vec_push(&graphs->hot_rows[hot].own, (uint32_t)i);
	}
}

/* Nodes below those that are known are skipped: in the order of the nodes, a root's subtree follows it. */
static void find_roots(struct callgraphs *graphs)
{
	const struct rows *rows = graphs->rows;
	const struct trie_node *nodes = graphs->trie.nodes;
	for (uint32_t top = 0; top < graphs->trie.node_count; top = nodes[top].end) {
		const struct fold_entry *entry = stack_order_entry(graphs->order, nodes[top].first);
		uint32_t actor = rows->private->actor_class[entry->actor], extra = rows_entry_extra(rows, entry);
		if (rows_event(rows, entry) != (int)graphs->options.event)
			continue;
		for (uint32_t at = top; at < nodes[top].end; at++) {
			uint32_t hot = find_hot(graphs, actor, rows->private->caller_class[nodes[at].frame], extra);
			if (hot == FOLD_NONE || at < graphs->hot_rows[hot].until)
				continue;
			vec_push(&graphs->hot_rows[hot].roots, at);
			graphs->hot_rows[hot].until = nodes[at].end;
		}
	}
}

struct building {
	struct callgraphs *graphs;
	struct grower *growers;
};

static void build_row(void *context, unsigned int worker, size_t item)
{
	struct building *building = context;
	const struct callgraphs *graphs = building->graphs;
	const struct hot_row *hot = &graphs->hot_rows[item];
	struct growing growing = {.graphs = graphs, .grower = &building->growers[worker], .tree = calltree_create(), .positions = hot->own.data};
	struct group_list list = {0};
	uint32_t low = 0;
	if (!growing.grower->group_of)
		growing.grower->group_of = mem_zalloc_table(graphs->rows->fold->frame_count + 1, sizeof(*growing.grower->group_of));
	callgraph_trie_init(&growing.own, graphs->order, hot->own.data, hot->own.len);
	struct trie_weight total = callgraph_trie_sum(&growing.own, 0, hot->own.len);
	add_own(&growing, &list, 0, (uint32_t)growing.own.node_count);
	for (size_t i = 0; i < list.groups.len; i++) {
		total.period -= list.groups.data[i].weight.period;
		total.count -= list.groups.data[i].weight.count;
	}
	for (size_t i = 0; i < hot->roots.len; i++)
		add_node(&growing, &list, hot->roots.data[i], &low, (uint32_t)hot->own.len);
	for (size_t i = 0; i < list.groups.len; i++) {
		total.period += list.groups.data[i].weight.period;
		total.count += list.groups.data[i].weight.count;
	}
	growing.tree->root.total = total.period;
	growing.tree->root.total_count = total.count;
	grow_children(&growing, &growing.tree->root, &list);
	vec_deinit(&list.groups);
	callgraph_trie_deinit(&growing.own);
	graphs->trees[item] = growing.tree;
}

static void build_all(struct callgraphs *graphs)
{
	unsigned int jobs = graphs->rows->options.jobs ? graphs->rows->options.jobs : 1;
	struct building building = {.graphs = graphs, .growers = mem_zalloc_array(jobs, sizeof(*building.growers))};
	graphs->order = rows_stack_order(graphs->rows);
	find_own(graphs);
	if (graphs->rows->options.children) {
		callgraph_trie_init(&graphs->trie, graphs->order, NULL, graphs->order->count);
		find_roots(graphs);
	}
	pool_run(jobs, graphs->hot_count, build_row, &building);
	for (unsigned int i = 0; i < jobs; i++) {
		free(building.growers[i].group_of);
		vec_deinit(&building.growers[i].found);
		vec_deinit(&building.growers[i].elements);
	}
	free(building.growers);
	callgraph_trie_deinit(&graphs->trie);
	for (size_t i = 0; i < graphs->hot_count; i++) {
		label_nodes(graphs, &graphs->trees[i]->root);
		vec_deinit(&graphs->hot_rows[i].own);
		vec_deinit(&graphs->hot_rows[i].roots);
	}
}

static void add_hot(struct callgraphs *graphs, uint32_t row)
{
	const struct rows_row *r = &graphs->rows->rows[row];
	id_table_insert(&graphs->hot_ids, rows_hash(r->actor, r->place, r->extra), (uint32_t)graphs->hot_count);
	graphs->hot_places[r->place / 64] |= (uint64_t)1 << (r->place % 64);
	graphs->hot_rows[graphs->hot_count++] = (struct hot_row){.row = row};
}

struct callgraphs *callgraphs_create(struct rows *rows, const struct callgraph_options *options)
{
	struct callgraphs *graphs = mem_zalloc(sizeof(*graphs));
	graphs->rows = rows;
	graphs->options = *options;
	uint64_t total = options->relative ? rows->total_shown[options->event] : rows->total[options->event];
	graphs->min_hit = (uint64_t)((double)total * (options->min_percent / 100));
	graphs->hot_places = mem_zalloc_array(rows->private->classes[CLASS_PLACE].representatives.len / 64 + 1, sizeof(*graphs->hot_places));
	graphs->hot_rows = mem_alloc_array(rows->shown_count + 1, sizeof(*graphs->hot_rows));
	for (size_t i = 0; i < rows->shown_count; i++) {
		uint32_t row = rows->order[i];
		uint64_t value = row_value(rows, row, options->event);
		if (!value || (options->mode != CALLGRAPH_FRACTAL && value < graphs->min_hit) || 100.0 * (double)value / (double)total < options->least_row)
			continue;
		add_hot(graphs, row);
	}
	graphs->trees = mem_zalloc_array(graphs->hot_count + 1, sizeof(*graphs->trees));
	build_all(graphs);
	return graphs;
}

void callgraphs_destroy(struct callgraphs *graphs)
{
	if (!graphs)
		return;
	for (size_t i = 0; i < graphs->hot_count; i++)
		calltree_destroy(graphs->trees[i]);
	free(graphs->trees);
	free(graphs->hot_places);
	id_table_deinit(&graphs->hot_ids);
	free(graphs->hot_rows);
	free(graphs);
}

struct calltree *callgraphs_row(const struct callgraphs *graphs, uint32_t row)
{
	const struct rows_row *r = &graphs->rows->rows[row];
	uint32_t hot = find_hot(graphs, r->actor, r->place, r->extra);
	return hot == FOLD_NONE ? NULL : graphs->trees[hot];
}

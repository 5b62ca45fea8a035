/* Call graphs, grown level by level.
 *
 * The stacks under a row are a list of references (entry, position). A node's children are found by sorting its list by the next frame (counting sort through
 * an array indexed by frame), and only groups that reach the limit are looked at further: what would never be shown is never made into nodes.
 *
 *	refs of node:      a b a c a b           (next frames)
 *	counting sort:     a a a | b b | c       → children a, b; c is below the limit and only counts in its parent
 *
 * The lists of many rows would need more memory than the samples, so that rows are done in batches.
 */
#include "analysis/callgraph.h"

#include "analysis/fold_internal.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFS_PER_BATCH = 4 << 20 };

struct ref {
	uint32_t entry;
	int32_t at; /* next frame's depth */
};

struct group {
	uint64_t weight, count;
	uint32_t frame;
	uint32_t refs;
};

struct callgraphs {
	struct rows *rows;
	struct callgraph_options options;
	uint64_t min_hit;
	struct calltree **trees; /* by hot row */
	uint32_t *hot;		 /* by row: number among the hot ones, or FOLD_NONE */
	uint32_t *hot_rows;
	size_t hot_count;
	uint32_t *group_of; /* by frame: group + 1 while a list is sorted, else 0 */
};

static uint64_t row_value(const struct rows *rows, uint32_t row)
{
	const struct row_sums *sums = &rows->sums[row * rows->options.event_count];
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
		if (by_address)
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

static int compare_groups(const void *x, const void *y, void *context)
{
	const struct group *a = x, *b = y;
	const struct callgraphs *graphs = context;
	const struct fold *fold = graphs->rows->fold;
	bool listed = graphs->options.mode == CALLGRAPH_FLAT || graphs->options.mode == CALLGRAPH_FOLDED;
	if (!listed && a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return compare_frames(&fold->frames[a->frame], &fold->frames[b->frame]);
}

static bool ref_next(const struct callgraphs *graphs, const struct ref *ref, uint32_t *frame)
{
	const struct fold *fold = graphs->rows->fold;
	const struct fold_entry *entry = &fold->entries[ref->entry];
	if (ref->at < 0 || (!graphs->rows->options.caller_order && (uint32_t)ref->at >= fold_depth(fold, entry)))
		return false;
	*frame = fold_frame_id(fold, entry, (uint32_t)ref->at);
	return true;
}

struct group_list {
	VEC(struct group) groups;
};

/* Sorts `refs` into `sorted` by their next frame; those that end are left out and counted as the node's own. Groups in the order of the lists. */
static void partition(struct callgraphs *graphs, struct calltree_node *node, const struct ref *refs, size_t count, struct ref *sorted, struct group_list *list)
{
	const struct fold *fold = graphs->rows->fold;
	for (size_t i = 0; i < count; i++) {
		const struct fold_entry *entry = &fold->entries[refs[i].entry];
		uint32_t frame;
		if (!ref_next(graphs, &refs[i], &frame)) {
			node->self += entry->period;
			node->self_count += entry->count;
			continue;
		}
		if (!graphs->group_of[frame]) {
			vec_push(&list->groups, (struct group){.frame = frame});
			graphs->group_of[frame] = (uint32_t)list->groups.len;
		}
		struct group *group = &list->groups.data[graphs->group_of[frame] - 1];
		group->weight += entry->period;
		group->count += entry->count;
		group->refs++;
	}
	qsort_r(list->groups.data, list->groups.len, sizeof(*list->groups.data), compare_groups, graphs);
	uint32_t *starts = mem_alloc_array(list->groups.len + 1, sizeof(*starts)), at = 0;
	for (size_t i = 0; i < list->groups.len; i++) {
		graphs->group_of[list->groups.data[i].frame] = (uint32_t)i + 1;
		starts[i] = at;
		at += list->groups.data[i].refs;
	}
	int32_t step = graphs->rows->options.caller_order ? -1 : 1;
	for (size_t i = 0; i < count; i++) {
		uint32_t frame;
		if (ref_next(graphs, &refs[i], &frame))
			sorted[starts[graphs->group_of[frame] - 1]++] = (struct ref){.entry = refs[i].entry, .at = refs[i].at + step};
	}
	for (size_t i = 0; i < list->groups.len; i++)
		graphs->group_of[list->groups.data[i].frame] = 0;
	free(starts);
}

static void grow(struct callgraphs *graphs, struct calltree *tree, struct calltree_node *node, struct ref *refs, size_t count, struct ref *other)
{
	struct group_list list = {0};
	partition(graphs, node, refs, count, other, &list);
	uint64_t below = node->total - node->self, least = graphs->min_hit;
	if (graphs->options.mode == CALLGRAPH_FRACTAL)
		least = (uint64_t)ceil((double)below * graphs->options.min_percent / 100);
	struct calltree_node **tail = &node->children;
	size_t at = 0;
	for (size_t i = 0; i < list.groups.len; i++) {
		const struct group *group = &list.groups.data[i];
		if (group->weight < least) {
			at += group->refs;
			continue;
		}
		struct calltree_node *child = arena_zalloc(&tree->arena, sizeof(*child));
		*child = (struct calltree_node){.label = frame_label(graphs->rows, group->frame),
						.kind = (uint8_t)fold_frame_kind(graphs->rows->fold, group->frame),
						.total = group->weight,
						.total_count = group->count,
						.parent = node};
		*tail = child;
		tail = &child->sibling;
		tree->nodes++;
		grow(graphs, tree, child, other + at, group->refs, refs + at);
		at += group->refs;
	}
	vec_deinit(&list.groups);
}

/* Calls visit for each (hot row, reference) of an entry. */
static void visit_entry(const struct callgraphs *graphs, uint32_t index, uint32_t *seen, void (*visit)(void *context, uint32_t hot, struct ref ref), void *context)
{
	const struct rows *rows = graphs->rows;
	const struct fold *fold = rows->fold;
	const struct fold_entry *entry = &fold->entries[index];
	if (rows_event(rows, entry) != 0 || (entry->inner == FOLD_NONE && entry->outer == FOLD_NONE))
		return;
	uint32_t depth = fold_depth(fold, entry);
	bool caller = rows->options.caller_order;
	uint32_t row = rows_find_self(rows, entry), hot = row == FOLD_NONE ? FOLD_NONE : graphs->hot[row];
	if (hot != FOLD_NONE) {
		visit(context, hot, (struct ref){.entry = index, .at = caller ? (int32_t)depth - 1 : 0});
		seen[hot] = index + 1;
	}
	for (uint32_t i = 0; rows->options.children && i < depth; i++) {
		uint32_t at = caller ? depth - 1 - i : i;
		row = rows_find_caller(rows, entry, fold_frame_id(fold, entry, at));
		hot = row == FOLD_NONE ? FOLD_NONE : graphs->hot[row];
		if (hot == FOLD_NONE || seen[hot] == index + 1)
			continue;
		seen[hot] = index + 1;
		visit(context, hot, (struct ref){.entry = index, .at = (int32_t)at});
	}
}

struct gather {
	uint32_t *counts; /* by hot row */
	uint32_t *starts; /* of the batch's rows */
	struct ref *refs;
	uint32_t first, end; /* the batch: hot rows */
};

static void count_ref(void *context, uint32_t hot, struct ref ref)
{
	struct gather *gather = context;
	gather->counts[hot]++;
}

static void take_ref(void *context, uint32_t hot, struct ref ref)
{
	struct gather *gather = context;
	if (hot >= gather->first && hot < gather->end)
		gather->refs[gather->starts[hot]++] = ref;
}

static void scan(const struct callgraphs *graphs, void (*visit)(void *context, uint32_t hot, struct ref ref), void *context)
{
	uint32_t *seen = mem_zalloc_array(graphs->hot_count + 1, sizeof(*seen));
	for (uint32_t i = 0; i < graphs->rows->fold->entry_count; i++)
		visit_entry(graphs, i, seen, visit, context);
	free(seen);
}

static void build_row(struct callgraphs *graphs, uint32_t hot, struct ref *refs, uint32_t count, struct ref *other)
{
	const struct fold *fold = graphs->rows->fold;
	struct calltree *tree = calltree_create();
	for (uint32_t i = 0; i < count; i++) {
		tree->root.total += fold->entries[refs[i].entry].period;
		tree->root.total_count += fold->entries[refs[i].entry].count;
	}
	grow(graphs, tree, &tree->root, refs, count, other);
	graphs->trees[hot] = tree;
}

static void build_batch(struct callgraphs *graphs, struct gather *gather)
{
	size_t total = 0, largest = 0;
	for (uint32_t h = gather->first; h < gather->end; h++) {
		gather->starts[h] = (uint32_t)total;
		total += gather->counts[h];
		if (gather->counts[h] > largest)
			largest = gather->counts[h];
	}
	gather->refs = mem_alloc_array(total + 1, sizeof(*gather->refs));
	struct ref *other = mem_alloc_array(largest + 1, sizeof(*other));
	scan(graphs, take_ref, gather);
	struct ref *at = gather->refs;
	for (uint32_t h = gather->first; h < gather->end; at += gather->counts[h], h++)
		build_row(graphs, h, at, gather->counts[h], other);
	free(other);
	free(gather->refs);
}

static void build_all(struct callgraphs *graphs)
{
	struct gather gather = {0};
	gather.counts = mem_zalloc_array(graphs->hot_count + 1, sizeof(*gather.counts));
	gather.starts = mem_zalloc_array(graphs->hot_count + 1, sizeof(*gather.starts));
	graphs->group_of = mem_zalloc_array(graphs->rows->fold->frame_count + 1, sizeof(*graphs->group_of));
	scan(graphs, count_ref, &gather);
	while (gather.first < graphs->hot_count) {
		size_t refs = 0;
		gather.end = gather.first;
		while (gather.end < graphs->hot_count && (!refs || refs + gather.counts[gather.end] <= REFS_PER_BATCH))
			refs += gather.counts[gather.end++];
		build_batch(graphs, &gather);
		gather.first = gather.end;
	}
	free(graphs->group_of);
	free(gather.counts);
	free(gather.starts);
}

struct callgraphs *callgraphs_create(struct rows *rows, const struct callgraph_options *options)
{
	struct callgraphs *graphs = mem_zalloc(sizeof(*graphs));
	graphs->rows = rows;
	graphs->options = *options;
	uint64_t total = options->relative ? rows->total_shown[0] : rows->total[0];
	graphs->min_hit = (uint64_t)((double)total * (options->min_percent / 100));
	graphs->hot = mem_alloc_array(rows->row_count + 1, sizeof(*graphs->hot));
	memset(graphs->hot, 0xff, (rows->row_count + 1) * sizeof(*graphs->hot));
	graphs->hot_rows = mem_alloc_array(rows->row_count + 1, sizeof(*graphs->hot_rows));
	for (size_t i = 0; i < rows->shown_count; i++) {
		uint32_t row = rows->order[i];
		uint64_t value = row_value(rows, row);
		if (!value || (options->mode != CALLGRAPH_FRACTAL && value < graphs->min_hit) || 100.0 * (double)value / (double)total < options->least_row)
			continue;
		graphs->hot[row] = (uint32_t)graphs->hot_count;
		graphs->hot_rows[graphs->hot_count++] = row;
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
	free(graphs->hot);
	free(graphs->hot_rows);
	free(graphs);
}

struct calltree *callgraphs_row(const struct callgraphs *graphs, uint32_t row)
{
	return graphs->hot[row] == FOLD_NONE ? NULL : graphs->trees[graphs->hot[row]];
}

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
#include "analysis/rows_internal.h"
#include "analysis/source_lines.h"
#include "base/mem.h"
#include "base/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFS_PER_BATCH = 4 << 20, ENTRIES_PER_ITEM = 1 << 16 };

#define REF_GROUP 0x80000000u

struct ref {
	uint32_t source; /* an entry, or a group of entries with the same kernel part | REF_GROUP */
	int32_t at;	 /* next frame's depth */
};

struct group {
	uint64_t weight, count;
	uint32_t frame;
	uint32_t refs;
};

struct group_list {
	VEC(struct group) groups;
};

/* What a worker needs to grow trees. */
struct grower {
	uint32_t *group_of; /* by frame: group + 1 while a list is sorted, else 0 */
	struct ref *other;
	uint32_t *frames; /* by reference of the list that is being sorted: the next frame, or FOLD_NONE */
	size_t cap;	  /* of `other` and `frames` */
};

struct callgraphs {
	struct rows *rows;
	struct callgraph_options options;
	uint64_t min_hit;
	struct calltree **trees; /* by hot row */
	uint32_t *hot_rows;	 /* row numbers */
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
		const struct rows_row *row = &graphs->rows->rows[graphs->hot_rows[id]];
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

struct weight {
	uint64_t period, count;
};

static struct weight ref_weight(const struct callgraphs *graphs, const struct ref *ref)
{
	if (ref->source & REF_GROUP) {
		const struct row_group *group = &graphs->rows->private->groups.data[ref->source & ~REF_GROUP];
		return (struct weight){group->period, group->count};
	}
	const struct fold_entry *entry = &graphs->rows->fold->entries[ref->source];
	return (struct weight){entry->period, entry->count};
}

static const struct fold_entry *ref_entry(const struct rows *rows, const struct ref *ref)
{
	uint32_t index = ref->source & REF_GROUP ? rows->private->groups.data[ref->source & ~REF_GROUP].first : ref->source;
	return &rows->fold->entries[index];
}

/* FOLD_NONE when the stack ends there. */
static uint32_t ref_next(const struct callgraphs *graphs, const struct ref *ref)
{
	const struct rows *rows = graphs->rows;
	if (ref->at < 0)
		return FOLD_NONE;
	const struct fold_entry *entry = ref_entry(rows, ref);
	if (!rows->options.caller_order && (uint32_t)ref->at >= fold_depth(rows->fold, entry))
		return FOLD_NONE;
	uint32_t frame = fold_frame_id(rows->fold, entry, (uint32_t)ref->at);
	return rows->fold->functions ? rows->fold->functions[frame] : frame;
}

/* A reference leads from its entry to a piece to the piece's frames, each anywhere in memory. They are asked for ahead, so that the waits overlap. */
static void fetch_ahead(const struct rows *rows, const struct ref *refs, size_t i, size_t count)
{
	enum { ENTRY = 24, PIECE = 16, FRAMES = 8 };
	if (i + ENTRY < count)
		__builtin_prefetch(ref_entry(rows, &refs[i + ENTRY]));
	if (i + PIECE < count) {
		uint32_t outer = ref_entry(rows, &refs[i + PIECE])->outer;
		__builtin_prefetch(outer == FOLD_NONE ? NULL : &rows->fold->pieces[outer]);
	}
	if (i + FRAMES < count) {
		const struct ref *ref = &refs[i + FRAMES];
		uint32_t outer = ref_entry(rows, ref)->outer;
		if (outer != FOLD_NONE && ref->at >= 0)
			__builtin_prefetch(&rows->fold->frame_ids[rows->fold->pieces[outer].frames + (uint32_t)ref->at]);
	}
}

/* Sorts `refs` into `sorted` by their next frame; those that end are left out and counted as the node's own. Groups in the order of the lists. */
static void partition(const struct callgraphs *graphs, struct grower *grower, struct calltree_node *node, const struct ref *refs, size_t count, struct ref *sorted,
		      struct group_list *list)
{
	uint32_t *group_of = grower->group_of;
	for (size_t i = 0; i < count; i++) {
		fetch_ahead(graphs->rows, refs, i, count);
		struct weight weight = ref_weight(graphs, &refs[i]);
		uint32_t frame = grower->frames[i] = ref_next(graphs, &refs[i]);
		if (frame == FOLD_NONE) {
			node->self += weight.period;
			node->self_count += weight.count;
			continue;
		}
		if (!group_of[frame]) {
			vec_push(&list->groups, (struct group){.frame = frame});
			group_of[frame] = (uint32_t)list->groups.len;
		}
		struct group *group = &list->groups.data[group_of[frame] - 1];
		group->weight += weight.period;
		group->count += weight.count;
		group->refs++;
	}
	if (!list->groups.len)
		return;
	qsort_r(list->groups.data, list->groups.len, sizeof(*list->groups.data), compare_groups, (void *)graphs);
	uint32_t *starts = mem_alloc_array(list->groups.len, sizeof(*starts)), at = 0;
	for (size_t i = 0; i < list->groups.len; i++) {
		group_of[list->groups.data[i].frame] = (uint32_t)i + 1;
		starts[i] = at;
		at += list->groups.data[i].refs;
	}
	int32_t step = graphs->rows->options.caller_order ? -1 : 1;
	for (size_t i = 0; i < count; i++)
		if (grower->frames[i] != FOLD_NONE)
			sorted[starts[group_of[grower->frames[i]] - 1]++] = (struct ref){.source = refs[i].source, .at = refs[i].at + step};
	for (size_t i = 0; i < list->groups.len; i++)
		group_of[list->groups.data[i].frame] = 0;
	free(starts);
}

/* The node's label is its frame's id until label_nodes(): names are interned on one thread. */
static void grow(const struct callgraphs *graphs, struct grower *grower, struct calltree *tree, struct calltree_node *node, struct ref *refs, size_t count,
		 struct ref *other)
{
	struct group_list list = {0};
	partition(graphs, grower, node, refs, count, other, &list);
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
		*child = (struct calltree_node){.label = (const char *)(uintptr_t)group->frame,
						.kind = (uint8_t)fold_frame_kind(graphs->rows->fold, group->frame),
						.total = group->weight,
						.total_count = group->count,
						.parent = node};
		*tail = child;
		tail = &child->sibling;
		tree->nodes++;
		grow(graphs, grower, tree, child, other + at, group->refs, refs + at);
		at += group->refs;
	}
	vec_deinit(&list.groups);
}

static void label_nodes(struct callgraphs *graphs, struct calltree_node *node)
{
	for (struct calltree_node *child = node->children; child; child = child->sibling) {
		child->label = frame_label(graphs->rows, (uint32_t)(uintptr_t)child->label);
		label_nodes(graphs, child);
	}
}

/* Finding the references of hot rows. */

/* A range of entries, and one of groups: one worker's share. All arrays are by hot row. */
struct part {
	uint32_t *seen; /* the stamp that was there */
	uint32_t stamp;
	uint32_t *counts;
	uint32_t *next; /* of the batch's rows: where its next reference goes */
};

struct gather {
	const struct callgraphs *graphs;
	struct part *parts; /* those of entries, then those of groups: lists are in this order */
	unsigned int part_count;
	struct ref *refs;    /* NULL: count only */
	uint32_t first, end; /* the batch: hot rows */
};

static void add_ref(const struct gather *gather, struct part *part, uint32_t hot, uint32_t source, uint32_t at)
{
	if (hot == FOLD_NONE || part->seen[hot] == part->stamp)
		return;
	part->seen[hot] = part->stamp;
	if (!gather->refs)
		part->counts[hot]++;
	else if (hot >= gather->first && hot < gather->end)
		gather->refs[part->next[hot]++] = (struct ref){.source = source, .at = (int32_t)at};
}

/* Kernel parts, in caller order: what is below a frame is the same for the whole group. */
static void visit_group(const struct gather *gather, struct part *part, uint32_t index)
{
	const struct rows *rows = gather->graphs->rows;
	const struct row_group *group = &rows->private->groups.data[index];
	const struct fold_piece *piece = &rows->fold->pieces[group->inner];
	if (group->event)
		return;
	part->stamp++;
	uint32_t self = find_hot(gather->graphs, group->actor, group->self, group->extra);
	if (self != FOLD_NONE)
		part->seen[self] = part->stamp;
	for (uint32_t at = piece->frame_count; at-- > 0;) {
		uint32_t place = rows->private->caller_class[rows->fold->frame_ids[piece->frames + at]];
		add_ref(gather, part, find_hot(gather->graphs, group->actor, place, group->extra), index | REF_GROUP, at);
	}
}

static bool inner_has(const struct rows *rows, const struct fold_piece *inner, uint32_t place)
{
	for (uint32_t i = 0; i < inner->frame_count; i++)
		if (rows->private->caller_class[rows->fold->frame_ids[inner->frames + i]] == place)
			return true;
	return false;
}

static void visit_entry(const struct gather *gather, struct part *part, uint32_t index)
{
	const struct rows *rows = gather->graphs->rows;
	const struct rows_private *private = rows->private;
	const struct fold *fold = rows->fold;
	const struct fold_entry *entry = &fold->entries[index];
	if (rows_event(rows, entry) != (int)gather->graphs->options.event || (entry->inner == FOLD_NONE && entry->outer == FOLD_NONE))
		return;
	uint32_t depth = fold_depth(fold, entry), actor = private->actor_class[entry->actor], extra = rows_entry_extra(rows, entry);
	bool caller = rows->options.caller_order;
	part->stamp++;
	add_ref(gather, part, find_hot(gather->graphs, actor, rows_self_place(rows, entry), extra), index, caller ? depth - 1 : 0);
	if (!rows->options.children)
		return;
	const struct fold_piece *inner = entry->inner == FOLD_NONE ? NULL : &fold->pieces[entry->inner];
	bool grouped = caller && inner;
	for (uint32_t i = 0; i < depth - (grouped ? inner->frame_count : 0); i++) {
		uint32_t at = caller ? depth - 1 - i : i;
		uint32_t place = private->caller_class[fold_frame_id(fold, entry, at)];
		uint32_t hot = find_hot(gather->graphs, actor, place, extra);
		/* In caller order the outermost one counts: the group must not add it again. That is so rare that such rows are left to the group. */
		if (hot != FOLD_NONE && grouped && inner_has(rows, inner, place))
			continue;
		add_ref(gather, part, hot, index, at);
	}
}

static void scan_part(void *context, unsigned int worker, size_t item)
{
	const struct gather *gather = context;
	const struct rows *rows = gather->graphs->rows;
	struct part *part = &gather->parts[item];
	size_t shares = gather->part_count / 2, share = item % shares;
	bool groups = item >= shares;
	size_t total = !groups ? rows->fold->entry_count : rows->options.caller_order ? rows->private->groups.len : 0;
	(void)worker;
	memset(part->seen, 0, gather->graphs->hot_count * sizeof(*part->seen));
	part->stamp = 0;
	for (size_t i = total * share / shares; i < total * (share + 1) / shares; i++)
		(groups ? visit_group : visit_entry)(gather, part, (uint32_t)i);
}

static void scan(struct gather *gather)
{
	pool_run(gather->part_count / 2, gather->part_count, scan_part, gather);
}

/* How many references a hot row has. */
static uint32_t ref_count(const struct gather *gather, uint32_t hot)
{
	uint32_t count = 0;
	for (unsigned int i = 0; i < gather->part_count; i++)
		count += gather->parts[i].counts[hot];
	return count;
}

struct batch {
	struct callgraphs *graphs;
	struct gather *gather;
	struct grower *growers;
	struct ref **lists; /* by hot row of the batch */
};

static void build_row(void *context, unsigned int worker, size_t item)
{
	struct batch *batch = context;
	const struct callgraphs *graphs = batch->graphs;
	struct grower *grower = &batch->growers[worker];
	uint32_t hot = batch->gather->first + (uint32_t)item, count = ref_count(batch->gather, hot);
	if (!grower->group_of)
		grower->group_of = mem_zalloc_table(graphs->rows->fold->frame_count + 1, sizeof(*grower->group_of));
	if (count > grower->cap) {
		free(grower->other);
		free(grower->frames);
		grower->other = mem_alloc_array(count, sizeof(*grower->other));
		grower->frames = mem_alloc_array(count, sizeof(*grower->frames));
		grower->cap = count;
	}
	struct calltree *tree = calltree_create();
	for (uint32_t i = 0; i < count; i++) {
		struct weight weight = ref_weight(graphs, &batch->lists[item][i]);
		tree->root.total += weight.period;
		tree->root.total_count += weight.count;
	}
	grow(graphs, grower, tree, &tree->root, batch->lists[item], count, grower->other);
	graphs->trees[hot] = tree;
}

static void build_batch(struct callgraphs *graphs, struct gather *gather)
{
	unsigned int jobs = graphs->rows->options.jobs ? graphs->rows->options.jobs : 1;
	size_t total = 0, rows = gather->end - gather->first;
	for (uint32_t h = gather->first; h < gather->end; h++) {
		for (unsigned int i = 0; i < gather->part_count; i++) {
			gather->parts[i].next[h] = (uint32_t)total;
			total += gather->parts[i].counts[h];
		}
	}
	gather->refs = mem_alloc_array(total + 1, sizeof(*gather->refs));
	scan(gather);
	struct batch batch = {.graphs = graphs, .gather = gather};
	batch.growers = mem_zalloc_array(jobs, sizeof(*batch.growers));
	batch.lists = mem_alloc_array(rows + 1, sizeof(*batch.lists));
	for (size_t i = 0, at = 0; i < rows; at += ref_count(gather, gather->first + (uint32_t)i), i++)
		batch.lists[i] = gather->refs + at;
	pool_run(jobs, rows, build_row, &batch);
	for (unsigned int i = 0; i < jobs; i++) {
		free(batch.growers[i].group_of);
		free(batch.growers[i].other);
		free(batch.growers[i].frames);
	}
	for (uint32_t h = gather->first; h < gather->end; h++)
		label_nodes(graphs, &graphs->trees[h]->root);
	free(batch.growers);
	free(batch.lists);
	free(gather->refs);
	gather->refs = NULL;
}

static void build_all(struct callgraphs *graphs)
{
	unsigned int jobs = graphs->rows->options.jobs ? graphs->rows->options.jobs : 1;
	struct gather gather = {.graphs = graphs, .part_count = jobs * 2};
	gather.parts = mem_zalloc_array(gather.part_count, sizeof(*gather.parts));
	uint32_t *arrays = mem_zalloc_array((graphs->hot_count + 1) * gather.part_count, 3 * sizeof(*arrays));
	for (unsigned int i = 0; i < gather.part_count; i++) {
		gather.parts[i].seen = arrays + (graphs->hot_count + 1) * (3 * i);
		gather.parts[i].counts = gather.parts[i].seen + graphs->hot_count + 1;
		gather.parts[i].next = gather.parts[i].counts + graphs->hot_count + 1;
	}
	scan(&gather);
	while (gather.first < graphs->hot_count) {
		size_t refs = 0;
		gather.end = gather.first;
		while (gather.end < graphs->hot_count && (!refs || refs + ref_count(&gather, gather.end) <= REFS_PER_BATCH))
			refs += ref_count(&gather, gather.end++);
		build_batch(graphs, &gather);
		gather.first = gather.end;
	}
	free(arrays);
	free(gather.parts);
}

static void add_hot(struct callgraphs *graphs, uint32_t row)
{
	const struct rows_row *r = &graphs->rows->rows[row];
	id_table_insert(&graphs->hot_ids, rows_hash(r->actor, r->place, r->extra), (uint32_t)graphs->hot_count);
	graphs->hot_places[r->place / 64] |= (uint64_t)1 << (r->place % 64);
	graphs->hot_rows[graphs->hot_count++] = row;
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

/* Call graphs: which rows have one, and what belongs to them.
 *
 * All stacks in order are one trie (callgraph_trie.h). A row's call graph is what hangs below its place, added up: the subtrees of the
 * nodes of that place that have none of them above.
 *
 *	main ── run ──┬── read ── copy        the graph of `read`:   read ──┬── copy
 *	              └── parse ── read ── fill                             └── fill
 *
 * One walk over all stacks finds where these subtrees begin, for all rows; a tree is grown when its row is shown (callgraph_grow.c), so
 * that no more of them are in memory than are being shown.
 */
#include "analysis/report/callgraph_internal.h"
#include "analysis/report/fold_internal.h"
#include "analysis/report/rows_internal.h"
#include "analysis/source_lines.h"
#include "base/mem.h"
#include "base/pool.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t find_hot(const struct callgraphs *graphs, uint32_t actor, uint32_t place, uint32_t extra)
{
	if (!(graphs->hot_places[place / 64] >> (place % 64) & 1))
		return FOLD_NONE;
	struct id_probe probe;
	for (uint32_t id = id_table_first(&graphs->hot_ids, rows_hash(actor, place, extra), &probe); id != ID_NONE;
	     id = id_table_next(&graphs->hot_ids, &probe)) {
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

static const char *make_label(const struct rows *rows, struct intern *strings, uint32_t id)
{
	const struct fold_frame *frame = &rows->fold->frames[id];
	bool by_address = rows->fold->private->options.by_address, inlined = frame->symbol && frame->symbol->inlined;
	if (frame->symbol && !by_address && !inlined)
		return intern_string(strings, frame->symbol->name);
	if (frame->symbol) {
		struct strbuf place = {0};
		strbuf_add_str(&place, frame->symbol->name);
		if (by_address && *source_lines_file(rows->context->lines, frame, true))
			strbuf_printf(&place, " %s", source_lines_line(rows->context->lines, frame, true));
		else if (by_address)
			strbuf_printf(&place, " +%lu", map_to_dso(frame->map, frame->ip) - frame->symbol->start);
		if (inlined)
			strbuf_add_str(&place, " (inlined)");
		const char *label = intern_string(strings, strbuf_str(&place));
		strbuf_deinit(&place);
		return label;
	}
	char text[32];
	snprintf(text, sizeof(text), "%#lx", frame->ip);
	return intern_string(strings, text);
}

static const char *label_of(struct callgraphs *graphs, uint32_t frame)
{
	if (!graphs->labels[frame])
		graphs->labels[frame] = make_label(graphs->rows, &graphs->strings, frame);
	return graphs->labels[frame];
}

/* With graphs->lock. */
static void label_nodes(struct callgraphs *graphs, struct calltree_node *node)
{
	for (struct calltree_node *child = node->children; child; child = child->sibling) {
		child->label = label_of(graphs, (uint32_t)(uintptr_t)child->label);
		label_nodes(graphs, child);
	}
}

/* ---- what hot rows consist of ---- */

/* Stacks one after the other. A root is open as long as stacks go through it. */
struct open_root {
	uint32_t depth, hot;
};

struct search {
	const struct callgraphs *graphs;
	struct callgraph_part *part;
	bool *is_open; /* by hot row */
	VEC(struct open_root) open;
};

static void close_roots(struct search *search, uint32_t depth)
{
	while (search->open.len && vec_last(&search->open)->depth >= depth)
		search->is_open[search->open.data[--search->open.len].hot] = false;
}

static void look_at(struct search *search, uint32_t position, const struct fold_entry *entry, uint32_t frame, uint32_t depth)
{
	const struct callgraphs *graphs = search->graphs;
	const struct rows *rows = graphs->rows;
	if (!(graphs->hot_frames[frame / 64] >> (frame % 64) & 1))
		return;
	uint32_t hot = find_hot(graphs, rows->private->actor_class[entry->actor], rows->private->caller_class[frame],
				rows_entry_extra(rows, entry));
	if (hot == FOLD_NONE || search->is_open[hot])
		return;
	vec_push(&search->part->rows[hot].roots, (struct hot_root){.first = position, .depth = depth});
	vec_push(&search->open, (struct open_root){.depth = depth, .hot = hot});
	search->is_open[hot] = true;
}

/* The nodes that the stack doesn't share with the one before it. */
static void find_roots(struct search *search, uint32_t position, const struct fold_entry *entry)
{
	const struct stack_order *order = search->graphs->order;
	uint32_t shared = position == search->part->begin ? 0 : order->shared[position], depth = stack_order_depth(order, entry);
	close_roots(search, shared);
	for (uint32_t at = shared; at < depth; at++)
		look_at(search, position, entry, stack_order_frame(order, entry, depth, at), at);
}

static void find_own(struct search *search, uint32_t position, const struct fold_entry *entry)
{
	const struct rows *rows = search->graphs->rows;
	uint32_t hot = find_hot(search->graphs, rows->private->actor_class[entry->actor], rows_self_place(rows, entry),
				rows_entry_extra(rows, entry));
	if (hot != FOLD_NONE)
		vec_push(&search->part->rows[hot].own, position);
}

static void search_part(void *context, unsigned int worker, size_t number)
{
	enum { AHEAD = 16 };
	struct callgraphs *graphs = context;
	const struct rows *rows = graphs->rows;
	struct search search = {.graphs = graphs, .part = &graphs->parts[number]};
	search.is_open = mem_zalloc_array(graphs->hot_count + 1, sizeof(*search.is_open));
	(void)worker;
	for (uint32_t i = search.part->begin; i < search.part->end; i++) {
		if (i + AHEAD < search.part->end)
			__builtin_prefetch(stack_order_entry(graphs->order, i + AHEAD));
		const struct fold_entry *entry = stack_order_entry(graphs->order, i);
		if (rows_event(rows, entry) != (int)graphs->options.event)
			continue;
		if (entry->inner != FOLD_NONE || entry->outer != FOLD_NONE)
			find_own(&search, i, entry);
		if (rows->options.children)
			find_roots(&search, i, entry);
	}
	vec_deinit(&search.open);
	free(search.is_open);
}

static void search_all(struct callgraphs *graphs, unsigned int jobs)
{
	graphs->parts = mem_zalloc_array(jobs, sizeof(*graphs->parts));
	graphs->part_count = jobs;
	for (unsigned int i = 0; i < jobs; i++) {
		graphs->parts[i].begin = (uint32_t)((uint64_t)graphs->order->count * i / jobs);
		graphs->parts[i].end = (uint32_t)((uint64_t)graphs->order->count * (i + 1) / jobs);
		graphs->parts[i].rows = mem_zalloc_array(graphs->hot_count + 1, sizeof(*graphs->parts[i].rows));
	}
	pool_run(jobs, jobs, search_part, graphs);
}

/* ---- growing ---- */

static struct grower *take_grower(struct callgraphs *graphs)
{
	struct grower *grower = NULL;
	pthread_mutex_lock(&graphs->lock);
	if (graphs->idle.len)
		grower = graphs->idle.data[--graphs->idle.len];
	pthread_mutex_unlock(&graphs->lock);
	return grower ? grower : grower_create(graphs);
}

static struct calltree *grow(struct callgraphs *graphs, size_t hot, bool labels, bool shallow)
{
	struct grower *grower = take_grower(graphs);
	struct calltree *tree = callgraph_grow(graphs, grower, hot, shallow);
	pthread_mutex_lock(&graphs->lock);
	vec_push(&graphs->idle, grower);
	if (labels)
		label_nodes(graphs, &tree->root);
	pthread_mutex_unlock(&graphs->lock);
	return tree;
}

static void grow_item(void *context, unsigned int worker, size_t hot)
{
	struct callgraphs *graphs = context;
	(void)worker;
	graphs->trees[hot] = grow(graphs, hot, false, false);
}

/* Where labels have source lines: those are looked for on one thread, while no other one asks for any. */
static void grow_all(struct callgraphs *graphs, unsigned int jobs)
{
	pool_run(jobs, graphs->hot_count, grow_item, graphs);
	for (size_t i = 0; i < graphs->hot_count; i++)
		label_nodes(graphs, &graphs->trees[i]->root);
}

static void mark_frames(struct callgraphs *graphs)
{
	const struct rows *rows = graphs->rows;
	size_t count = rows->fold->frame_count;
	graphs->hot_frames = mem_zalloc_array(count / 64 + 1, sizeof(*graphs->hot_frames));
	for (size_t i = 0; i < count; i++) {
		uint32_t place = rows->private->caller_class[i];
		if (place != FOLD_NONE && graphs->hot_places[place / 64] >> (place % 64) & 1)
			graphs->hot_frames[i / 64] |= (uint64_t)1 << (i % 64);
	}
}

static void prepare(struct callgraphs *graphs)
{
	struct rows *rows = graphs->rows;
	unsigned int jobs = rows->options.jobs ? rows->options.jobs : 1;
	graphs->order = rows_stack_order(rows);
	graphs->labels = mem_zalloc_table(rows->fold->frame_count + 1, sizeof(*graphs->labels));
	graphs->trees = mem_zalloc_array(graphs->hot_count + 1, sizeof(*graphs->trees));
	if (rows->options.children) {
		callgraph_trie_init(&graphs->trie, graphs->order, NULL, graphs->order->count, jobs);
		mark_frames(graphs);
	}
	search_all(graphs, jobs);
	/* Lists have grown: what they have left behind is for the trees. */
	if (rows->fold->entry_count > FOLD_MUCH)
		malloc_trim(0);
	if (rows->fold->private->options.by_address)
		grow_all(graphs, jobs);
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
	pthread_mutex_init(&graphs->lock, NULL);
	uint64_t total = options->relative ? rows->total_shown[options->event] : rows->total[options->event];
	graphs->min_hit = (uint64_t)((double)total * (options->min_percent / 100));
	graphs->hot_places =
		mem_zalloc_array(rows->private->classes[CLASS_PLACE].representatives.len / 64 + 1, sizeof(*graphs->hot_places));
	graphs->hot_rows = mem_alloc_array(rows->shown_count + 1, sizeof(*graphs->hot_rows));
	for (size_t i = 0; i < rows->shown_count; i++) {
		uint32_t row = rows->order[i];
		uint64_t value = row_value(rows, row, options->event);
		if (!value || (options->mode != CALLGRAPH_PRINT_FRACTAL && value < graphs->min_hit) ||
		    100.0 * (double)value / (double)total < options->least_row)
			continue;
		add_hot(graphs, row);
	}
	prepare(graphs);
	return graphs;
}

static void parts_destroy(struct callgraphs *graphs)
{
	for (unsigned int i = 0; i < graphs->part_count; i++) {
		for (size_t hot = 0; hot < graphs->hot_count; hot++) {
			vec_deinit(&graphs->parts[i].rows[hot].own);
			vec_deinit(&graphs->parts[i].rows[hot].roots);
		}
		free(graphs->parts[i].rows);
	}
	free(graphs->parts);
}

void callgraphs_destroy(struct callgraphs *graphs)
{
	if (!graphs)
		return;
	for (size_t i = 0; i < graphs->hot_count; i++)
		calltree_destroy(graphs->trees[i]);
	for (size_t i = 0; i < graphs->idle.len; i++)
		grower_destroy(graphs->idle.data[i]);
	vec_deinit(&graphs->idle);
	parts_destroy(graphs);
	callgraph_trie_deinit(&graphs->trie);
	pthread_mutex_destroy(&graphs->lock);
	free(graphs->trees);
	free(graphs->labels);
	intern_deinit(&graphs->strings);
	free(graphs->hot_places);
	free(graphs->hot_frames);
	id_table_deinit(&graphs->hot_ids);
	free(graphs->hot_rows);
	free(graphs);
}

struct calltree *callgraphs_row(struct callgraphs *graphs, uint32_t row, bool shallow)
{
	const struct rows_row *r = &graphs->rows->rows[row];
	uint32_t hot = find_hot(graphs, r->actor, r->place, r->extra);
	if (hot == FOLD_NONE)
		return NULL;
	pthread_mutex_lock(&graphs->lock);
	struct calltree *tree = graphs->trees[hot];
	graphs->trees[hot] = NULL;
	pthread_mutex_unlock(&graphs->lock);
	return tree ? tree : grow(graphs, hot, true, shallow);
}

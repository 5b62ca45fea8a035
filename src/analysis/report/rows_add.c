/* Rows: adding up.
 *
 * Callers are added once for all stacks that share them: stacks in order (stack_order.h) are a trie, and a node of it adds the sum of the
 * stacks below to its row, unless there is a node of the same row above it. What was sampled at the row itself counts there already, and is
 * taken off.
 *
 *	main ──┬── read ──┬── copy      rows: main, read, copy, parse; the lower `read` adds nothing
 *	       │          └── read
 *	       └── parse
 *
 * Every worker adds a range of the stacks to a set of its own; the sets are merged. What comes out depends on neither.
 */
#include "analysis/report/rows_internal.h"

#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

struct row_set {
	VEC(struct rows_row) rows;
	VEC(struct row_sums) sums;
	VEC(struct row_modes) modes;
	VEC(uint16_t) depths;
	VEC(bool) open; /* a node of the path adds to it */
	struct id_table ids;
};

/* A frame of the stack that was added last, and what is known of the stacks that share it. */
struct path_node {
	uint64_t before; /* period of the stacks before the first of them */
	uint32_t row;
	uint32_t first;	  /* entry */
	uint32_t longest; /* frames of the longest stack */
	bool adds;	  /* no node above has the same row */
};

struct adder {
	struct rows *rows;
	struct row_set set;
	VEC(struct path_node) path;
	uint64_t period;  /* of the stacks so far */
	uint64_t *totals; /* as rows->total: four arrays */
};

static void note_first(struct rows_row *row, uint32_t entry, uint32_t depth)
{
	if (entry > row->first || (entry == row->first && depth >= row->first_depth))
		return;
	row->first = entry;
	row->first_depth = depth;
}

static uint32_t row_for(struct adder *adder, uint32_t actor, uint32_t place, uint32_t extra, uint32_t entry, uint32_t depth)
{
	struct row_set *set = &adder->set;
	const struct rows_options *options = &adder->rows->options;
	uint32_t hash = rows_hash(actor, place, extra);
	struct id_probe probe;
	for (uint32_t id = id_table_first(&set->ids, hash, &probe); id != ID_NONE; id = id_table_next(&set->ids, &probe)) {
		struct rows_row *row = &set->rows.data[id];
		if (row->actor != actor || row->place != place || row->extra != extra)
			continue;
		note_first(row, entry, depth);
		return id;
	}
	uint32_t id = (uint32_t)set->rows.len;
	vec_push(&set->rows, (struct rows_row){.actor = actor, .place = place, .extra = extra, .first = entry, .first_depth = depth});
	for (size_t i = 0; i < options->event_count; i++) {
		vec_push(&set->sums, (struct row_sums){0});
		if (options->by_mode)
			vec_push(&set->modes, (struct row_modes){0});
	}
	if (options->children) {
		vec_push(&set->depths, 0);
		vec_push(&set->open, false);
	}
	id_table_insert(&set->ids, hash, id);
	return id;
}

static void add_mode(struct row_modes *modes, uint8_t cpumode, uint64_t period)
{
	switch (cpumode) {
	case CPUMODE_KERNEL:
		modes->sys += period;
		break;
	case CPUMODE_USER:
		modes->us += period;
		break;
	case CPUMODE_GUEST_KERNEL:
		modes->guest_sys += period;
		break;
	case CPUMODE_GUEST_USER:
		modes->guest_us += period;
		break;
	}
}

static void note_depth(struct row_set *set, uint32_t row, uint32_t depth)
{
	if (depth > UINT16_MAX)
		depth = UINT16_MAX;
	if (depth > set->depths.data[row])
		set->depths.data[row] = (uint16_t)depth;
}

static struct row_sums *sums_of(struct adder *adder, uint32_t row, unsigned int event)
{
	return &adder->set.sums.data[row * adder->rows->options.event_count + event];
}

/* The sample's own row. What it has there from a node above is taken off. */
static void add_self(struct adder *adder, const struct fold_entry *entry, uint32_t row, unsigned int event, uint32_t depth)
{
	struct row_sums *sums = sums_of(adder, row, event);
	sums->period += entry->period;
	sums->count += entry->count;
	if (adder->rows->options.by_mode)
		add_mode(&adder->set.modes.data[row * adder->rows->options.event_count + event], entry->cpumode, entry->period);
	if (!adder->rows->options.children)
		return;
	if (!adder->set.open.data[row])
		sums->children += entry->period;
	note_depth(&adder->set, row, depth);
}

/* Ends the path's nodes from `depth` on. */
static void close_path(struct adder *adder, unsigned int event, uint32_t depth)
{
	while (adder->path.len > depth) {
		const struct path_node node = adder->path.data[--adder->path.len];
		uint32_t at = (uint32_t)adder->path.len;
		note_first(&adder->set.rows.data[node.row], node.first, at + 1);
		note_depth(&adder->set, node.row, node.longest - at);
		if (node.adds) {
			sums_of(adder, node.row, event)->children += adder->period - node.before;
			adder->set.open.data[node.row] = false;
		}
		if (!at)
			return;
		struct path_node *parent = &adder->path.data[at - 1];
		parent->first = node.first < parent->first ? node.first : parent->first;
		parent->longest = node.longest > parent->longest ? node.longest : parent->longest;
	}
}

static void open_node(struct adder *adder, uint32_t row, uint32_t entry, uint32_t depth)
{
	bool *open = &adder->set.open.data[row];
	vec_push(&adder->path, (struct path_node){.before = adder->period, .row = row, .first = entry, .longest = depth, .adds = !*open});
	*open = true;
}

/* The path becomes the entry's; `shared` frames of it stay. */
static void follow(struct adder *adder, uint32_t index, uint32_t shared, uint32_t depth)
{
	const struct rows *rows = adder->rows;
	const struct fold_entry *entry = &rows->fold->entries[index];
	uint32_t actor = rows->private->actor_class[entry->actor], extra = rows_entry_extra(rows, entry);
	for (uint32_t at = shared; at < depth; at++) {
		uint32_t frame = stack_order_frame(rows->private->order, entry, depth, at);
		open_node(adder, row_for(adder, actor, rows->private->caller_class[frame], extra, index, at + 1), index, depth);
	}
	if (!depth)
		return;
	struct path_node *last = vec_last(&adder->path);
	last->first = index < last->first ? index : last->first;
	last->longest = depth > last->longest ? depth : last->longest;
}

static void add_totals(struct adder *adder, const struct fold_entry *entry, unsigned int event, uint32_t extra)
{
	const struct rows *rows = adder->rows;
	const struct rows_options *options = &rows->options;
	size_t events = options->event_count;
	adder->totals[event] += entry->period;
	adder->totals[2 * events + event] += entry->count;
	if (options->shown && !options->shown(options->context, rows->fold, entry))
		return;
	if (options->exclude_other && rows->private->parent_key && !rows->private->parents.data[extra].parent)
		return;
	if (!options->place_shown || options->place_shown(options->context, &rows->fold->frames[entry->leaf]))
		adder->totals[events + event] += entry->period;
	adder->totals[3 * events + event] += entry->count;
}

/* `path_event`: of the entry before, whose the path is. */
static void add_entry(struct adder *adder, uint32_t index, uint32_t shared, int *path_event)
{
	const struct rows *rows = adder->rows;
	const struct fold_entry *entry = &rows->fold->entries[index];
	int event = rows_event(rows, entry);
	uint32_t place = rows_self_place(rows, entry), extra = rows_entry_extra(rows, entry), depth = fold_depth(rows->fold, entry);
	if (rows->options.children) {
		close_path(adder, (unsigned int)*path_event, shared);
		*path_event = event;
		follow(adder, index, shared, stack_order_depth(rows->private->order, entry));
	}
	add_totals(adder, entry, (unsigned int)event, extra);
	add_self(adder, entry, row_for(adder, rows->private->actor_class[entry->actor], place, extra, index, 0), (unsigned int)event,
		 depth);
	adder->period += entry->period;
}

/* Entries of other events and branches that lead nowhere count nowhere. */
static bool is_counted(const struct rows *rows, const struct fold_entry *entry)
{
	return rows_event(rows, entry) >= 0 && rows_self_place(rows, entry) != FOLD_NONE;
}

static bool is_left_out(const struct rows *rows, const struct fold_entry *entry)
{
	const struct rows_options *options = &rows->options;
	return options->shown_only && !options->shown(options->context, rows->fold, entry);
}

/* Has a row. */
static bool is_added(const struct rows *rows, const struct fold_entry *entry)
{
	return is_counted(rows, entry) && !is_left_out(rows, entry);
}

struct adding {
	struct rows *rows;
	struct adder *adders;
	unsigned int jobs;
};

static void add_range(void *context, unsigned int worker, size_t item)
{
	struct adding *adding = context;
	const struct rows *rows = adding->rows;
	const struct stack_order *order = rows->private->order;
	struct adder *adder = &adding->adders[item];
	uint64_t count = order ? order->count : rows->fold->entry_count, begin = count * item / adding->jobs,
		 end = count * (item + 1) / adding->jobs;
	int event = 0;
	(void)worker;
	for (uint64_t i = begin; i < end; i++) {
		enum { AHEAD = 16 };
		uint32_t index = order ? order->entries[i] : (uint32_t)i;
		if (order && i + AHEAD < end)
			__builtin_prefetch(stack_order_entry(order, i + AHEAD));
		if (is_added(rows, &rows->fold->entries[index]))
			add_entry(adder, index, order && i > begin ? order->shared[i] : 0, &event);
	}
	close_path(adder, (unsigned int)event, 0);
	vec_deinit(&adder->path);
}

static void merge_row(struct adder *into, const struct adder *from, uint32_t id)
{
	const struct rows_options *options = &into->rows->options;
	const struct rows_row *row = &from->set.rows.data[id];
	uint32_t to = row_for(into, row->actor, row->place, row->extra, row->first, row->first_depth);
	for (size_t i = 0; i < options->event_count; i++) {
		const struct row_sums *sums = &from->set.sums.data[id * options->event_count + i];
		struct row_sums *sum = &into->set.sums.data[to * options->event_count + i];
		sum->period += sums->period;
		sum->children += sums->children;
		sum->count += sums->count;
	}
	for (size_t i = 0; options->by_mode && i < options->event_count; i++) {
		const struct row_modes *modes = &from->set.modes.data[id * options->event_count + i];
		struct row_modes *sum = &into->set.modes.data[to * options->event_count + i];
		sum->sys += modes->sys;
		sum->us += modes->us;
		sum->guest_sys += modes->guest_sys;
		sum->guest_us += modes->guest_us;
	}
	if (options->children)
		note_depth(&into->set, to, from->set.depths.data[id]);
}

static void adder_deinit(struct adder *adder)
{
	vec_deinit(&adder->set.rows);
	vec_deinit(&adder->set.sums);
	vec_deinit(&adder->set.modes);
	vec_deinit(&adder->set.depths);
	vec_deinit(&adder->set.open);
	id_table_deinit(&adder->set.ids);
	free(adder->totals);
}

static void merge(struct adder *into, struct adder *from)
{
	vec_deinit(&from->set.open);
	id_table_deinit(&from->set.ids);
	for (uint32_t i = 0; i < from->set.rows.len; i++)
		merge_row(into, from, i);
	for (size_t i = 0; i < into->rows->options.event_count * 4; i++)
		into->totals[i] += from->totals[i];
	adder_deinit(from);
}

/* Numbers the combinations of actor, extra and event. */
static uint32_t *make_sections(const struct rows *rows)
{
	struct section {
		uint32_t actor, extra;
		int event;
	};
	VEC(struct section) known = {0};
	struct id_table ids = {0};
	uint32_t *sections = mem_alloc_array(rows->fold->entry_count + 1, sizeof(*sections));
	for (size_t i = 0; i < rows->fold->entry_count; i++) {
		const struct fold_entry *entry = &rows->fold->entries[i];
		sections[i] = FOLD_NONE;
		if (!is_added(rows, entry))
			continue;
		const struct section wanted = {rows->private->actor_class[entry->actor], rows_entry_extra(rows, entry),
					       rows_event(rows, entry)};
		uint32_t hash = rows_hash(wanted.actor, wanted.extra, (uint32_t)wanted.event);
		struct id_probe probe;
		uint32_t id = id_table_first(&ids, hash, &probe);
		while (id != ID_NONE && memcmp(&known.data[id], &wanted, sizeof(wanted)))
			id = id_table_next(&ids, &probe);
		if (id == ID_NONE) {
			id = (uint32_t)known.len;
			vec_push(&known, wanted);
			id_table_insert(&ids, hash, id);
		}
		sections[i] = id;
	}
	vec_deinit(&known);
	id_table_deinit(&ids);
	return sections;
}

const struct stack_order *rows_stack_order(struct rows *rows)
{
	struct rows_private *private = rows->private;
	if (!private->order) {
		private->sections = make_sections(rows);
		private->order = stack_order_create(rows->fold, private->sections, rows->options.caller_order,
						    rows->options.jobs ? rows->options.jobs : 1);
	}
	return private->order;
}

static void add_totals_of_left_out(struct adder *adder)
{
	const struct rows *rows = adder->rows;
	for (size_t i = 0; rows->options.shown_only && i < rows->fold->entry_count; i++) {
		const struct fold_entry *entry = &rows->fold->entries[i];
		if (is_counted(rows, entry) && is_left_out(rows, entry))
			add_totals(adder, entry, (unsigned int)rows_event(rows, entry), rows_entry_extra(rows, entry));
	}
}

void rows_add_all(struct rows *rows)
{
	unsigned int jobs = rows->options.jobs ? rows->options.jobs : 1;
	struct adding adding = {.rows = rows, .jobs = jobs, .adders = mem_zalloc_array(jobs, sizeof(struct adder))};
	if (rows->options.children)
		rows_stack_order(rows);
	for (unsigned int i = 0; i < jobs; i++) {
		adding.adders[i].rows = rows;
		adding.adders[i].totals = mem_zalloc_array(rows->options.event_count * 4 + 1, sizeof(uint64_t));
	}
	pool_run(jobs, jobs, add_range, &adding);
	struct adder *sum = &adding.adders[0];
	for (unsigned int i = 1; i < jobs; i++)
		merge(sum, &adding.adders[i]);
	add_totals_of_left_out(sum);
	rows->rows = sum->set.rows.data;
	rows->row_count = sum->set.rows.len;
	rows->sums = sum->set.sums.data;
	rows->modes = sum->set.modes.data;
	rows->private->depths = sum->set.depths.data;
	id_table_deinit(&sum->set.ids);
	for (size_t i = 0; i < rows->options.event_count * 4; i++)
		rows->total[i] = sum->totals[i];
	vec_deinit(&sum->set.open);
	free(sum->totals);
	free(adding.adders);
}

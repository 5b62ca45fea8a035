/* Rows: adding up.
 *
 * Kernel parts of stacks repeat a lot, user parts hardly: entries with the same kernel part (and the same row of their own) form a group, whose frames are
 * looked at once.
 *
 *	entry  = self + kernel part + user part
 *	group  = self + kernel part            sum of many entries: adds to the rows of self and of the kernel part's frames
 *	entry                        user part adds to the rows of its frames
 *
 * Once for each row: a stamp in the row says that this entry or group was there. A user frame's row that a kernel frame of the same stack has too (when the
 * keys don't tell them apart) is found by looking through the kernel part: it is skipped, the group adds to it.
 *
 * Every worker adds a range of entries to a set of its own; the sets are merged. What comes out depends on neither.
 */
#include "analysis/rows_internal.h"

#include "base/pool.h"

#include <stdlib.h>

struct row_set {
	VEC(struct rows_row) rows;
	VEC(struct row_sums) sums;
	VEC(struct row_modes) modes;
	VEC(uint16_t) depths;
	VEC(uint32_t) stamps;
	struct id_table ids;
};

struct adder {
	struct rows *rows;
	struct row_set set;
	VEC(struct row_group) groups;
	struct id_table group_ids;
	uint64_t *totals; /* as rows->total: four arrays */
	uint32_t stamp;
	const uint64_t *inner_classes; /* bitmap: places that kernel parts have */
};

static uint32_t row_for(struct adder *adder, uint32_t actor, uint32_t place, uint32_t extra, uint32_t entry)
{
	struct row_set *set = &adder->set;
	const struct rows_options *options = &adder->rows->options;
	uint32_t hash = rows_hash(actor, place, extra);
	struct id_probe probe;
	for (uint32_t id = id_table_first(&set->ids, hash, &probe); id != ID_NONE; id = id_table_next(&set->ids, &probe)) {
		struct rows_row *row = &set->rows.data[id];
		if (row->actor != actor || row->place != place || row->extra != extra)
			continue;
		if (entry < row->first)
			row->first = entry;
		return id;
	}
	uint32_t id = (uint32_t)set->rows.len;
	vec_push(&set->rows, (struct rows_row){.actor = actor, .place = place, .extra = extra, .first = entry});
	for (size_t i = 0; i < options->event_count; i++) {
		vec_push(&set->sums, (struct row_sums){0});
		if (options->by_mode)
			vec_push(&set->modes, (struct row_modes){0});
	}
	if (options->children) {
		vec_push(&set->depths, 0);
		vec_push(&set->stamps, 0);
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

/* Adds a caller's frame, unless its row has this stamp. `depth`: frames from it to the end of the chain. */
static void add_caller(struct adder *adder, const struct row_group *group, uint32_t place, uint32_t depth)
{
	uint32_t row = row_for(adder, group->actor, place, group->extra, group->first);
	note_depth(&adder->set, row, depth);
	if (adder->set.stamps.data[row] == adder->stamp)
		return;
	adder->set.stamps.data[row] = adder->stamp;
	sums_of(adder, row, group->event)->children += group->period;
}

static void add_self(struct adder *adder, const struct row_group *group)
{
	uint32_t row = row_for(adder, group->actor, group->self, group->extra, group->first);
	struct row_sums *sums = sums_of(adder, row, group->event);
	sums->period += group->period;
	sums->count += group->count;
	if (adder->rows->options.by_mode)
		add_mode(&adder->set.modes.data[row * adder->rows->options.event_count + group->event], group->cpumode, group->period);
	if (!adder->rows->options.children)
		return;
	sums->children += group->period;
	adder->set.stamps.data[row] = adder->stamp;
	note_depth(&adder->set, row, group->depth);
}

static bool inner_has(const struct rows *rows, uint32_t inner, uint32_t place)
{
	if (inner == FOLD_NONE)
		return false;
	const struct fold_piece *piece = &rows->fold->pieces[inner];
	for (uint32_t i = 0; i < piece->frame_count; i++)
		if (rows->private->caller_class[rows->fold->frame_ids[piece->frames + i]] == place)
			return true;
	return false;
}

/* The user part. `group` describes the entry alone. */
static void add_outer(struct adder *adder, const struct row_group *group, uint32_t outer)
{
	const struct rows *rows = adder->rows;
	const struct fold_piece *piece = &rows->fold->pieces[outer];
	bool caller_order = rows->options.caller_order;
	uint32_t inner = group->inner == FOLD_NONE ? 0 : rows->fold->pieces[group->inner].frame_count, count = piece->frame_count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = caller_order ? count - 1 - i : i;
		uint32_t place = rows->private->caller_class[rows->fold->frame_ids[piece->frames + at]];
		if (group->inner != FOLD_NONE && place == group->self)
			continue;
		if ((adder->inner_classes[place / 64] >> (place % 64) & 1) && inner_has(rows, group->inner, place))
			continue;
		add_caller(adder, group, place, caller_order ? inner + at + 1 : count - at);
	}
}

static struct row_group *group_for(struct adder *adder, const struct row_group *wanted)
{
	uint64_t who = (uint64_t)wanted->actor << 32 | wanted->extra, where = (uint64_t)wanted->self << 32 | wanted->inner;
	uint32_t hash = (uint32_t)hash_combine(hash_combine(who, where), (uint64_t)wanted->cpumode << 8 | wanted->event);
	struct id_probe probe;
	for (uint32_t id = id_table_first(&adder->group_ids, hash, &probe); id != ID_NONE; id = id_table_next(&adder->group_ids, &probe)) {
		struct row_group *group = &adder->groups.data[id];
		if (group->actor == wanted->actor && group->extra == wanted->extra && group->self == wanted->self && group->inner == wanted->inner &&
		    group->cpumode == wanted->cpumode && group->event == wanted->event)
			return group;
	}
	id_table_insert(&adder->group_ids, hash, (uint32_t)adder->groups.len);
	vec_push(&adder->groups, *wanted);
	vec_last(&adder->groups)->period = vec_last(&adder->groups)->count = 0;
	return vec_last(&adder->groups);
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

static void add_entry(struct adder *adder, uint32_t index)
{
	const struct rows *rows = adder->rows;
	const struct fold_entry *entry = &rows->fold->entries[index];
	int event = rows_event(rows, entry);
	if (event < 0)
		return;
	uint32_t depth = fold_depth(rows->fold, entry);
	struct row_group group = {
		.actor = rows->private->actor_class[entry->actor],
		.extra = rows_entry_extra(rows, entry),
		.self = rows_self_place(rows, entry),
		.inner = entry->inner,
		.first = index,
		.count = entry->count,
		.period = entry->period,
		.depth = (uint16_t)(depth > UINT16_MAX ? UINT16_MAX : depth),
		.cpumode = entry->cpumode,
		.event = (uint8_t)event,
	};
	if (group.self == FOLD_NONE)
		return;
	add_totals(adder, entry, (unsigned int)event, group.extra);
	adder->stamp++;
	if (!rows->options.children || entry->inner == FOLD_NONE) {
		add_self(adder, &group);
	} else {
		struct row_group *known = group_for(adder, &group);
		known->count += group.count;
		known->period += group.period;
		if (group.depth > known->depth)
			known->depth = group.depth;
	}
	if (rows->options.children && entry->outer != FOLD_NONE)
		add_outer(adder, &group, entry->outer);
}

static void add_group(struct adder *adder, const struct row_group *group)
{
	const struct rows *rows = adder->rows;
	const struct fold_piece *piece = &rows->fold->pieces[group->inner];
	bool caller_order = rows->options.caller_order;
	adder->stamp++;
	add_self(adder, group);
	for (uint32_t i = 0; i < piece->frame_count; i++) {
		uint32_t at = caller_order ? piece->frame_count - 1 - i : i;
		uint32_t place = rows->private->caller_class[rows->fold->frame_ids[piece->frames + at]];
		add_caller(adder, group, place, caller_order ? at + 1 : group->depth - at);
	}
}

struct adding {
	struct rows *rows;
	struct adder *adders;
	unsigned int jobs;
};

static void add_range(void *context, unsigned int worker, size_t item)
{
	struct adding *adding = context;
	struct adder *adder = &adding->adders[item];
	uint64_t count = adding->rows->fold->entry_count;
	for (uint64_t i = count * item / adding->jobs; i < count * (item + 1) / adding->jobs; i++)
		add_entry(adder, (uint32_t)i);
	for (size_t i = 0; i < adder->groups.len; i++)
		add_group(adder, &adder->groups.data[i]);
	id_table_deinit(&adder->group_ids);
}

static void merge_row(struct adder *into, const struct adder *from, uint32_t id)
{
	const struct rows_options *options = &into->rows->options;
	const struct rows_row *row = &from->set.rows.data[id];
	uint32_t to = row_for(into, row->actor, row->place, row->extra, row->first);
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
	vec_deinit(&adder->set.stamps);
	id_table_deinit(&adder->set.ids);
	vec_deinit(&adder->groups);
	free(adder->totals);
}

static void merge(struct adder *into, struct adder *from)
{
	vec_deinit(&from->set.stamps);
	id_table_deinit(&from->set.ids);
	for (uint32_t i = 0; i < from->set.rows.len; i++)
		merge_row(into, from, i);
	for (size_t i = 0; i < from->groups.len; i++)
		vec_push(&into->groups, from->groups.data[i]);
	for (size_t i = 0; i < into->rows->options.event_count * 4; i++)
		into->totals[i] += from->totals[i];
	adder_deinit(from);
}

static uint64_t *find_inner_classes(const struct rows *rows)
{
	uint64_t *bitmap = mem_zalloc_array(rows->private->classes[CLASS_PLACE].representatives.len / 64 + 1, sizeof(*bitmap));
	for (size_t i = 0; rows->options.children && i < rows->fold->piece_count; i++) {
		const struct fold_piece *piece = &rows->fold->pieces[i];
		for (uint32_t f = 0; piece->kernel && f < piece->frame_count; f++) {
			uint32_t place = rows->private->caller_class[rows->fold->frame_ids[piece->frames + f]];
			bitmap[place / 64] |= (uint64_t)1 << (place % 64);
		}
	}
	return bitmap;
}

void rows_add_all(struct rows *rows)
{
	unsigned int jobs = rows->options.jobs ? rows->options.jobs : 1;
	struct adding adding = {.rows = rows, .jobs = jobs, .adders = mem_zalloc_array(jobs, sizeof(struct adder))};
	uint64_t *inner_classes = find_inner_classes(rows);
	for (unsigned int i = 0; i < jobs; i++) {
		adding.adders[i].rows = rows;
		adding.adders[i].inner_classes = inner_classes;
		adding.adders[i].totals = mem_zalloc_array(rows->options.event_count * 4 + 1, sizeof(uint64_t));
	}
	pool_run(jobs, jobs, add_range, &adding);
	struct adder *sum = &adding.adders[0];
	for (unsigned int i = 1; i < jobs; i++)
		merge(sum, &adding.adders[i]);
	rows->rows = sum->set.rows.data;
	rows->row_count = sum->set.rows.len;
	rows->sums = sum->set.sums.data;
	rows->modes = sum->set.modes.data;
	rows->private->depths = sum->set.depths.data;
	id_table_deinit(&sum->set.ids);
	rows->private->groups.data = sum->groups.data;
	rows->private->groups.len = sum->groups.len;
	for (size_t i = 0; i < rows->options.event_count * 4; i++)
		rows->total[i] = sum->totals[i];
	vec_deinit(&sum->set.stamps);
	free(sum->totals);
	free(adding.adders);
	free(inner_classes);
}

/* Fold: a feed's distinct pieces and entries.
 *
 * They are far more than fit in the cache, and every look-up waits for memory two or three times in a row. So samples come in batches, and
 * each stage asks for the memory that the next one needs, for all of the batch: the waits overlap.
 *
 *	hashes of pieces ─► their slots ─► pieces ─► hashes of entries ─► their slots ─► entries
 */
#include "analysis/report/fold_internal.h"

#include <string.h>

void fold_set_init(struct fold_set *set, const struct fold_options *options, const uint8_t *records)
{
	*set = (struct fold_set){.copies_records = options->records == FOLD_RECORDS_COPIED,
				 .has_extra = options->extra_words > 0 || options->apart,
				 .apart = options->apart,
				 .records = records};
	set->entry_size = set->has_extra ? sizeof(struct set_entry)
			  : records	 ? offsetof(struct set_entry, first)
					 : offsetof(struct set_entry, extra);
}

void fold_set_deinit(struct fold_set *set)
{
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		fold_pieces_drop(&set->pieces[i]);
		fold_set_drop_entries(&set->entries[i]);
		id_table_deinit(&set->entries[i].ids);
		arena_deinit(&set->entries[i].records);
	}
	vec_deinit(&set->whos);
	vec_deinit(&set->hashes);
}

void fold_set_drop_entries(struct entry_shard *shard)
{
	for (size_t i = 0; i < shard->blocks.len; i++)
		free(shard->blocks.data[i]);
	vec_deinit(&shard->blocks);
	vec_deinit(&shard->wide);
	shard->count = 0;
}

void fold_set_actor(struct fold_set *set, uint32_t actor, uint32_t who)
{
	while (set->whos.len <= actor)
		vec_push(&set->whos, FOLD_NONE);
	set->whos.data[actor] = who;
}

void fold_set_end(struct fold_set *set, bool finds_nothing)
{
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		id_table_deinit(&set->pieces[i].prefixes);
		if (!finds_nothing)
			continue;
		id_table_deinit(&set->pieces[i].ids);
		id_table_deinit(&set->entries[i].ids);
	}
}

/* ---- pieces ---- */

/* The place of that which is probably looked for; or FOLD_NONE. */
static uint32_t likely_place(const struct piece_shard *shard, uint64_t hash)
{
	struct id_probe probe;
	return id_table_first(&shard->ids, (uint32_t)hash, &probe);
}

static void prefetch_own(const struct fold_set *set, uint64_t hash)
{
	enum { CACHE_LINE = 64 };
	const struct piece_shard *shard = &set->pieces[fold_shard(hash)];
	uint32_t place = likely_place(shard, hash);
	if (place == FOLD_NONE)
		return;
	const struct set_piece *piece = fold_pieces_at(shard, place);
	__builtin_prefetch(piece);
	__builtin_prefetch((const char *)piece + CACHE_LINE);
}

static void prefetch_outer(const struct fold_set *set, uint64_t hash)
{
	const struct piece_shard *shard = &set->pieces[fold_shard(hash)];
	uint32_t place = likely_place(shard, hash);
	if (place == FOLD_NONE)
		return;
	const struct set_piece *piece = fold_pieces_at(shard, place);
	if (piece->shared)
		__builtin_prefetch(fold_pieces_of(set, piece->outer));
}

static void begin_piece(const struct fold_set *set, struct fold_stretch *stretch)
{
	if (!stretch->present)
		return;
	stretch->hash = fold_pieces_hash(stretch);
	id_table_prefetch(&set->pieces[fold_shard(stretch->hash)].ids, (uint32_t)stretch->hash);
}

static void add_pieces(struct fold_set *set, struct fold_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		begin_piece(set, &items[i].inner);
		begin_piece(set, &items[i].outer);
	}
	static void (*const stages[])(const struct fold_set *, uint64_t) = {prefetch_own, prefetch_outer};
	for (size_t stage = 0; stage < (set->shares_frames ? 2 : 1); stage++) {
		for (size_t i = 0; i < count; i++) {
			if (items[i].inner.present)
				stages[stage](set, items[i].inner.hash);
			if (items[i].outer.present)
				stages[stage](set, items[i].outer.hash);
		}
	}
	for (size_t i = 0; i < count; i++) {
		struct fold_item *item = &items[i];
		if (item->inner.present)
			item->entry.entry.inner = fold_pieces_add(set, &item->inner, true);
		if (item->outer.present)
			item->entry.entry.outer = fold_pieces_add(set, &item->outer, false);
	}
}

/* ---- entries ---- */

/* Where copies of records are says nothing. */
static bool is_earlier(const struct fold_set *set, const struct set_entry *a, const struct set_entry *kept)
{
	return a->time != kept->time ? a->time < kept->time : a->first < fold_set_first(set, kept) && !set->copies_records;
}

static bool entry_same(const struct fold_set *set, const struct set_entry *x, const struct set_entry *y)
{
	const struct fold_entry *a = &x->entry, *b = &y->entry;
	return a->leaf == b->leaf && a->inner == b->inner && a->outer == b->outer && a->event == b->event && a->cpumode == b->cpumode &&
	       (a->actor == b->actor || set->whos.data[a->actor] == set->whos.data[b->actor]) &&
	       fold_set_extra(set, x) == fold_set_extra(set, y);
}

uint64_t fold_set_hash(const struct fold_set *set, const struct set_entry *of, uint32_t inner_hash, uint32_t outer_hash)
{
	const struct fold_entry *entry = &of->entry;
	uint64_t who = (uint64_t)set->whos.data[entry->actor] << 32 | fold_set_extra(set, of),
		 place = (uint64_t)entry->leaf << 32 ^ (uint64_t)entry->event << 8 ^ entry->cpumode;
	uint64_t stack = ((uint64_t)inner_hash << 32 | outer_hash) + (entry->inner == FOLD_NONE) * 2 + (entry->outer == FOLD_NONE);
	return hash_combine(hash_combine(stack, who), place);
}

/* A copy of the record, in the place of an older one of the entry if it fits there. */
static const struct record_header *copy_record(struct entry_shard *shard, const struct record_header *record,
					       const struct record_header *old)
{
	if (!record || !old || old->size < record->size)
		return record ? arena_copy(&shard->records, record, record->size) : NULL;
	memcpy((void *)old, record, record->size);
	return old;
}

/* A period that has become too long for half a word stays apart. */
static void keep_period(const struct fold_set *set, struct entry_shard *shard, struct set_entry *kept, uint64_t period)
{
	if (!set->records) {
		kept->entry.period = period;
		return;
	}
	if (period > UINT32_MAX && !kept->entry.wide) {
		vec_push(&shard->wide, period);
		kept->entry.wide = 1;
		period = shard->wide.len - 1;
	} else if (kept->entry.wide) {
		shard->wide.data[(uint32_t)kept->entry.period] = period;
		return;
	}
	kept->entry.period = (kept->entry.period & ~(uint64_t)UINT32_MAX) | period;
}

static void keep_first(const struct fold_set *set, struct set_entry *kept, const struct record_header *first)
{
	if (set->records)
		kept->entry.period = (uint64_t)((const uint8_t *)first - set->records) / 8 << 32 | (uint32_t)kept->entry.period;
	else
		kept->first = first;
}

static struct set_entry *push_entry(const struct fold_set *set, struct entry_shard *shard, const struct set_entry *entry)
{
	if (shard->count % FOLD_BLOCK == 0)
		vec_push(&shard->blocks, mem_alloc_array(FOLD_BLOCK, set->entry_size));
	struct set_entry *to = fold_set_at(set, shard, shard->count++);
	memcpy(to, entry, set->entry_size);
	keep_period(set, shard, to, entry->entry.period);
	keep_first(set, to, entry->first);
	return to;
}

static void add_entry(struct fold_set *set, const struct set_entry *entry, uint64_t hash, bool copies)
{
	struct entry_shard *shard = &set->entries[fold_shard(hash)];
	struct id_probe probe;
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	while (id != ID_NONE && !entry_same(set, fold_set_at(set, shard, id), entry))
		id = id_table_next(&shard->ids, &probe);
	if (id == ID_NONE) {
		id_table_insert(&shard->ids, (uint32_t)hash, shard->count);
		struct set_entry *added = push_entry(set, shard, entry);
		if (copies)
			added->first = copy_record(shard, entry->first, NULL);
		return;
	}
	struct set_entry *known = fold_set_at(set, shard, id);
	known->entry.count += entry->entry.count;
	keep_period(set, shard, known, fold_set_period(set, shard, known) + entry->entry.period);
	if (is_earlier(set, entry, known)) {
		keep_first(set, known, copies ? copy_record(shard, entry->first, known->first) : entry->first);
		known->time = entry->time;
		known->entry.actor = entry->entry.actor;
	}
}

void fold_set_entry(struct fold_set *set, const struct set_entry *entry, uint64_t hash)
{
	add_entry(set, entry, hash, false);
}

void fold_set_push(struct fold_set *set, unsigned int shard, const struct set_entry *entry)
{
	push_entry(set, &set->entries[shard], entry);
}

void fold_set_prefetch_entry(const struct fold_set *set, uint64_t hash)
{
	const struct entry_shard *shard = &set->entries[fold_shard(hash)];
	struct id_probe probe;
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	if (id != ID_NONE)
		__builtin_prefetch(fold_set_at(set, shard, id), 1);
}

/* A block of one shard after a block of another: all that matters is that shards are of one size. */
static void push_items(struct fold_set *set, const struct fold_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fold_set_push(set, set->added++ / FOLD_BLOCK % FOLD_SHARDS, &items[i].entry);
}

void fold_set_add(struct fold_set *set, struct fold_item *items, size_t count)
{
	add_pieces(set, items, count);
	if (set->apart)
		return push_items(set, items, count);
	for (size_t i = 0; i < count; i++) {
		items[i].hash = fold_set_hash(set, &items[i].entry, (uint32_t)items[i].inner.hash, (uint32_t)items[i].outer.hash);
		id_table_prefetch(&set->entries[fold_shard(items[i].hash)].ids, (uint32_t)items[i].hash);
	}
	for (size_t i = 0; i < count; i++)
		fold_set_prefetch_entry(set, items[i].hash);
	for (size_t i = 0; i < count; i++)
		add_entry(set, &items[i].entry, items[i].hash, set->copies_records);
}

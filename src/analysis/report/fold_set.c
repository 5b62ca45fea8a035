/* Fold: a feed's distinct pieces and entries.
 *
 * They are far more than fit in the cache, and every look-up waits for memory two or three times in a row. So samples come in batches, and
 * each stage asks for the memory that the next one needs, for all of the batch: the waits overlap.
 *
 *	hashes of pieces ─► their slots ─► pieces ─► hashes of entries ─► their slots ─► entries
 */
#include "analysis/report/fold_internal.h"

#include <string.h>

void fold_set_deinit(struct fold_set *set)
{
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		vec_deinit(&set->pieces[i].pieces);
		arena_deinit(&set->pieces[i].frames);
		id_table_deinit(&set->pieces[i].ids);
		vec_deinit(&set->entries[i].entries);
		id_table_deinit(&set->entries[i].ids);
		arena_deinit(&set->entries[i].records);
	}
}

/* ---- pieces ---- */

static uint64_t piece_hash(const uint32_t *frames, uint32_t count, bool kernel)
{
	uint64_t hash = (count * 2 + kernel) ^ hash_key[1];
	for (uint32_t i = 0; i < count; i++) {
		hash = (hash ^ frames[i]) * hash_key[2];
		hash ^= hash >> 32;
	}
	return hash_u64(hash);
}

static uint32_t find_piece(const struct piece_shard *shard, const struct set_piece *piece)
{
	struct id_probe probe;
	uint32_t id = id_table_first(&shard->ids, (uint32_t)piece->hash, &probe);
	for (; id != ID_NONE; id = id_table_next(&shard->ids, &probe)) {
		const struct set_piece *known = &shard->pieces.data[id];
		if (known->frame_count == piece->frame_count && known->kernel == piece->kernel &&
		    !memcmp(known->frames, piece->frames, piece->frame_count * sizeof(*piece->frames)))
			break;
	}
	return id;
}

static uint32_t add_piece(struct piece_shard *shard, const struct set_piece *piece)
{
	uint32_t id = (uint32_t)shard->pieces.len;
	vec_push(&shard->pieces, *piece);
	shard->frame_count += piece->frame_count;
	id_table_insert(&shard->ids, (uint32_t)piece->hash, id);
	return id;
}

uint32_t fold_set_piece(struct fold_set *set, const struct set_piece *piece)
{
	unsigned int number = fold_shard(piece->hash);
	struct piece_shard *shard = &set->pieces[number];
	uint32_t id = find_piece(shard, piece);
	return (id == ID_NONE ? add_piece(shard, piece) : id) * FOLD_SHARDS + number;
}

/* The same for frames that are about to go: a new piece has a copy. */
static uint32_t copy_piece(struct fold_set *set, const uint32_t *frames, uint32_t count, bool kernel, uint64_t hash)
{
	struct set_piece piece = {.frames = frames, .hash = hash, .frame_count = count & INT32_MAX, .kernel = kernel};
	unsigned int number = fold_shard(hash);
	struct piece_shard *shard = &set->pieces[number];
	uint32_t id = find_piece(shard, &piece);
	if (id == ID_NONE) {
		piece.frames = arena_copy(&shard->frames, frames, count * sizeof(*frames));
		id = add_piece(shard, &piece);
	}
	return id * FOLD_SHARDS + number;
}

static void prefetch_piece(const struct fold_set *set, uint64_t hash)
{
	const struct piece_shard *shard = &set->pieces[fold_shard(hash)];
	struct id_probe probe;
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	if (id != ID_NONE)
		__builtin_prefetch(&shard->pieces.data[id]);
}

static void prefetch_piece_frames(const struct fold_set *set, uint64_t hash)
{
	const struct piece_shard *shard = &set->pieces[fold_shard(hash)];
	struct id_probe probe;
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	if (id != ID_NONE)
		__builtin_prefetch(shard->pieces.data[id].frames);
}

static void add_pieces(struct fold_set *set, struct fold_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct fold_item *item = &items[i];
		if (item->has_inner) {
			item->inner_hash = piece_hash(item->frames, item->inner_count, true);
			id_table_prefetch(&set->pieces[fold_shard(item->inner_hash)].ids, (uint32_t)item->inner_hash);
		}
		if (item->has_outer) {
			item->outer_hash = piece_hash(item->frames + item->inner_count, item->outer_count, false);
			id_table_prefetch(&set->pieces[fold_shard(item->outer_hash)].ids, (uint32_t)item->outer_hash);
		}
	}
	static void (*const stages[])(const struct fold_set *, uint64_t) = {prefetch_piece, prefetch_piece_frames};
	for (size_t stage = 0; stage < 2; stage++) {
		for (size_t i = 0; i < count; i++) {
			if (items[i].has_inner)
				stages[stage](set, items[i].inner_hash);
			if (items[i].has_outer)
				stages[stage](set, items[i].outer_hash);
		}
	}
	for (size_t i = 0; i < count; i++) {
		struct fold_item *item = &items[i];
		if (item->has_inner)
			item->entry.inner = copy_piece(set, item->frames, item->inner_count, true, item->inner_hash);
		if (item->has_outer)
			item->entry.outer = copy_piece(set, item->frames + item->inner_count, item->outer_count, false, item->outer_hash);
	}
}

/* ---- entries ---- */

/* Where copies of records are says nothing. */
static bool is_earlier(const struct fold_set *set, const struct fold_entry *a, const struct fold_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->first < b->first && !set->copies_records;
}

static bool entry_same(const struct fold_entry *a, const struct fold_entry *b)
{
	return a->leaf == b->leaf && a->inner == b->inner && a->outer == b->outer && a->who == b->who && a->extra == b->extra &&
	       a->event == b->event && a->cpumode == b->cpumode;
}

uint64_t fold_set_hash(const struct fold_entry *entry, uint64_t inner_hash, uint64_t outer_hash)
{
	uint64_t who = (uint64_t)entry->who << 32 | entry->extra,
		 place = (uint64_t)entry->leaf << 32 ^ (uint64_t)entry->event << 8 ^ entry->cpumode;
	uint64_t stack = inner_hash * 3 + outer_hash + (entry->inner == FOLD_NONE) * 2 + (entry->outer == FOLD_NONE);
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

static void add_entry(struct fold_set *set, const struct fold_entry *entry, uint64_t hash, bool copies)
{
	struct entry_shard *shard = &set->entries[fold_shard(hash)];
	struct id_probe probe;
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	while (id != ID_NONE && !entry_same(&shard->entries.data[id], entry))
		id = id_table_next(&shard->ids, &probe);
	if (id == ID_NONE) {
		id_table_insert(&shard->ids, (uint32_t)hash, (uint32_t)shard->entries.len);
		vec_push(&shard->entries, *entry);
		if (copies)
			vec_last(&shard->entries)->first = copy_record(shard, entry->first, NULL);
		return;
	}
	struct fold_entry *known = &shard->entries.data[id];
	known->count += entry->count;
	known->period += entry->period;
	if (is_earlier(set, entry, known)) {
		known->first = copies ? copy_record(shard, entry->first, known->first) : entry->first;
		known->time = entry->time;
		known->actor = entry->actor;
	}
}

void fold_set_entry(struct fold_set *set, const struct fold_entry *entry, uint64_t hash)
{
	add_entry(set, entry, hash, false);
}

void fold_set_add(struct fold_set *set, struct fold_item *items, size_t count)
{
	add_pieces(set, items, count);
	for (size_t i = 0; i < count; i++) {
		items[i].hash = fold_set_hash(&items[i].entry, items[i].inner_hash, items[i].outer_hash);
		id_table_prefetch(&set->entries[fold_shard(items[i].hash)].ids, (uint32_t)items[i].hash);
	}
	for (size_t i = 0; i < count; i++) {
		const struct entry_shard *shard = &set->entries[fold_shard(items[i].hash)];
		struct id_probe probe;
		uint32_t id = id_table_first(&shard->ids, (uint32_t)items[i].hash, &probe);
		if (id != ID_NONE)
			__builtin_prefetch(&shard->entries.data[id], 1);
	}
	for (size_t i = 0; i < count; i++)
		add_entry(set, &items[i].entry, items[i].hash, set->copies_records);
}

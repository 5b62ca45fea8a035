/* Fold: a feed's distinct pieces and entries.
 *
 * They are far more than fit in the cache, and every look-up waits for memory two or three times in a row. So samples come in batches, and
 * each stage asks for the memory that the next one needs, for all of the batch: the waits overlap.
 *
 *	hashes of pieces ─► their slots ─► pieces ─► hashes of entries ─► their slots ─► entries
 *
 * Stacks have most frames in common with others. Where there are many samples, a new piece looks for one that has its outermost frames,
 * the most first, and keeps only the others itself.
 */
#include "analysis/report/fold_internal.h"

#include <string.h>

void fold_set_init(struct fold_set *set, const struct fold_options *options, const uint8_t *records)
{
	*set = (struct fold_set){
		.copies_records = options->records == FOLD_RECORDS_COPIED, .has_extra = options->extra_words > 0, .records = records};
	set->entry_size = set->has_extra ? sizeof(struct set_entry)
			  : records	 ? offsetof(struct set_entry, first)
					 : offsetof(struct set_entry, extra);
}

void fold_set_deinit(struct fold_set *set)
{
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		vec_deinit(&set->pieces[i].pieces);
		arena_deinit(&set->pieces[i].memory);
		id_table_deinit(&set->pieces[i].ids);
		id_table_deinit(&set->pieces[i].prefixes);
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

static uint64_t hash_begin(bool kernel)
{
	return kernel ^ hash_key[1];
}

static uint64_t hash_frame(uint64_t hash, uint32_t frame)
{
	hash = (hash ^ frame) * hash_key[2];
	return hash ^ hash >> 32;
}

/* From the outermost frame on: those of other pieces that begin there are on the way. */
static uint64_t piece_hash(const uint32_t *frames, uint32_t count, bool kernel)
{
	uint64_t hash = hash_begin(kernel);
	while (count)
		hash = hash_frame(hash, frames[--count]);
	return hash_u64(hash);
}

/* The piece whose own the frame is that `left` counts from the outermost one. */
static const struct set_piece *owner(const struct set_piece *piece, uint32_t left)
{
	while (piece->shared >= left)
		piece = piece->outer;
	return piece;
}

/* Whether the outermost frames of a piece, of which it has enough, are these. */
static bool ends_with(const struct set_piece *piece, const uint32_t *frames, uint32_t left)
{
	while (left) {
		piece = owner(piece, left);
		uint32_t own = left - piece->shared;
		if (memcmp(piece->own + (piece->frame_count - left), frames, own * sizeof(*frames)) != 0)
			return false;
		frames += own;
		left -= own;
	}
	return true;
}

static struct set_piece *find_piece(const struct piece_shard *shard, uint64_t hash, const uint32_t *frames, uint32_t count, bool kernel)
{
	struct id_probe probe;
	for (uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe); id != ID_NONE; id = id_table_next(&shard->ids, &probe)) {
		struct set_piece *known = shard->pieces.data[id];
		if (known->hash == hash && known->frame_count == count && known->kernel == kernel && ends_with(known, frames, count))
			return known;
	}
	return NULL;
}

static void add_piece(struct fold_set *set, struct set_piece *piece)
{
	unsigned int number = fold_shard(piece->hash);
	struct piece_shard *shard = &set->pieces[number];
	uint32_t id = (uint32_t)shard->pieces.len;
	piece->id = id * FOLD_SHARDS + number;
	vec_push(&shard->pieces, piece);
	shard->frame_count += piece->frame_count - piece->shared;
	id_table_insert(&shard->ids, (uint32_t)piece->hash, id);
}

static bool same_frames(const struct set_piece *a, const struct set_piece *b)
{
	uint32_t left = a->frame_count;
	while (left) {
		a = owner(a, left);
		b = owner(b, left);
		if (a == b)
			return true;
		uint32_t same = left - (a->shared > b->shared ? a->shared : b->shared);
		if (memcmp(a->own + (a->frame_count - left), b->own + (b->frame_count - left), same * sizeof(*a->own)) != 0)
			return false;
		left -= same;
	}
	return true;
}

void fold_set_piece(struct fold_set *set, struct set_piece *piece)
{
	const struct piece_shard *shard = &set->pieces[fold_shard(piece->hash)];
	struct id_probe probe;
	uint32_t id = id_table_first(&shard->ids, (uint32_t)piece->hash, &probe);
	for (; id != ID_NONE; id = id_table_next(&shard->ids, &probe)) {
		const struct set_piece *known = shard->pieces.data[id];
		if (known->hash == piece->hash && known->frame_count == piece->frame_count && known->kernel == piece->kernel &&
		    same_frames(known, piece)) {
			piece->id = known->id;
			return;
		}
	}
	add_piece(set, piece);
}

/* ---- what pieces share ---- */

struct sharing {
	const struct set_piece *piece;
	uint32_t frames; /* 0 = none */
};

/* A piece that has the outermost `count` of frames with this hash. */
static const struct set_piece *find_prefix(const struct fold_set *set, uint64_t hash, const uint32_t *frames, uint32_t count, bool kernel)
{
	const struct piece_shard *shard = &set->pieces[fold_shard(hash)];
	struct id_probe probe;
	for (uint32_t id = id_table_first(&shard->prefixes, (uint32_t)hash, &probe); id != ID_NONE;
	     id = id_table_next(&shard->prefixes, &probe)) {
		const struct set_piece *known = set->pieces[id % FOLD_SHARDS].pieces.data[id / FOLD_SHARDS];
		if (known->frame_count >= count && known->kernel == kernel && ends_with(known, frames, count))
			return known;
	}
	return NULL;
}

/* The shared frames may be more than those that were looked for. */
static struct sharing extend(const struct set_piece *piece, const uint32_t *frames, uint32_t count, uint32_t shared)
{
	uint32_t least = count < piece->frame_count ? count : piece->frame_count;
	while (shared < least) {
		const struct set_piece *own = owner(piece, shared + 1);
		if (own->own[own->frame_count - shared - 1] != frames[count - shared - 1])
			break;
		shared++;
	}
	return (struct sharing){.piece = owner(piece, shared), .frames = shared};
}

/* A piece that lacks but the innermost frame, or one with as many of the outermost ones as is known. */
static struct sharing find_sharing(struct fold_set *set, const uint32_t *frames, uint32_t count, bool kernel)
{
	uint64_t hash = hash_begin(kernel), outer_hash = 0;
	set->hashes.len = 0;
	for (uint32_t i = 1; i <= count; i++) {
		outer_hash = hash;
		hash = hash_frame(hash, frames[count - i]);
		if (i % FOLD_PREFIX == 0)
			vec_push(&set->hashes, hash_u64(hash));
	}
	if (count < 2)
		return (struct sharing){0};
	outer_hash = hash_u64(outer_hash);
	const struct set_piece *piece = find_piece(&set->pieces[fold_shard(outer_hash)], outer_hash, frames + 1, count - 1, kernel);
	if (piece)
		return (struct sharing){.piece = owner(piece, count - 1), .frames = count - 1};
	for (size_t i = set->hashes.len; i > 0; i--) {
		uint32_t shared = (uint32_t)i * FOLD_PREFIX;
		piece = find_prefix(set, set->hashes.data[i - 1], frames + (count - shared), shared, kernel);
		if (piece)
			return extend(piece, frames, count, shared);
	}
	return (struct sharing){0};
}

/* Those that its own frames add. */
static void add_prefixes(struct fold_set *set, const struct set_piece *piece)
{
	for (size_t i = piece->shared / FOLD_PREFIX; i < set->hashes.len; i++) {
		uint64_t hash = set->hashes.data[i];
		id_table_insert(&set->pieces[fold_shard(hash)].prefixes, (uint32_t)hash, piece->id);
	}
}

/* Of frames that are about to go. */
static uint32_t copy_piece(struct fold_set *set, const uint32_t *frames, uint32_t count, bool kernel, uint64_t hash)
{
	struct piece_shard *shard = &set->pieces[fold_shard(hash)];
	struct set_piece *piece = find_piece(shard, hash, frames, count, kernel);
	if (piece)
		return piece->id;
	const struct sharing sharing = set->shares_frames ? find_sharing(set, frames, count, kernel) : (struct sharing){0};
	uint32_t own = count - sharing.frames;
	piece = arena_alloc(&shard->memory, sizeof(*piece) + own * sizeof(*frames));
	*piece = (struct set_piece){
		.outer = sharing.piece, .hash = hash, .shared = sharing.frames, .frame_count = count & INT32_MAX, .kernel = kernel};
	memcpy(piece->own, frames, own * sizeof(*frames));
	add_piece(set, piece);
	if (set->shares_frames)
		add_prefixes(set, piece);
	return piece->id;
}

static void prefetch_piece(const struct fold_set *set, uint64_t hash)
{
	const struct piece_shard *shard = &set->pieces[fold_shard(hash)];
	struct id_probe probe;
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	if (id != ID_NONE)
		__builtin_prefetch(&shard->pieces.data[id]);
}

static const struct set_piece *likely_piece(const struct fold_set *set, uint64_t hash)
{
	const struct piece_shard *shard = &set->pieces[fold_shard(hash)];
	struct id_probe probe;
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	return id == ID_NONE ? NULL : shard->pieces.data[id];
}

static void prefetch_own(const struct fold_set *set, uint64_t hash)
{
	enum { CACHE_LINE = 64 };
	const struct set_piece *piece = likely_piece(set, hash);
	if (!piece)
		return;
	__builtin_prefetch(piece);
	__builtin_prefetch((const char *)piece + CACHE_LINE);
}

static void prefetch_outer(const struct fold_set *set, uint64_t hash)
{
	const struct set_piece *piece = likely_piece(set, hash);
	if (piece && piece->outer)
		__builtin_prefetch(piece->outer);
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
	static void (*const stages[])(const struct fold_set *, uint64_t) = {prefetch_piece, prefetch_own, prefetch_outer};
	for (size_t stage = 0; stage < (set->shares_frames ? 3 : 2); stage++) {
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
			item->entry.entry.inner = copy_piece(set, item->frames, item->inner_count, true, item->inner_hash);
		if (item->has_outer)
			item->entry.entry.outer =
				copy_piece(set, item->frames + item->inner_count, item->outer_count, false, item->outer_hash);
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

uint64_t fold_set_hash(const struct fold_set *set, const struct set_entry *of, uint64_t inner_hash, uint64_t outer_hash)
{
	const struct fold_entry *entry = &of->entry;
	uint64_t who = (uint64_t)set->whos.data[entry->actor] << 32 | fold_set_extra(set, of),
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

void fold_set_add(struct fold_set *set, struct fold_item *items, size_t count)
{
	add_pieces(set, items, count);
	for (size_t i = 0; i < count; i++) {
		items[i].hash = fold_set_hash(set, &items[i].entry, items[i].inner_hash, items[i].outer_hash);
		id_table_prefetch(&set->entries[fold_shard(items[i].hash)].ids, (uint32_t)items[i].hash);
	}
	for (size_t i = 0; i < count; i++) {
		const struct entry_shard *shard = &set->entries[fold_shard(items[i].hash)];
		struct id_probe probe;
		uint32_t id = id_table_first(&shard->ids, (uint32_t)items[i].hash, &probe);
		if (id != ID_NONE)
			__builtin_prefetch(fold_set_at(set, shard, id), 1);
	}
	for (size_t i = 0; i < count; i++)
		add_entry(set, &items[i].entry, items[i].hash, set->copies_records);
}

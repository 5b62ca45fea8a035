/* Fold: the feeds' sets become one, and that becomes arrays: frames and pieces one shard after the other, entries in the order of time.
 *
 * Equal elements are in the same shard of every set, so that shards are merged on their own, in parallel: first all pieces, which have new
 * numbers then, then the entries. For their order, entries are dealt to buckets of equal spans of time, and each bucket is sorted on its
 * own:
 *
 *	shards   | 0 | 1 | 2 | … |         buckets   | earliest | … | latest |
 *	           └───┴───┴─── by time ──────►          sort, copy
 */
#include "analysis/report/fold_internal.h"

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/radix.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { TIME_BUCKETS = 256 };

/* What was freed goes back to the system: the next step needs the memory. Only where it is much, since it has to be asked for anew. */
static void give_back(bool much, size_t shard)
{
	enum { STEP = FOLD_SHARDS / 4 };
	if (much && shard % STEP == STEP - 1)
		malloc_trim(0);
}

/* ---- merging ---- */

struct merging {
	struct fold_tables *tables;
	struct fold_set *from;
	bool much;
};

static void copy_pieces(void *context, unsigned int worker, size_t number)
{
	const struct merging *merging = context;
	(void)worker;
	fold_pieces_copy(merging->tables->sets.data[0], merging->from, (unsigned int)number);
}

static void join_pieces(void *context, unsigned int worker, size_t number)
{
	const struct merging *merging = context;
	(void)worker;
	fold_pieces_join(merging->tables->sets.data[0], merging->from, (unsigned int)number);
}

static uint32_t new_piece(const struct fold_set *set, uint32_t id)
{
	return id == FOLD_NONE ? id : fold_pieces_of(set, id)->hash;
}

static void prefetch_piece(const struct fold_set *set, uint32_t id)
{
	if (id != FOLD_NONE)
		__builtin_prefetch(fold_pieces_of(set, id));
}

/* A block whose last entry is number `i` isn't needed any more. */
static void drop_block(struct entry_shard *shard, uint32_t i)
{
	if (i % FOLD_BLOCK != FOLD_BLOCK - 1)
		return;
	free(shard->blocks.data[i / FOLD_BLOCK]);
	shard->blocks.data[i / FOLD_BLOCK] = NULL;
}

/* The first set gets to know the actors of the others. */
static void join_actors(const struct fold_tables *tables)
{
	struct fold_set *into = tables->sets.data[0];
	for (size_t s = 1; s < tables->sets.len; s++) {
		const struct fold_set *set = tables->sets.data[s];
		for (uint32_t actor = 0; actor < set->whos.len; actor++)
			if (set->whos.data[actor] != FOLD_NONE)
				fold_set_actor(into, actor, set->whos.data[actor]);
	}
}

/* Some entries in stages, so that what one stage reads was asked for in the one before. */
static void merge_batch(struct fold_set *into, struct fold_set *set, const struct entry_shard *shard, uint32_t begin, uint32_t count)
{
	struct set_entry entries[FOLD_BATCH];
	uint64_t hashes[FOLD_BATCH];
	for (uint32_t i = 0; i < count; i++) {
		entries[i] = fold_set_get(set, shard, begin + i);
		prefetch_piece(set, entries[i].entry.inner);
		prefetch_piece(set, entries[i].entry.outer);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct fold_entry *entry = &entries[i].entry;
		entry->inner = new_piece(set, entry->inner);
		entry->outer = new_piece(set, entry->outer);
		prefetch_piece(into, entry->inner);
		prefetch_piece(into, entry->outer);
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct fold_entry *entry = &entries[i].entry;
		hashes[i] =
			fold_set_hash(into, &entries[i], fold_set_piece_hash(into, entry->inner), fold_set_piece_hash(into, entry->outer));
		id_table_prefetch(&into->entries[fold_shard(hashes[i])].ids, (uint32_t)hashes[i]);
	}
	for (uint32_t i = 0; i < count; i++)
		fold_set_prefetch_entry(into, hashes[i]);
	for (uint32_t i = 0; i < count; i++)
		fold_set_entry(into, &entries[i], hashes[i]);
}

/* Entries that aren't looked for: those of a shard stay together. */
static void append_entries(struct fold_set *into, struct fold_set *set, unsigned int number)
{
	struct entry_shard *shard = &set->entries[number];
	for (uint32_t i = 0; i < shard->count; i++) {
		struct set_entry entry = fold_set_get(set, shard, i);
		entry.entry.inner = new_piece(set, entry.entry.inner);
		entry.entry.outer = new_piece(set, entry.entry.outer);
		fold_set_push(into, number, &entry);
		drop_block(shard, i);
	}
}

static void merge_entries(void *context, unsigned int worker, size_t number)
{
	const struct merging *merging = context;
	struct fold_set *into = merging->tables->sets.data[0], *set = merging->from;
	struct entry_shard *shard = &set->entries[number];
	(void)worker;
	if (set->apart)
		append_entries(into, set, (unsigned int)number);
	for (uint32_t i = 0; i < shard->count && !set->apart; i += FOLD_BATCH) {
		uint32_t count = shard->count - i < FOLD_BATCH ? shard->count - i : FOLD_BATCH;
		merge_batch(into, set, shard, i, count);
		drop_block(shard, i + count - 1);
	}
	fold_set_drop_entries(shard);
	arena_combine(&into->entries[number].records, &shard->records);
	give_back(merging->much, number);
}

static bool is_much(const struct fold_tables *tables)
{
	size_t entries = 0;
	for (size_t s = 0; s < tables->sets.len; s++)
		for (unsigned int i = 0; i < FOLD_SHARDS; i++)
			entries += tables->sets.data[s]->entries[i].count;
	return entries > FOLD_MUCH;
}

static void merge_sets(struct fold_tables *tables)
{
	if (!tables->sets.len)
		fold_tables_add_set(tables);
	for (size_t s = 0; s < tables->sets.len; s++)
		fold_set_end(tables->sets.data[s], s > 0);
	if (tables->sets.len == 1)
		return;
	struct merging merging = {.tables = tables, .much = is_much(tables)};
	join_actors(tables);
	for (size_t s = 1; s < tables->sets.len; s++) {
		merging.from = tables->sets.data[s];
		fold_pieces_reserve(tables->sets.data[0], merging.from);
		pool_run(tables->options->jobs, FOLD_SHARDS, copy_pieces, &merging);
		pool_run(tables->options->jobs, FOLD_SHARDS, join_pieces, &merging);
		pool_run(tables->options->jobs, FOLD_SHARDS, merge_entries, &merging);
		fold_set_deinit(merging.from);
		free(merging.from);
	}
	tables->sets.len = 1;
}

/* ---- packing ---- */

struct packing {
	struct fold_tables *tables;
	struct fold_set *set;
	struct fold *fold;
	bool much;			 /* memory */
	bool by_place;			 /* without times: in the order of the file */
	uint64_t earliest, span;	 /* of a bucket */
	uint32_t (*starts)[FOLD_SHARDS]; /* by bucket and shard: where the shard's entries of the bucket begin */
};

static uint64_t entry_key(const struct packing *packing, uint64_t time, const struct record_header *first)
{
	return packing->by_place ? (uintptr_t)first : time;
}

static size_t bucket_of(const struct packing *packing, const struct set_entry *kept)
{
	return (size_t)((entry_key(packing, kept->time, fold_set_first(packing->set, kept)) - packing->earliest) / packing->span);
}

static uint32_t packed_frame(const struct fold_tables *tables, uint32_t id)
{
	return tables->frames[id % FOLD_SHARDS].first + id / FOLD_SHARDS;
}

/* Once pieces are numbered. */
static uint32_t packed_piece(const struct fold_set *set, uint32_t id)
{
	return id == FOLD_NONE ? id : fold_pieces_of(set, id)->hash;
}

static void number_pieces(void *context, unsigned int worker, size_t number)
{
	const struct packing *packing = context;
	const struct piece_shard *shard = &packing->set->pieces[number];
	uint32_t next = shard->first;
	(void)worker;
	for (uint32_t place = fold_pieces_next(shard, 0); place != FOLD_NONE; place = fold_pieces_after(shard, place))
		fold_pieces_at(shard, place)->hash = next++;
}

/* Pieces are gone when entries are dealt. */
static void pack_entry_pieces(const struct packing *packing, const struct entry_shard *shard, uint32_t i)
{
	enum { AHEAD = 16 };
	if (i + AHEAD < shard->count) {
		const struct fold_entry *ahead = &fold_set_at(packing->set, shard, i + AHEAD)->entry;
		if (ahead->inner != FOLD_NONE)
			__builtin_prefetch(fold_pieces_of(packing->set, ahead->inner));
		if (ahead->outer != FOLD_NONE)
			__builtin_prefetch(fold_pieces_of(packing->set, ahead->outer));
	}
	struct fold_entry *entry = &fold_set_at(packing->set, shard, i)->entry;
	entry->inner = packed_piece(packing->set, entry->inner);
	entry->outer = packed_piece(packing->set, entry->outer);
}

/* Also counts the shard's entries in each bucket. */
static void pack_shard(void *context, unsigned int worker, size_t number)
{
	struct packing *packing = context;
	struct fold *fold = packing->fold;
	const struct fold_tables *tables = packing->tables;
	const struct frame_shard *frames = &tables->frames[number];
	const struct piece_shard *pieces = &packing->set->pieces[number];
	const struct entry_shard *entries = &packing->set->entries[number];
	(void)worker;
	if (frames->frames.len)
		memcpy(fold->frames + frames->first, frames->frames.data, frames->frames.len * sizeof(*fold->frames));
	uint32_t *to = fold->frame_ids + pieces->first_frame;
	for (uint32_t place = fold_pieces_next(pieces, 0); place != FOLD_NONE; place = fold_pieces_after(pieces, place)) {
		const struct set_piece *piece = fold_pieces_at(pieces, place);
		fold->pieces[piece->hash] = (struct fold_piece){.frames = (uint32_t)(to - fold->frame_ids),
								.frame_count = piece->frame_count,
								.kernel = piece->kernel,
								.shared = piece->shared,
								.outer = piece->shared ? packed_piece(packing->set, piece->outer) : 0};
		for (uint32_t at = 0; at < piece->frame_count - piece->shared; at++)
			*to++ = packed_frame(tables, piece->own[at]);
	}
	for (uint32_t i = 0; i < entries->count; i++) {
		pack_entry_pieces(packing, entries, i);
		packing->starts[bucket_of(packing, fold_set_at(packing->set, entries, i))][number]++;
	}
	give_back(packing->much, number);
}

/* The shard's entries go where their buckets are, in packed numbers. Shards are dealt one after the other and are gone then, so that all
 * entries aren't in memory twice. */
static void deal_shard(void *context, unsigned int worker, size_t number)
{
	struct packing *packing = context;
	struct entry_shard *shard = &packing->set->entries[number];
	(void)worker;
	for (uint32_t i = 0; i < shard->count; i++) {
		uint32_t place = packing->starts[bucket_of(packing, fold_set_at(packing->set, shard, i))][number]++;
		const struct set_entry from = fold_set_get(packing->set, shard, i);
		struct fold_entry *to = &packing->fold->entries[place];
		*to = from.entry;
		to->leaf = packed_frame(packing->tables, to->leaf);
		packing->fold->details[place] = (struct fold_detail){.time = from.time, .first = from.first, .extra = from.extra};
		drop_block(shard, i);
	}
	fold_set_drop_entries(shard);
	give_back(packing->much, number);
}

static uint64_t order_value(const void *context, uint32_t number)
{
	const struct packing *packing = context;
	const struct fold_detail *detail = &packing->fold->details[number];
	return entry_key(packing, detail->time, detail->first);
}

/* Entries of one record, as its branches: their numbers are chance. */
static int compare_contents(const struct packing *packing, uint32_t x, uint32_t y)
{
	const struct fold_entry *a = &packing->fold->entries[x], *b = &packing->fold->entries[y];
	const struct fold_detail *details = packing->fold->details;
	const struct fold_frame *frames = packing->fold->frames;
	const struct fold_tables *tables = packing->tables;
	unsigned int words = tables->options->extra_words;
	int result = fold_piece_compare(packing->fold, a->outer, b->outer);
	if (!result)
		result = fold_piece_compare(packing->fold, a->inner, b->inner);
	if (!result)
		result = fold_frame_compare(&frames[a->leaf], &frames[b->leaf]);
	for (unsigned int i = 0; i < words && !result; i++) {
		uint64_t u = tables->extras.data[(size_t)details[x].extra * words + i],
			 v = tables->extras.data[(size_t)details[y].extra * words + i];
		result = (u > v) - (u < v);
	}
	return result;
}

/* What else tells entries of equal times apart, where the places of their records say nothing. */
static int compare_actors(const struct packing *packing, const struct fold_entry *a, const struct fold_entry *b)
{
	const struct fold_actor *actors = packing->tables->actors.data;
	const struct thread *u = actors[a->actor].thread, *v = actors[b->actor].thread;
	if (a->event != b->event || a->cpumode != b->cpumode)
		return a->event != b->event ? (int)a->event - (int)b->event : (int)a->cpumode - (int)b->cpumode;
	if (u->tid != v->tid || u->start != v->start)
		return (u->tid != v->tid ? u->tid > v->tid : u->start > v->start) ? 1 : -1;
	return strcmp(untrusted_raw(actors[a->actor].comm), untrusted_raw(actors[b->actor].comm));
}

static int compare_place(const void *x, const void *y, void *context)
{
	const struct packing *packing = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const struct fold_entry *entries = packing->fold->entries;
	const struct fold_detail *details = packing->fold->details;
	if (packing->tables->options->records != FOLD_RECORDS_STABLE)
		return compare_contents(packing, a, b) ?: compare_actors(packing, &entries[a], &entries[b]);
	return details[a].first == details[b].first ? compare_contents(packing, a, b) : details[a].first > details[b].first ? 1 : -1;
}

/* Entries with equal times: in the order of the file. */
static void order_ties(struct packing *packing, uint32_t *order, size_t count)
{
	for (size_t begin = 0, end; begin < count; begin = end) {
		uint64_t key = order_value(packing, order[begin]);
		for (end = begin + 1; end < count && order_value(packing, order[end]) == key; end++)
			;
		if (end - begin > 1)
			qsort_r(order + begin, end - begin, sizeof(*order), compare_place, packing);
	}
}

/* By now the last shard's start in a bucket is the bucket's end. */
static void sort_bucket(void *context, unsigned int worker, size_t bucket)
{
	struct packing *packing = context;
	struct fold_entry *entries = packing->fold->entries;
	struct fold_detail *details = packing->fold->details;
	size_t begin = bucket ? packing->starts[bucket - 1][FOLD_SHARDS - 1] : 0, end = packing->starts[bucket][FOLD_SHARDS - 1];
	(void)worker;
	if (end - begin < 2)
		return;
	cleanup_free uint32_t *order = mem_alloc_array(end - begin, sizeof(*order));
	cleanup_free struct fold_entry *copy = mem_alloc_array(end - begin, sizeof(*copy));
	cleanup_free struct fold_detail *detail_copy = mem_alloc_array(end - begin, sizeof(*detail_copy));
	for (size_t i = begin; i < end; i++)
		order[i - begin] = (uint32_t)i;
	radix_sort(order, end - begin, order_value, packing);
	order_ties(packing, order, end - begin);
	for (size_t i = 0; i < end - begin; i++) {
		copy[i] = entries[order[i]];
		detail_copy[i] = details[order[i]];
	}
	memcpy(entries + begin, copy, (end - begin) * sizeof(*copy));
	memcpy(details + begin, detail_copy, (end - begin) * sizeof(*detail_copy));
}

/* Sizes of all arrays, and when entries are from. */
static void measure(struct packing *packing)
{
	struct fold *fold = packing->fold;
	struct fold_tables *tables = packing->tables;
	struct fold_set *set = packing->set;
	size_t frame_ids = 0;
	uint64_t earliest = UINT64_MAX, latest = 0;
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		tables->frames[i].first = (uint32_t)fold->frame_count;
		set->pieces[i].first = (uint32_t)fold->piece_count;
		set->pieces[i].first_frame = (uint32_t)frame_ids;
		fold->private->firsts[i] = (uint32_t)fold->frame_count;
		fold->private->kept_frames[i] = tables->frames[i].kept;
		fold->frame_count += tables->frames[i].frames.len;
		fold->piece_count += set->pieces[i].count;
		fold->entry_count += set->entries[i].count;
		frame_ids += set->pieces[i].frame_count;
		id_table_deinit(&tables->frames[i].ids);
		id_table_deinit(&set->pieces[i].ids);
		id_table_deinit(&set->entries[i].ids);
		for (uint32_t e = 0; e < set->entries[i].count; e++) {
			const struct set_entry *entry = fold_set_at(set, &set->entries[i], e);
			uint64_t key = entry_key(packing, entry->time, fold_set_first(set, entry));
			earliest = key < earliest ? key : earliest;
			latest = key > latest ? key : latest;
		}
	}
	fold->private->lineage = tables->lineage;
	packing->earliest = earliest;
	packing->span = latest < earliest ? 1 : (latest - earliest) / TIME_BUCKETS + 1;
	fold->frames = mem_alloc_array(fold->frame_count + 1, sizeof(*fold->frames));
	fold->pieces = mem_alloc_array(fold->piece_count + 1, sizeof(*fold->pieces));
	fold->frame_ids = mem_alloc_table(frame_ids + 1, sizeof(*fold->frame_ids));
}

static void start_buckets(struct packing *packing)
{
	uint32_t at = 0;
	for (size_t bucket = 0; bucket < TIME_BUCKETS; bucket++) {
		for (unsigned int shard = 0; shard < FOLD_SHARDS; shard++) {
			uint32_t count = packing->starts[bucket][shard];
			packing->starts[bucket][shard] = at;
			at += count;
		}
	}
}

/* Which frame stands for all of the same function, with by_address for all of the same address in its file. */
static uint32_t *find_functions(const struct fold *fold, bool by_address)
{
	struct id_table first = {0};
	uint32_t *functions = mem_alloc_array(fold->frame_count + 1, sizeof(*functions));
	for (uint32_t i = 0; i < fold->frame_count; i++) {
		const struct fold_frame *frame = &fold->frames[i];
		functions[i] = i;
		if (!frame->symbol)
			continue;
		uint64_t address = by_address ? map_to_dso(frame->map, frame->ip) : 0;
		uint32_t hash = (uint32_t)hash_combine((uintptr_t)frame->symbol, address);
		struct id_probe probe;
		uint32_t id = id_table_first(&first, hash, &probe);
		while (id != ID_NONE && (fold->frames[id].symbol != frame->symbol ||
					 (by_address && map_to_dso(fold->frames[id].map, fold->frames[id].ip) != address)))
			id = id_table_next(&first, &probe);
		if (id == ID_NONE)
			id_table_insert(&first, hash, i);
		else
			functions[i] = id;
	}
	id_table_deinit(&first);
	return functions;
}

void fold_pack(struct fold_tables *tables, struct fold *fold, bool with_details)
{
	unsigned int jobs = tables->options->jobs;
	merge_sets(tables);
	struct packing packing = {.tables = tables,
				  .set = tables->sets.data[0],
				  .fold = fold,
				  .by_place = !fold->session->reader->has_times,
				  .much = is_much(tables)};
	measure(&packing);
	packing.starts = mem_zalloc_array(TIME_BUCKETS, sizeof(*packing.starts));
	pool_run(jobs, FOLD_SHARDS, number_pieces, &packing);
	pool_run(jobs, FOLD_SHARDS, pack_shard, &packing);
	for (unsigned int i = 0; i < FOLD_SHARDS; i++)
		vec_deinit(&tables->frames[i].frames);
	for (unsigned int i = 0; i < FOLD_SHARDS; i++)
		fold_pieces_drop(&packing.set->pieces[i]);
	for (unsigned int i = 0; i < FOLD_SHARDS; i++)
		arena_combine(&fold->private->records, &packing.set->entries[i].records);
	fold->entries = mem_alloc_array(fold->entry_count + 1, sizeof(*fold->entries));
	fold->details = mem_alloc_array(fold->entry_count + 1, sizeof(*fold->details));
	start_buckets(&packing);
	pool_run(jobs, FOLD_SHARDS, deal_shard, &packing);
	if (with_details || !fold->private->options.any_address) /* else nobody asks in which order they came, nor does a merged one know */
		pool_run(jobs, TIME_BUCKETS, sort_bucket, &packing);
	free(packing.starts);
	if (!with_details) {
		free(fold->details);
		fold->details = NULL;
	}
	fold->actors = tables->actors.data;
	fold->actor_count = tables->actors.len;
	fold->extras = tables->extras.data;
	fold->extra_words = tables->options->extra_words;
	tables->actors.data = NULL;
	tables->extras.data = NULL;
	tables->actors.len = tables->extras.len = 0;
	if (tables->options->by_line)
		fold->functions = find_functions(fold, tables->options->by_address);
}

/* Fold: the workers' sets become one, and that becomes arrays: frames and pieces one shard after the other, entries in the order of time.
 *
 * Equal elements are in the same shard of every set, so that shards are merged on their own, in parallel: first all pieces, which have new numbers then,
 * then the entries. For their order, entries are dealt to buckets of equal spans of time, and each bucket is sorted on its own:
 *
 *	shards   | 0 | 1 | 2 | … |         buckets   | earliest | … | latest |
 *	           └───┴───┴─── by time ──────►          sort, copy
 */
#include "analysis/fold_internal.h"

#include "base/pool.h"
#include "base/radix.h"

#include <stdlib.h>
#include <string.h>

enum { TIME_BUCKETS = 256 };

/* ---- merging ---- */

struct merging {
	struct fold_tables *tables;
	uint32_t **numbers; /* by set × FOLD_SHARDS + shard: the first set's ids of its pieces */
};

static void merge_pieces(void *context, unsigned int worker, size_t number)
{
	struct merging *merging = context;
	struct fold_set *into = merging->tables->sets.data[0];
	(void)worker;
	for (size_t s = 1; s < merging->tables->sets.len; s++) {
		struct piece_shard *shard = &merging->tables->sets.data[s]->pieces[number];
		uint32_t *ids = mem_alloc_array(shard->pieces.len + 1, sizeof(*ids));
		for (size_t i = 0; i < shard->pieces.len; i++) {
			const struct fold_piece *piece = &shard->pieces.data[i];
			ids[i] = fold_set_piece(into, shard->frames.data + piece->frames, piece->frame_count, piece->kernel, shard->hashes.data[i]);
		}
		merging->numbers[s * FOLD_SHARDS + number] = ids;
	}
}

static uint32_t new_piece(const struct merging *merging, size_t set, uint32_t id)
{
	return id == FOLD_NONE ? id : merging->numbers[set * FOLD_SHARDS + id % FOLD_SHARDS][id / FOLD_SHARDS];
}

static void merge_entries(void *context, unsigned int worker, size_t number)
{
	struct merging *merging = context;
	struct fold_set *into = merging->tables->sets.data[0];
	(void)worker;
	for (size_t s = 1; s < merging->tables->sets.len; s++) {
		struct fold_set *set = merging->tables->sets.data[s];
		struct entry_shard *shard = &set->entries[number];
		for (size_t i = 0; i < shard->entries.len; i++) {
			struct fold_entry entry = shard->entries.data[i];
			uint64_t hash = fold_set_hash(&entry, fold_set_piece_hash(set, entry.inner), fold_set_piece_hash(set, entry.outer));
			entry.inner = new_piece(merging, s, entry.inner);
			entry.outer = new_piece(merging, s, entry.outer);
			fold_set_entry(into, &entry, hash);
		}
		vec_deinit(&shard->entries);
	}
}

static void merge_sets(struct fold_tables *tables)
{
	if (!tables->sets.len)
		fold_tables_add_set(tables);
	if (tables->sets.len == 1)
		return;
	struct merging merging = {.tables = tables, .numbers = mem_zalloc_array(tables->sets.len * FOLD_SHARDS, sizeof(*merging.numbers))};
	pool_run(tables->options->jobs, FOLD_SHARDS, merge_pieces, &merging);
	pool_run(tables->options->jobs, FOLD_SHARDS, merge_entries, &merging);
	for (size_t i = 0; i < tables->sets.len * FOLD_SHARDS; i++)
		free(merging.numbers[i]);
	free(merging.numbers);
	for (size_t s = 1; s < tables->sets.len; s++) {
		fold_set_deinit(tables->sets.data[s]);
		free(tables->sets.data[s]);
	}
	tables->sets.len = 1;
}

/* ---- packing ---- */

struct packing {
	struct fold_tables *tables;
	struct fold_set *set;
	struct fold *fold;
	bool by_place; /* without times: in the order of the file */
	uint64_t earliest, span; /* of a bucket */
	uint32_t (*starts)[FOLD_SHARDS]; /* by bucket and shard: where in `order` the shard's entries of the bucket begin */
	uint32_t *order; /* ids of entries by bucket */
};

static uint64_t entry_key(const struct packing *packing, const struct fold_entry *entry)
{
	return packing->by_place ? (uintptr_t)entry->first : entry->time;
}

static const struct fold_entry *entry_at(const struct packing *packing, uint32_t id)
{
	return &packing->set->entries[id % FOLD_SHARDS].entries.data[id / FOLD_SHARDS];
}

static size_t bucket_of(const struct packing *packing, const struct fold_entry *entry)
{
	return (size_t)((entry_key(packing, entry) - packing->earliest) / packing->span);
}

static uint32_t packed_frame(const struct fold_tables *tables, uint32_t id)
{
	return tables->frames[id % FOLD_SHARDS].first + id / FOLD_SHARDS;
}

static uint32_t packed_piece(const struct fold_set *set, uint32_t id)
{
	return id == FOLD_NONE ? id : set->pieces[id % FOLD_SHARDS].first + id / FOLD_SHARDS;
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
	for (size_t i = 0; i < pieces->frames.len; i++)
		fold->frame_ids[pieces->first_frame + i] = packed_frame(tables, pieces->frames.data[i]);
	for (size_t i = 0; i < pieces->pieces.len; i++) {
		fold->pieces[pieces->first + i] = pieces->pieces.data[i];
		fold->pieces[pieces->first + i].frames += pieces->first_frame;
	}
	for (size_t i = 0; i < entries->entries.len; i++)
		packing->starts[bucket_of(packing, &entries->entries.data[i])][number]++;
}

static void deal_shard(void *context, unsigned int worker, size_t number)
{
	struct packing *packing = context;
	const struct entry_shard *shard = &packing->set->entries[number];
	(void)worker;
	for (size_t i = 0; i < shard->entries.len; i++)
		packing->order[packing->starts[bucket_of(packing, &shard->entries.data[i])][number]++] = (uint32_t)(i * FOLD_SHARDS + number);
}

static uint64_t order_value(const void *context, uint32_t id)
{
	return entry_key(context, entry_at(context, id));
}

static int compare_place(const void *x, const void *y, void *packing)
{
	const struct record_header *a = entry_at(packing, *(const uint32_t *)x)->first, *b = entry_at(packing, *(const uint32_t *)y)->first;
	return (a > b) - (a < b);
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
	size_t begin = bucket ? packing->starts[bucket - 1][FOLD_SHARDS - 1] : 0, end = packing->starts[bucket][FOLD_SHARDS - 1];
	(void)worker;
	radix_sort(packing->order + begin, end - begin, order_value, packing);
	order_ties(packing, packing->order + begin, end - begin);
	for (size_t i = begin; i < end; i++) {
		struct fold_entry *entry = &packing->fold->entries[i];
		*entry = *entry_at(packing, packing->order[i]);
		entry->leaf = packed_frame(packing->tables, entry->leaf);
		entry->inner = packed_piece(packing->set, entry->inner);
		entry->outer = packed_piece(packing->set, entry->outer);
	}
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
		fold->frame_count += tables->frames[i].frames.len;
		fold->piece_count += set->pieces[i].pieces.len;
		fold->entry_count += set->entries[i].entries.len;
		frame_ids += set->pieces[i].frames.len;
		id_table_deinit(&tables->frames[i].ids);
		id_table_deinit(&set->pieces[i].ids);
		id_table_deinit(&set->entries[i].ids);
		for (size_t e = 0; e < set->entries[i].entries.len; e++) {
			uint64_t key = entry_key(packing, &set->entries[i].entries.data[e]);
			earliest = key < earliest ? key : earliest;
			latest = key > latest ? key : latest;
		}
	}
	packing->earliest = earliest;
	packing->span = latest < earliest ? 1 : (latest - earliest) / TIME_BUCKETS + 1;
	fold->frames = mem_alloc_array(fold->frame_count + 1, sizeof(*fold->frames));
	fold->pieces = mem_alloc_array(fold->piece_count + 1, sizeof(*fold->pieces));
	fold->frame_ids = mem_alloc_array(frame_ids + 1, sizeof(*fold->frame_ids));
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

/* Which frame stands for all of the same function. */
static uint32_t *find_functions(const struct fold *fold)
{
	struct map64 first = {0};
	uint32_t *functions = mem_alloc_array(fold->frame_count + 1, sizeof(*functions));
	for (uint32_t i = 0; i < fold->frame_count; i++) {
		bool new;
		functions[i] = i;
		if (!fold->frames[i].symbol)
			continue;
		uint64_t *slot = map64_insert(&first, (uintptr_t)fold->frames[i].symbol, &new);
		if (new)
			*slot = i;
		functions[i] = (uint32_t)*slot;
	}
	map64_deinit(&first);
	return functions;
}

void fold_pack(struct fold_tables *tables, struct fold *fold)
{
	unsigned int jobs = tables->options->jobs;
	merge_sets(tables);
	struct packing packing = {.tables = tables, .set = tables->sets.data[0], .fold = fold, .by_place = !fold->session->reader->has_times};
	measure(&packing);
	packing.starts = mem_zalloc_array(TIME_BUCKETS, sizeof(*packing.starts));
	pool_run(jobs, FOLD_SHARDS, pack_shard, &packing);
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		vec_deinit(&tables->frames[i].frames);
		vec_deinit(&packing.set->pieces[i].pieces);
		vec_deinit(&packing.set->pieces[i].hashes);
		vec_deinit(&packing.set->pieces[i].frames);
	}
	packing.order = mem_alloc_array(fold->entry_count + 1, sizeof(*packing.order));
	fold->entries = mem_alloc_array(fold->entry_count + 1, sizeof(*fold->entries));
	start_buckets(&packing);
	pool_run(jobs, FOLD_SHARDS, deal_shard, &packing);
	pool_run(jobs, TIME_BUCKETS, sort_bucket, &packing);
	free(packing.order);
	free(packing.starts);
	fold->actors = tables->actors.data;
	fold->actor_count = tables->actors.len;
	fold->extras = tables->extras.data;
	fold->extra_words = tables->options->extra_words;
	tables->actors.data = NULL;
	tables->extras.data = NULL;
	tables->actors.len = tables->extras.len = 0;
	if (tables->options->by_line && !tables->options->by_address)
		fold->functions = find_functions(fold);
}

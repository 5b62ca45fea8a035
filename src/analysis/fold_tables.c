/* Fold: the tables of distinct frames, pieces and entries that all workers fill.
 *
 * An element's hash chooses its shard, so that workers rarely meet at a lock. At the end the shards become arrays: frames and pieces one shard after the
 * other, entries in the order of time. For that the entries are first dealt to buckets of equal spans of time, then each bucket is sorted on its own:
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

struct fold_tables *fold_tables_create(const struct fold_options *options)
{
	struct fold_tables *tables = mem_zalloc(sizeof(*tables));
	tables->options = options;
	pthread_mutex_init(&tables->lock, NULL);
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		pthread_mutex_init(&tables->frames[i].lock, NULL);
		pthread_mutex_init(&tables->pieces[i].lock, NULL);
		pthread_mutex_init(&tables->entries[i].lock, NULL);
	}
	return tables;
}

void fold_tables_destroy(struct fold_tables *tables)
{
	if (!tables)
		return;
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		vec_deinit(&tables->frames[i].frames);
		id_table_deinit(&tables->frames[i].ids);
		vec_deinit(&tables->pieces[i].pieces);
		vec_deinit(&tables->pieces[i].frames);
		id_table_deinit(&tables->pieces[i].ids);
		vec_deinit(&tables->entries[i].entries);
		id_table_deinit(&tables->entries[i].ids);
		pthread_mutex_destroy(&tables->frames[i].lock);
		pthread_mutex_destroy(&tables->pieces[i].lock);
		pthread_mutex_destroy(&tables->entries[i].lock);
	}
	vec_deinit(&tables->actors);
	vec_deinit(&tables->extras);
	id_table_deinit(&tables->actor_ids);
	id_table_deinit(&tables->extra_ids);
	pthread_mutex_destroy(&tables->lock);
	free(tables);
}

static unsigned int shard_of(uint64_t hash)
{
	return (unsigned int)(hash >> 32) % FOLD_SHARDS;
}

/* ---- frames ---- */

/* What a frame is told apart by besides its symbol. */
static uint64_t frame_address(const struct fold_options *options, const struct fold_frame *frame)
{
	if (frame->symbol && options->by_line)
		return frame->ip;
	if (frame->symbol)
		return options->by_address ? map_to_dso(frame->map, frame->ip) : 0;
	if (options->by_file)
		return 0;
	return options->chains || !frame->map ? frame->ip : map_to_dso(frame->map, frame->ip);
}

static bool frame_same(const struct fold_options *options, const struct fold_frame *a, const struct fold_frame *b)
{
	if (a->symbol != b->symbol || frame_address(options, a) != frame_address(options, b))
		return false;
	if (a->symbol)
		return true;
	if (a->cpumode != b->cpumode || !a->map != !b->map)
		return false;
	if (!a->map || a->map == b->map)
		return true;
	return a->map->dso == b->map->dso && (options->by_file || map_to_dso(a->map, a->ip) == map_to_dso(b->map, b->ip));
}

uint32_t fold_tables_frame(struct fold_tables *tables, const struct fold_frame *frame)
{
	const struct fold_options *options = tables->options;
	uint64_t what = frame->symbol ? (uintptr_t)frame->symbol : frame->map ? (uintptr_t)frame->map->dso : 1;
	uint64_t hash = hash_combine(what, frame_address(options, frame));
	unsigned int number = shard_of(hash);
	struct frame_shard *shard = &tables->frames[number];
	struct id_probe probe;
	pthread_mutex_lock(&shard->lock);
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	while (id != ID_NONE && !frame_same(options, &shard->frames.data[id], frame))
		id = id_table_next(&shard->ids, &probe);
	if (id == ID_NONE) {
		id = (uint32_t)shard->frames.len;
		vec_push(&shard->frames, *frame);
		id_table_insert(&shard->ids, (uint32_t)hash, id);
	}
	pthread_mutex_unlock(&shard->lock);
	return id * FOLD_SHARDS + number;
}

/* ---- pieces ---- */

static uint64_t ids_hash(const uint32_t *ids, uint32_t count, bool kernel)
{
	uint64_t hash = count * 2 + kernel;
	for (uint32_t i = 0; i < count; i++) {
		hash = (hash ^ ids[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash_u64(hash);
}

uint32_t fold_tables_piece(struct fold_tables *tables, const uint32_t *frames, uint32_t count, bool kernel)
{
	uint64_t hash = ids_hash(frames, count, kernel);
	unsigned int number = shard_of(hash);
	struct piece_shard *shard = &tables->pieces[number];
	struct id_probe probe;
	pthread_mutex_lock(&shard->lock);
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	for (; id != ID_NONE; id = id_table_next(&shard->ids, &probe)) {
		const struct fold_piece *known = &shard->pieces.data[id];
		if (known->frame_count == count && known->kernel == kernel && !memcmp(shard->frames.data + known->frames, frames, count * sizeof(*frames)))
			break;
	}
	if (id == ID_NONE) {
		id = (uint32_t)shard->pieces.len;
		vec_push(&shard->pieces, (struct fold_piece){.frames = (uint32_t)shard->frames.len, .frame_count = count, .kernel = kernel});
		vec_reserve(&shard->frames, shard->frames.len + count);
		memcpy(shard->frames.data + shard->frames.len, frames, count * sizeof(*frames));
		shard->frames.len += count;
		id_table_insert(&shard->ids, (uint32_t)hash, id);
	}
	pthread_mutex_unlock(&shard->lock);
	return id * FOLD_SHARDS + number;
}

/* ---- actors and extras ---- */

static uint32_t find_actor(struct fold_tables *tables, const struct thread *thread, const char *comm, uint32_t *ret_hash)
{
	struct id_probe probe;
	*ret_hash = (uint32_t)hash_combine((uintptr_t)thread, (uintptr_t)comm);
	uint32_t id = id_table_first(&tables->actor_ids, *ret_hash, &probe);
	while (id != ID_NONE && (tables->actors.data[id].comm != comm || (thread && tables->actors.data[id].thread != thread)))
		id = id_table_next(&tables->actor_ids, &probe);
	return id;
}

/* An actor is in the table under its thread and name, the first one of a name also under that alone. */
uint32_t fold_tables_actor(struct fold_tables *tables, const struct fold_actor *actor, uint32_t *ret_who)
{
	uint32_t hash, name_hash;
	pthread_mutex_lock(&tables->lock);
	uint32_t id = find_actor(tables, actor->thread, actor->comm, &hash), who = find_actor(tables, NULL, actor->comm, &name_hash);
	if (id == ID_NONE) {
		id = (uint32_t)tables->actors.len;
		vec_push(&tables->actors, *actor);
		id_table_insert(&tables->actor_ids, hash, id);
	}
	if (who == ID_NONE) {
		who = id;
		id_table_insert(&tables->actor_ids, name_hash, id);
	}
	pthread_mutex_unlock(&tables->lock);
	*ret_who = tables->options->threads ? id : who;
	return id;
}

uint32_t fold_tables_extra(struct fold_tables *tables, const uint64_t *words)
{
	unsigned int count = tables->options->extra_words;
	uint32_t hash = (uint32_t)hash_words(words, count, 0).lo;
	struct id_probe probe;
	pthread_mutex_lock(&tables->lock);
	uint32_t id = id_table_first(&tables->extra_ids, hash, &probe);
	while (id != ID_NONE && memcmp(tables->extras.data + (size_t)id * count, words, count * sizeof(*words)) != 0)
		id = id_table_next(&tables->extra_ids, &probe);
	if (id == ID_NONE) {
		id = tables->extra_count++;
		for (unsigned int i = 0; i < count; i++)
			vec_push(&tables->extras, words[i]);
		id_table_insert(&tables->extra_ids, hash, id);
	}
	pthread_mutex_unlock(&tables->lock);
	return id;
}

/* ---- entries ---- */

static bool is_earlier(const struct fold_entry *a, const struct fold_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->first < b->first;
}

static bool entry_same(const struct fold_entry *a, const struct fold_entry *b)
{
	return a->leaf == b->leaf && a->inner == b->inner && a->outer == b->outer && a->who == b->who && a->extra == b->extra && a->event == b->event &&
	       a->cpumode == b->cpumode;
}

void fold_tables_entry(struct fold_tables *tables, const struct fold_entry *entry)
{
	uint64_t stack = (uint64_t)entry->inner << 32 | entry->outer, who = (uint64_t)entry->who << 32 | entry->extra;
	uint64_t hash = hash_combine(hash_combine(stack, who), (uint64_t)entry->leaf << 32 ^ (uint64_t)entry->event << 8 ^ entry->cpumode);
	struct entry_shard *shard = &tables->entries[shard_of(hash)];
	struct id_probe probe;
	pthread_mutex_lock(&shard->lock);
	uint32_t id = id_table_first(&shard->ids, (uint32_t)hash, &probe);
	while (id != ID_NONE && !entry_same(&shard->entries.data[id], entry))
		id = id_table_next(&shard->ids, &probe);
	if (id == ID_NONE) {
		id_table_insert(&shard->ids, (uint32_t)hash, (uint32_t)shard->entries.len);
		vec_push(&shard->entries, *entry);
	} else {
		struct fold_entry *known = &shard->entries.data[id];
		known->count += entry->count;
		known->period += entry->period;
		if (is_earlier(entry, known)) {
			known->first = entry->first;
			known->time = entry->time;
			known->actor = entry->actor;
		}
	}
	pthread_mutex_unlock(&shard->lock);
}

/* ---- packing ---- */

struct packing {
	struct fold_tables *tables;
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
	return &packing->tables->entries[id % FOLD_SHARDS].entries.data[id / FOLD_SHARDS];
}

static size_t bucket_of(const struct packing *packing, const struct fold_entry *entry)
{
	return (size_t)((entry_key(packing, entry) - packing->earliest) / packing->span);
}

static uint32_t packed_frame(const struct fold_tables *tables, uint32_t id)
{
	return tables->frames[id % FOLD_SHARDS].first + id / FOLD_SHARDS;
}

static uint32_t packed_piece(const struct fold_tables *tables, uint32_t id)
{
	return id == FOLD_NONE ? id : tables->pieces[id % FOLD_SHARDS].first + id / FOLD_SHARDS;
}

/* Also counts the shard's entries in each bucket. */
static void pack_shard(void *context, unsigned int worker, size_t number)
{
	struct packing *packing = context;
	struct fold *fold = packing->fold;
	const struct fold_tables *tables = packing->tables;
	const struct frame_shard *frames = &tables->frames[number];
	const struct piece_shard *pieces = &tables->pieces[number];
	const struct entry_shard *entries = &tables->entries[number];
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
	const struct entry_shard *shard = &packing->tables->entries[number];
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
		entry->inner = packed_piece(packing->tables, entry->inner);
		entry->outer = packed_piece(packing->tables, entry->outer);
	}
}

/* Sizes of all arrays, and when entries are from. */
static void measure(struct packing *packing)
{
	struct fold *fold = packing->fold;
	struct fold_tables *tables = packing->tables;
	size_t frame_ids = 0;
	uint64_t earliest = UINT64_MAX, latest = 0;
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		tables->frames[i].first = (uint32_t)fold->frame_count;
		tables->pieces[i].first = (uint32_t)fold->piece_count;
		tables->pieces[i].first_frame = (uint32_t)frame_ids;
		fold->frame_count += tables->frames[i].frames.len;
		fold->piece_count += tables->pieces[i].pieces.len;
		fold->entry_count += tables->entries[i].entries.len;
		frame_ids += tables->pieces[i].frames.len;
		id_table_deinit(&tables->frames[i].ids);
		id_table_deinit(&tables->pieces[i].ids);
		id_table_deinit(&tables->entries[i].ids);
		for (size_t e = 0; e < tables->entries[i].entries.len; e++) {
			uint64_t key = entry_key(packing, &tables->entries[i].entries.data[e]);
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

void fold_tables_pack(struct fold_tables *tables, struct fold *fold)
{
	unsigned int jobs = tables->options->jobs;
	struct packing packing = {.tables = tables, .fold = fold, .by_place = !fold->session->reader->has_times};
	measure(&packing);
	packing.starts = mem_zalloc_array(TIME_BUCKETS, sizeof(*packing.starts));
	pool_run(jobs, FOLD_SHARDS, pack_shard, &packing);
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		vec_deinit(&tables->frames[i].frames);
		vec_deinit(&tables->pieces[i].pieces);
		vec_deinit(&tables->pieces[i].frames);
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

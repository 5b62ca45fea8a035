/* Fold: what all feeds share: distinct frames, actors and extra values. Each feed has seen nearly all that comes before (fold_place.c),
 * so that they rarely meet at a lock. */
#include "analysis/report/fold_internal.h"

#include <stdlib.h>
#include <string.h>

struct fold_tables *fold_tables_create(const struct fold_options *options)
{
	struct fold_tables *tables = mem_zalloc(sizeof(*tables));
	tables->options = options;
	pthread_mutex_init(&tables->lock, NULL);
	for (unsigned int i = 0; i < FOLD_SHARDS; i++)
		pthread_mutex_init(&tables->frames[i].lock, NULL);
	return tables;
}

void fold_tables_destroy(struct fold_tables *tables)
{
	if (!tables)
		return;
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		vec_deinit(&tables->frames[i].frames);
		id_table_deinit(&tables->frames[i].ids);
		pthread_mutex_destroy(&tables->frames[i].lock);
	}
	for (size_t i = 0; i < tables->sets.len; i++) {
		fold_set_deinit(tables->sets.data[i]);
		free(tables->sets.data[i]);
	}
	for (size_t i = 0; i < tables->loose.len; i++)
		fold_loose_destroy(tables->loose.data[i]);
	vec_deinit(&tables->sets);
	vec_deinit(&tables->loose);
	vec_deinit(&tables->actors);
	vec_deinit(&tables->extras);
	id_table_deinit(&tables->actor_ids);
	id_table_deinit(&tables->extra_ids);
	pthread_mutex_destroy(&tables->lock);
	free(tables);
}

static void copy_ids(struct id_table *to, const struct id_table *from)
{
	*to = *from;
	if (!from->slots)
		return;
	to->slots = mem_alloc_array(from->slot_count, sizeof(*to->slots));
	memcpy(to->slots, from->slots, from->slot_count * sizeof(*to->slots));
}

void fold_tables_keep(struct fold_tables *tables, struct fold_tables *from, uint64_t lineage)
{
	if (!from->lineage)
		from->lineage = lineage;
	tables->lineage = from->lineage;
	for (unsigned int i = 0; i < FOLD_SHARDS; i++) {
		struct frame_shard *to = &tables->frames[i], *shard = &from->frames[i];
		shard->kept = (uint32_t)shard->frames.len;
		vec_reserve(&to->frames, shard->frames.len);
		if (shard->frames.len)
			memcpy(to->frames.data, shard->frames.data, shard->frames.len * sizeof(*to->frames.data));
		to->frames.len = shard->frames.len;
		copy_ids(&to->ids, &shard->ids);
	}
	for (size_t i = 0; i < from->actors.len; i++)
		vec_push(&tables->actors, from->actors.data[i]);
	copy_ids(&tables->actor_ids, &from->actor_ids);
}

size_t fold_tables_frame_count(const struct fold_tables *tables)
{
	size_t count = 0;
	for (unsigned int i = 0; i < FOLD_SHARDS; i++)
		count += tables->frames[i].frames.len;
	return count;
}

struct fold_set *fold_tables_add_set(struct fold_tables *tables)
{
	struct fold_set *set = mem_zalloc(sizeof(*set));
	fold_set_init(set, tables->options, tables->records);
	pthread_mutex_lock(&tables->lock);
	vec_push(&tables->sets, set);
	pthread_mutex_unlock(&tables->lock);
	return set;
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
	return fold_by_memory(options) || !frame->map ? frame->ip : map_to_dso(frame->map, frame->ip);
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

static uint64_t occurrence_address(const struct fold_frame *frame)
{
	return frame->map ? map_to_dso(frame->map, frame->ip) : frame->ip;
}

/* Of the addresses that are one frame the lowest one in the file stands for it: which worker comes first, with which, is chance. */
static void settle_occurrence(struct fold_frame *known, const struct fold_frame *frame)
{
	if (occurrence_address(frame) < occurrence_address(known))
		*known = *frame;
}

uint32_t fold_tables_frame(struct fold_tables *tables, const struct fold_frame *frame)
{
	const struct fold_options *options = tables->options;
	uint64_t what = frame->symbol ? (uintptr_t)frame->symbol : frame->map ? (uintptr_t)frame->map->dso : 1;
	uint64_t hash = hash_combine(what, frame_address(options, frame));
	unsigned int number = fold_shard(hash);
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
	} else {
		settle_occurrence(&shard->frames.data[id], frame);
	}
	pthread_mutex_unlock(&shard->lock);
	return id * FOLD_SHARDS + number;
}

/* ---- actors and extras ---- */

static uint32_t find_actor(struct fold_tables *tables, const struct thread *thread, const struct untrusted *comm, uint32_t *ret_hash)
{
	struct id_probe probe;
	*ret_hash = (uint32_t)hash_combine((uintptr_t)thread, (uintptr_t)comm);
	uint32_t id = id_table_first(&tables->actor_ids, *ret_hash, &probe);
	while (id != ID_NONE && (tables->actors.data[id].comm != comm || (thread && tables->actors.data[id].thread != thread)))
		id = id_table_next(&tables->actor_ids, &probe);
	return id;
}

/* An actor is in the table under its thread and name, the first one of a name also under that alone. What runs for days keeps no thread for
 * each process that has come and gone where a name is all that is asked for: anyone who has it will do. */
uint32_t fold_tables_actor(struct fold_tables *tables, const struct fold_actor *actor, uint32_t *ret_who)
{
	uint32_t hash, name_hash;
	pthread_mutex_lock(&tables->lock);
	uint32_t id = find_actor(tables, actor->thread, actor->comm, &hash), who = find_actor(tables, NULL, actor->comm, &name_hash);
	if (id == ID_NONE && who != ID_NONE && tables->options->any_address && !tables->options->threads)
		id = who;
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

void fold_tables_index_actors(struct fold_tables *tables)
{
	pthread_mutex_lock(&tables->lock);
	id_table_deinit(&tables->actor_ids);
	tables->actor_ids = (struct id_table){0};
	for (uint32_t id = 0; id < tables->actors.len; id++) {
		const struct fold_actor *actor = &tables->actors.data[id];
		uint32_t hash, name_hash;
		find_actor(tables, actor->thread, actor->comm, &hash);
		if (find_actor(tables, NULL, actor->comm, &name_hash) == ID_NONE)
			id_table_insert(&tables->actor_ids, name_hash, id);
		id_table_insert(&tables->actor_ids, hash, id);
	}
	pthread_mutex_unlock(&tables->lock);
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

/* Fold, second step: frames. Each piece and each sampled address is resolved once, in parallel; equal frames get equal ids.
 *
 * Most addresses repeat, so that a worker first asks a small direct-mapped table of its own, (space, address) → frame. What isn't there goes to the
 * resolver, and then to one of many shards of the table of frames, each under a lock of its own.
 *
 * frame id = number in its shard × SHARDS + shard. At the end ids are packed. Not done here: names (fold_tree.c).
 */
#include "analysis/fold_internal.h"
#include "analysis/stack.h"

#include "base/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 64, CACHE_SLOTS = 1 << 17, PIECES_PER_ITEM = 2048, ENTRIES_PER_ITEM = 8192 };

struct frame_shard {
	pthread_mutex_t lock;
	VEC(struct fold_frame) frames;
	struct id_table ids;
	uint32_t first; /* packed id of its first frame */
};

struct cache_slot {
	uint64_t ip;
	uint32_t key; /* space and mode; 0 = empty */
	uint32_t frame;
};

/* Frames of unwound pieces: an address can become several, so that they don't fit where the others have their places. */
struct expanded {
	VEC(uint32_t) ids;
	uint32_t base; /* their place behind the others, at the end */
};

struct resolve {
	struct fold *fold;
	struct resolver *resolver;
	const struct fold_options *options;
	const struct machine *machine;
	struct fold_sums *sums;
	struct frame_shard shards[SHARDS];
	struct cache_slot **caches; /* one for each worker */
	struct expanded *expanded;  /* the same */
};

static bool frame_same(const struct fold_frame *a, const struct fold_frame *b, bool by_address)
{
	if (a->symbol || b->symbol)
		return a->symbol == b->symbol && (!by_address || a->ip == b->ip);
	if (a->ip != b->ip || a->cpumode != b->cpumode || !a->map != !b->map)
		return false;
	return a->map == b->map || (a->map->dso == b->map->dso && map_to_dso(a->map, a->ip) == map_to_dso(b->map, b->ip));
}

static uint32_t shard_frame(struct resolve *resolve, const struct fold_frame *frame)
{
	bool by_address = resolve->options->by_address || resolve->options->by_line;
	uint64_t wide = frame->symbol ? hash_combine((uintptr_t)frame->symbol, by_address ? frame->ip : 0)
				      : hash_combine(frame->ip, frame->map ? (uintptr_t)frame->map->dso : 1);
	struct frame_shard *shard = &resolve->shards[(wide >> 40) % SHARDS];
	uint32_t hash = (uint32_t)wide, id;
	struct id_probe probe;
	pthread_mutex_lock(&shard->lock);
	for (id = id_table_first(&shard->ids, hash, &probe); id != ID_NONE; id = id_table_next(&shard->ids, &probe))
		if (frame_same(&shard->frames.data[id], frame, by_address))
			break;
	if (id == ID_NONE) {
		id = (uint32_t)shard->frames.len;
		vec_push(&shard->frames, *frame);
		id_table_insert(&shard->ids, hash, id);
	}
	pthread_mutex_unlock(&shard->lock);
	return id * SHARDS + (uint32_t)(shard - resolve->shards);
}

/* FOLD_NONE when unresolved frames are hidden and this one is. */
static uint32_t resolve_address(struct resolve *resolve, unsigned int worker, uint32_t space_id, uint8_t cpumode, uint64_t ip)
{
	uint32_t key = (space_id << 3 | cpumode) + 1;
	struct cache_slot *slot = &resolve->caches[worker][hash_combine(ip, key) % CACHE_SLOTS];
	if (slot->key == key && slot->ip == ip)
		return slot->frame;
	const struct fold_space *space = &resolve->sums->spaces.data[space_id];
	const struct maps *maps = cpumode == CPUMODE_KERNEL ? resolve->machine->kernel_maps : cpumode == CPUMODE_USER ? space->maps : NULL;
	struct frame found = {.ip = ip, .cpumode = cpumode};
	resolver_frame(resolve->resolver, maps, cpumode, ip, space->time, &found);
	struct fold_frame frame = {.ip = ip, .map = found.map, .symbol = found.symbol, .cpumode = cpumode};
	uint32_t id = resolve->options->hide_unresolved && !frame.symbol ? FOLD_NONE : shard_frame(resolve, &frame);
	*slot = (struct cache_slot){.ip = ip, .key = key, .frame = id};
	return id;
}

static uint8_t marker_mode(uint64_t marker)
{
	switch (marker) {
	case CALLCHAIN_KERNEL:
		return CPUMODE_KERNEL;
	case CALLCHAIN_USER:
	case CALLCHAIN_USER_DEFERRED:
		return CPUMODE_USER;
	case CALLCHAIN_GUEST_KERNEL:
		return CPUMODE_GUEST_KERNEL;
	case CALLCHAIN_GUEST_USER:
		return CPUMODE_GUEST_USER;
	case CALLCHAIN_HYPERVISOR:
		return CPUMODE_HYPERVISOR;
	default:
		return CPUMODE_UNKNOWN;
	}
}

/* The mode of an address that came without one. */
static uint8_t mode_by_address(const struct resolve *resolve, uint64_t ip)
{
	uint64_t start = resolve->machine->kernel_start;
	return start && ip >= start ? CPUMODE_KERNEL : CPUMODE_USER;
}

/* A branch from one address to another: the space is seen by the address. Both are kept also when unresolved ones are hidden, or none. */
static void resolve_branch(struct resolve *resolve, unsigned int worker, struct chain_piece *piece, struct fold_piece *ret)
{
	uint32_t *ids = resolve->fold->frame_ids + ret->frames;
	for (uint32_t i = 0; i < 2; i++)
		ids[i] = resolve_address(resolve, worker, piece->space, mode_by_address(resolve, piece->ips[i]), piece->ips[i]);
	ret->frame_count = ids[0] == FOLD_NONE || ids[1] == FOLD_NONE ? 0 : 2;
}

static void resolve_piece(struct resolve *resolve, unsigned int worker, struct chain_piece *piece, struct fold_piece *ret)
{
	uint32_t *ids = resolve->fold->frame_ids + ret->frames, count = 0;
	uint8_t mode = piece->kernel ? CPUMODE_KERNEL : CPUMODE_USER;
	bool by_address = false;
	for (uint32_t i = 0; i < piece->count; i++) {
		uint64_t ip = piece->ips[i];
		if (ip == FOLD_BY_ADDRESS || by_address)
			mode = mode_by_address(resolve, ip);
		if (stack_is_marker(ip)) {
			by_address = ip == FOLD_BY_ADDRESS;
			mode = marker_mode(ip);
			continue;
		}
		uint32_t id = resolve_address(resolve, worker, piece->space, mode, ip);
		if (id != FOLD_NONE)
			ids[count++] = id;
	}
	ret->frame_count = count;
}

/* Adds the frames of an address: one for each function that was inlined there, and the one around them. */
static void expand_address(struct resolve *resolve, unsigned int worker, uint32_t space_id, uint64_t ip)
{
	const struct fold_space *space = &resolve->sums->spaces.data[space_id];
	struct expanded *expanded = &resolve->expanded[worker];
	const struct code_function *functions;
	struct frame found;
	resolver_frame(resolve->resolver, space->maps, CPUMODE_USER, ip, space->time, &found);
	size_t count = resolver_functions(resolve->resolver, &found, &functions);
	for (size_t i = 0; i < count; i++) {
		struct fold_frame frame = {.ip = ip, .map = found.map, .symbol = functions[i].symbol, .cpumode = CPUMODE_USER};
		vec_push(&expanded->ids, shard_frame(resolve, &frame));
	}
	if (count)
		return;
	uint32_t id = resolve_address(resolve, worker, space_id, CPUMODE_USER, ip);
	if (id != FOLD_NONE)
		vec_push(&expanded->ids, id);
}

static void resolve_unwound(struct resolve *resolve, unsigned int worker, struct chain_piece *piece, struct fold_piece *ret)
{
	struct expanded *expanded = &resolve->expanded[worker];
	piece->hash = worker; /* until place_expanded() */
	ret->frames = (uint32_t)expanded->ids.len;
	for (uint32_t i = 0; i < piece->count; i++)
		if (!stack_is_marker(piece->ips[i]))
			expand_address(resolve, worker, piece->space, piece->ips[i]);
	ret->frame_count = (uint32_t)expanded->ids.len - ret->frames;
}

static bool has_inlines(const struct resolve *resolve, const struct chain_piece *piece)
{
	return resolve->options->inlines && piece->unwound;
}

/* Puts the frames of unwound pieces behind the others'. */
static void place_expanded(struct resolve *resolve, size_t words, unsigned int jobs)
{
	struct fold *fold = resolve->fold;
	size_t total = words;
	for (unsigned int i = 0; i < jobs; i++) {
		resolve->expanded[i].base = (uint32_t)total;
		total += resolve->expanded[i].ids.len;
	}
	if (total == words)
		return;
	fold->frame_ids = mem_resize(fold->frame_ids, (total + 1) * sizeof(*fold->frame_ids));
	for (unsigned int i = 0; i < jobs; i++)
		if (resolve->expanded[i].ids.len)
			memcpy(fold->frame_ids + resolve->expanded[i].base, resolve->expanded[i].ids.data,
			       resolve->expanded[i].ids.len * sizeof(uint32_t));
	for (size_t i = 0; i < fold->piece_count; i++)
		if (has_inlines(resolve, &resolve->sums->pieces.data[i]))
			fold->pieces[i].frames += resolve->expanded[resolve->sums->pieces.data[i].hash].base;
}

static void resolve_pieces(void *context, unsigned int worker, size_t item)
{
	struct resolve *resolve = context;
	size_t end = (item + 1) * PIECES_PER_ITEM;
	if (end > resolve->fold->piece_count)
		end = resolve->fold->piece_count;
	void (*one)(struct resolve *, unsigned int, struct chain_piece *, struct fold_piece *) = resolve->options->branches ? resolve_branch : resolve_piece;
	for (size_t i = item * PIECES_PER_ITEM; i < end; i++) {
		struct chain_piece *piece = &resolve->sums->pieces.data[i];
		(has_inlines(resolve, piece) ? resolve_unwound : one)(resolve, worker, piece, &resolve->fold->pieces[i]);
	}
}

/* Mostly the sampled address is the first one of the stack, whose frame is known already. */
static uint32_t leaf_of_stack(const struct resolve *resolve, const struct fold_entry *entry)
{
	uint32_t id = entry->inner != FOLD_NONE ? entry->inner : entry->outer;
	if (id == FOLD_NONE || resolve->options->hide_unresolved || resolve->options->branches)
		return FOLD_NONE;
	const struct chain_piece *piece = &resolve->sums->pieces.data[id];
	uint64_t marker = piece->kernel ? CALLCHAIN_KERNEL : CALLCHAIN_USER;
	uint8_t mode = piece->kernel ? CPUMODE_KERNEL : CPUMODE_USER;
	if (piece->count < 2 || piece->ips[0] != marker || piece->ips[1] != entry->ip || stack_is_marker(entry->ip) || mode != entry->cpumode || piece->unwound)
		return FOLD_NONE;
	return resolve->fold->frame_ids[resolve->fold->pieces[id].frames];
}

static void resolve_leaves(void *context, unsigned int worker, size_t item)
{
	struct resolve *resolve = context;
	size_t end = (item + 1) * ENTRIES_PER_ITEM;
	if (end > resolve->fold->entry_count)
		end = resolve->fold->entry_count;
	for (size_t i = item * ENTRIES_PER_ITEM; i < end; i++) {
		struct fold_entry *entry = &resolve->fold->entries[i];
		const struct fold_actor *actor = &resolve->fold->actors[entry->actor];
		uint32_t space = entry->cpumode == CPUMODE_KERNEL ? actor->kernel_space : actor->user_space;
		uint64_t ip = entry->ip;
		uint32_t leaf = leaf_of_stack(resolve, entry);
		entry->ip = 0;
		entry->leaf = leaf != FOLD_NONE ? leaf : resolve_address(resolve, worker, space, entry->cpumode, ip);
	}
}

/* Ids from shard-wise to packed. */
static uint32_t packed(const struct resolve *resolve, uint32_t id)
{
	return id == FOLD_NONE ? id : resolve->shards[id % SHARDS].first + id / SHARDS;
}

/* Closes the gaps that markers left. Pieces with inlined functions are longer than they were recorded and stand at the end: then into a new array. */
static void pack_pieces(const struct resolve *resolve)
{
	struct fold *fold = resolve->fold;
	uint32_t at = 0, *ids = fold->frame_ids, *from = fold->frame_ids;
	size_t total = 0;
	for (size_t i = 0; i < fold->piece_count; i++)
		total += fold->pieces[i].frame_count;
	if (resolve->options->inlines)
		ids = mem_alloc_array(total + 1, sizeof(*ids));
	for (size_t i = 0; i < fold->piece_count; i++) {
		struct fold_piece *piece = &fold->pieces[i];
		const uint32_t *old = from + piece->frames;
		piece->frames = at;
		for (uint32_t f = 0; f < piece->frame_count; f++)
			ids[at++] = packed(resolve, old[f]);
	}
	if (ids != from)
		free(from);
	else
		ids = mem_resize(ids, (total + 1) * sizeof(*ids));
	fold->frame_ids = ids;
}

static void pack(struct resolve *resolve)
{
	struct fold *fold = resolve->fold;
	uint32_t total = 0;
	for (unsigned int i = 0; i < SHARDS; i++) {
		id_table_deinit(&resolve->shards[i].ids);
		resolve->shards[i].first = total;
		total += (uint32_t)resolve->shards[i].frames.len;
	}
	fold->frames = mem_alloc_array(total + 1, sizeof(*fold->frames));
	fold->frame_count = total;
	for (unsigned int i = 0; i < SHARDS; i++) {
		struct frame_shard *shard = &resolve->shards[i];
		if (shard->frames.len)
			memcpy(fold->frames + shard->first, shard->frames.data, shard->frames.len * sizeof(*fold->frames));
		vec_deinit(&shard->frames);
	}
	pack_pieces(resolve);
	size_t kept = 0;
	for (size_t i = 0; i < fold->entry_count; i++) {
		if (fold->entries[i].leaf == FOLD_NONE)
			continue;
		fold->entries[i].leaf = packed(resolve, fold->entries[i].leaf);
		fold->entries[kept++] = fold->entries[i];
	}
	fold->entry_count = kept;
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

void fold_resolve(struct fold *fold)
{
	unsigned int jobs = fold->private->options.jobs;
	struct resolve resolve = {.fold = fold,
				  .resolver = fold->private->resolver,
				  .options = &fold->private->options,
				  .machine = fold->session->machine,
				  .sums = fold->private->sums};
	size_t words = 0;
	fold->pieces = fold->private->pieces = mem_alloc_array(fold->piece_count + 1, sizeof(*fold->pieces));
	for (size_t i = 0; i < fold->piece_count; i++) {
		const struct chain_piece *piece = &resolve.sums->pieces.data[i];
		fold->pieces[i] = (struct fold_piece){.frames = (uint32_t)words, .kernel = piece->kernel};
		words += piece->count;
	}
	fold->frame_ids = mem_alloc_array(words + 1, sizeof(*fold->frame_ids));
	resolve.caches = mem_alloc_array(jobs, sizeof(*resolve.caches));
	resolve.expanded = mem_zalloc_array(jobs, sizeof(*resolve.expanded));
	for (unsigned int i = 0; i < jobs; i++)
		resolve.caches[i] = mem_zalloc_array(CACHE_SLOTS, sizeof(**resolve.caches));
	for (unsigned int i = 0; i < SHARDS; i++)
		pthread_mutex_init(&resolve.shards[i].lock, NULL);
	pool_run(jobs, (fold->piece_count + PIECES_PER_ITEM - 1) / PIECES_PER_ITEM, resolve_pieces, &resolve);
	pool_run(jobs, (fold->entry_count + ENTRIES_PER_ITEM - 1) / ENTRIES_PER_ITEM, resolve_leaves, &resolve);
	place_expanded(&resolve, words, jobs);
	for (unsigned int i = 0; i < jobs; i++) {
		free(resolve.caches[i]);
		vec_deinit(&resolve.expanded[i].ids);
	}
	free(resolve.caches);
	free(resolve.expanded);
	vec_deinit(&resolve.sums->pieces);
	pack(&resolve);
	if (resolve.options->by_line && !resolve.options->by_address)
		fold->functions = find_functions(fold);
	for (unsigned int i = 0; i < SHARDS; i++)
		pthread_mutex_destroy(&resolve.shards[i].lock);
}

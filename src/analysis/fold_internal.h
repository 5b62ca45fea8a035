/* What fold.c (samples), fold_place.c (addresses), fold_tables.c (distinct elements) and fold_tree.c (trees) share. */
#pragma once

#include "analysis/fold.h"
#include "analysis/id_table.h"
#include "analysis/stack.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/vec.h"

#include <pthread.h>

/* Our own marker in chains: what follows is user or kernel by its address. */
#define FOLD_BY_ADDRESS ((uint64_t)-3)

enum { FOLD_SHARDS = 64 };

/* Distinct elements, shared by all workers: each kind in shards by hash, each shard under a lock of its own, so that nothing has to be merged. Until
 * fold_tables_pack() an id is: number in its shard × FOLD_SHARDS + shard. */
struct frame_shard {
	pthread_mutex_t lock;
	VEC(struct fold_frame) frames;
	struct id_table ids;
	uint32_t first; /* packed id of its first element */
};

struct piece_shard {
	pthread_mutex_t lock;
	VEC(struct fold_piece) pieces;
	VEC(uint32_t) frames; /* ids */
	struct id_table ids;
	uint32_t first, first_frame;
};

struct entry_shard {
	pthread_mutex_t lock;
	VEC(struct fold_entry) entries;
	struct id_table ids;
};

struct fold_tables {
	struct frame_shard frames[FOLD_SHARDS];
	struct piece_shard pieces[FOLD_SHARDS];
	struct entry_shard entries[FOLD_SHARDS];
	pthread_mutex_t lock; /* of actors and extras */
	VEC(struct fold_actor) actors;
	VEC(uint64_t) extras;
	uint32_t extra_count;
	struct id_table actor_ids, extra_ids;
	const struct fold_options *options;
};

struct fold_private {
	struct fold_options options;
	struct intern names;
	const char **frame_names; /* by frame, NULL = not made yet */
};

struct fold_tables *fold_tables_create(const struct fold_options *options);
void fold_tables_destroy(struct fold_tables *tables);
/* The ids of what is equal to the argument, which is copied when it is new. Safe on many threads. */
uint32_t fold_tables_frame(struct fold_tables *tables, const struct fold_frame *frame);
uint32_t fold_tables_piece(struct fold_tables *tables, const uint32_t *frames, uint32_t count, bool kernel);
uint32_t fold_tables_extra(struct fold_tables *tables, const uint64_t *words);
/* Of `actor` and, as *ret_who, of the first one that options->threads doesn't tell it apart from. */
uint32_t fold_tables_actor(struct fold_tables *tables, const struct fold_actor *actor, uint32_t *ret_who);
/* Adds `entry` to the one that is the same but for count, period, actor and first sample. */
void fold_tables_entry(struct fold_tables *tables, const struct fold_entry *entry);
/* Moves all into the fold's arrays, with ids that are indexes; the entries in the order of their first samples. The tables are empty afterwards. */
void fold_tables_pack(struct fold_tables *tables, struct fold *fold);

/* Addresses to frames, one for each worker: what it has seen is kept in small direct-mapped tables of its own. */
struct fold_places {
	struct fold_tables *tables;
	struct resolver *resolver;
	const struct fold_options *options;
	const struct machine *machine;
	struct place_map *maps;	    /* (state, address) → map */
	struct place_frame *frames; /* (file, address in it) → frame */
	struct id_table expansion_ids;
	VEC(struct place_expansion) expansions;
	VEC(uint32_t) expanded; /* frames of functions and of those inlined in them */
	uint32_t single;	/* what fold_places_functions() returns for the others */
};

void fold_places_init(struct fold_places *places, struct fold_tables *tables, struct resolver *resolver, const struct machine *machine);
void fold_places_deinit(struct fold_places *places);
/* The frame of an address; FOLD_NONE when unresolved ones are hidden and this is one. */
uint32_t fold_places_frame(struct fold_places *places, const struct maps_state *state, uint8_t cpumode, uint64_t ip);
/* The frames of an address in a user stack, innermost first: one for each function that was inlined there and the one around them; just the address' own
 * where debug information says nothing. Valid until the next call. */
size_t fold_places_functions(struct fold_places *places, const struct maps_state *state, uint64_t ip, const uint32_t **ret);

/* What fold.c (adding up), fold_resolve.c (frames) and fold_tree.c (trees) share. */
#pragma once

#include "analysis/fold.h"
#include "analysis/id_table.h"
#include "analysis/stack.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/vec.h"

/* Our own marker in chains: what follows is user or kernel by its address. */
#define FOLD_BY_ADDRESS ((uint64_t)-3)

/* An address space in one state. */
struct fold_space {
	const struct maps *maps; /* NULL = nothing is known of it */
	uint64_t epoch;
	uint64_t time; /* a time at which it is in that state */
};

/* Part of a chain as recorded, with markers. */
struct chain_piece {
	const uint64_t *ips; /* into the recording or the arena */
	uint32_t hash;
	uint32_t count : 30;
	uint32_t kernel : 1;
	uint32_t unwound : 1; /* from registers and stack bytes */
	uint32_t space;
};

/* Distinct elements and how to find them. One per worker, merged into one. */
struct fold_sums {
	const struct sample_layout *layouts; /* by event: where times are */
	VEC(struct fold_entry) entries;
	VEC(struct chain_piece) pieces;
	VEC(struct fold_actor) actors;
	VEC(struct fold_space) spaces;
	VEC(uint64_t) extras;
	uint32_t extra_count;
	struct id_table entry_ids, piece_ids, actor_ids, space_ids, extra_ids;
	struct arena arena; /* unwound chains */
};

struct fold_private {
	struct fold_options options;
	struct resolver *resolver;
	struct fold_sums *sums; /* owns what struct fold points to */
	struct intern names;
	const char **frame_names; /* by frame, NULL = not made yet */
	struct fold_piece *pieces;
};

/* The time of a sample; 0 when it has none. */
static inline uint64_t fold_record_time(const struct sample_layout *layout, const struct record_header *header)
{
	return layout->time ? *(const uint64_t *)((const char *)header + layout->time) : 0;
}

/* Sorts the entries by the time of their first samples. */
void fold_order(struct fold *fold);
/* Phase 2: fills frames, frame_ids, the pieces' frames and the entries' leaves. */
void fold_resolve(struct fold *fold);

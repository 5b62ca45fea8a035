/* Fold: the distinct pieces of a set (fold_internal.h): where they are kept, how they are found, and what they share.
 *
 * They are one behind the other in chunks that stay where they are, so that an id says where a piece is, and nothing but the tables of
 * hashes points to it:
 *
 *	id = place × FOLD_SHARDS + shard          chunks of the shard    | piece | piece | piece |   | piece | piece | …
 *	     place, in words of 32 bits           place: chunk, word                     ▲
 *
 * Stacks have most frames in common with others. Where there are many samples, a new piece looks for one that has its outermost frames,
 * the most first, and keeps only the others itself.
 */
#include "analysis/report/fold_internal.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = sizeof(struct set_piece) / sizeof(uint32_t), CHUNK = 1 << FOLD_CHUNK_BITS };

/* In place of a piece's first word: the rest of the chunk was too small for the next piece. */
#define GAP UINT32_MAX

/* ---- where they are ---- */

static uint32_t words_of(uint32_t own)
{
	return HEADER + own;
}

static uint32_t chunks_for(uint32_t words)
{
	return (words + CHUNK - 1) >> FOLD_CHUNK_BITS;
}

/* The place of a new piece. One that is larger than a chunk has several in a row. */
static uint32_t make_room(struct piece_shard *shard, uint32_t words)
{
	uint32_t in_chunk = shard->end % CHUNK, left = in_chunk ? CHUNK - in_chunk : 0;
	if (words > left) {
		if (left)
			memset(&shard->chunks.data[shard->end >> FOLD_CHUNK_BITS][in_chunk], 0xff, sizeof(uint32_t));
		uint32_t chunks = chunks_for(words);
		if (shard->chunks.len + chunks > FOLD_CHUNKS_MOST)
			mem_exhausted();
		uint32_t *block = mem_alloc_array((size_t)chunks << FOLD_CHUNK_BITS, sizeof(*block));
		shard->end = (uint32_t)shard->chunks.len << FOLD_CHUNK_BITS;
		for (uint32_t i = 0; i < chunks; i++)
			vec_push(&shard->chunks, block + ((size_t)i << FOLD_CHUNK_BITS));
	}
	uint32_t place = shard->end;
	shard->end += words;
	return place;
}

uint32_t fold_pieces_next(const struct piece_shard *shard, uint32_t place)
{
	uint32_t in_chunk = place % CHUNK;
	if (in_chunk && place < shard->end && shard->chunks.data[place >> FOLD_CHUNK_BITS][in_chunk] == GAP)
		place += CHUNK - in_chunk;
	return place < shard->end ? place : FOLD_NONE;
}

uint32_t fold_pieces_after(const struct piece_shard *shard, uint32_t place)
{
	const struct set_piece *piece = fold_pieces_at(shard, place);
	return fold_pieces_next(shard, place + words_of(piece->frame_count - piece->shared));
}

void fold_pieces_drop(struct piece_shard *shard)
{
	for (size_t i = 0; i < shard->chunks.len;) {
		uint32_t *block = shard->chunks.data[i];
		const struct set_piece *first = (const struct set_piece *)block;
		i += chunks_for(words_of(first->frame_count - first->shared));
		free(block);
	}
	vec_deinit(&shard->chunks);
	id_table_deinit(&shard->ids);
	id_table_deinit(&shard->prefixes);
	shard->end = 0;
}

/* ---- found by their frames ---- */

uint32_t fold_pieces_hash_begin(bool kernel)
{
	return (uint32_t)hash_key[1] ^ kernel;
}

static uint32_t hash_frame(uint32_t hash, uint32_t frame)
{
	return (uint32_t)hash_u64((uint64_t)hash << 32 | frame);
}

/* From the outermost frame on: those of other pieces that begin there are on the way. */
uint32_t fold_pieces_callers_hash(uint32_t callers_hash, const uint32_t *frames, uint32_t count)
{
	while (count)
		callers_hash = hash_frame(callers_hash, frames[--count]);
	return callers_hash;
}

uint64_t fold_pieces_hash(const struct fold_stretch *stretch)
{
	return hash_u64(fold_pieces_callers_hash(stretch->callers_hash, stretch->frames, stretch->count));
}

/* The piece whose own the frame is that `left` counts from the outermost one. */
static const struct set_piece *owner(const struct fold_set *set, const struct set_piece *piece, uint32_t left)
{
	while (piece->shared >= left)
		piece = fold_pieces_of(set, piece->outer);
	return piece;
}

/* Whether frames of a piece, of which it has enough, are these: the first when `left` are left, so many. */
static bool has_frames(const struct fold_set *set, const struct set_piece *piece, uint32_t left, const uint32_t *frames, uint32_t count)
{
	while (count) {
		piece = owner(set, piece, left);
		uint32_t own = left - piece->shared < count ? left - piece->shared : count;
		if (memcmp(piece->own + (piece->frame_count - left), frames, own * sizeof(*frames)) != 0)
			return false;
		frames += own;
		left -= own;
		count -= own;
	}
	return true;
}

/* Whether pieces, of two sets or one, have the same outermost frames. */
static bool same_callers(const struct fold_set *set, const struct set_piece *a, const struct fold_set *other, const struct set_piece *b,
			 uint32_t left)
{
	while (left) {
		a = owner(set, a, left);
		b = owner(other, b, left);
		if (a == b)
			return true;
		uint32_t same = left - (a->shared > b->shared ? a->shared : b->shared);
		if (memcmp(a->own + (a->frame_count - left), b->own + (b->frame_count - left), same * sizeof(*a->own)) != 0)
			return false;
		left -= same;
	}
	return true;
}

static bool is_stretch(const struct fold_set *set, const struct set_piece *known, const struct fold_stretch *stretch)
{
	uint32_t callers = stretch->caller_count, count = stretch->count + callers;
	if (stretch->callers == FOLD_NONE)
		return has_frames(set, known, count, stretch->frames, count);
	return has_frames(set, known, count, stretch->frames, stretch->count) &&
	       same_callers(set, known, set, fold_pieces_of(set, stretch->callers), callers);
}

/* FOLD_NONE when there is none. */
static uint32_t find_piece(const struct fold_set *set, const struct fold_stretch *stretch, bool kernel)
{
	unsigned int number = fold_shard(stretch->hash);
	const struct piece_shard *shard = &set->pieces[number];
	struct id_probe probe;
	for (uint32_t place = id_table_first(&shard->ids, (uint32_t)stretch->hash, &probe); place != ID_NONE;
	     place = id_table_next(&shard->ids, &probe)) {
		const struct set_piece *known = fold_pieces_at(shard, place);
		if (known->frame_count == stretch->count + stretch->caller_count && known->kernel == kernel &&
		    is_stretch(set, known, stretch))
			return place * FOLD_SHARDS + number;
	}
	return FOLD_NONE;
}

/* A piece with so many frames of its own, which are still to be filled in. Returns its id. */
static uint32_t add_piece(struct fold_set *set, const struct set_piece *piece, uint64_t hash)
{
	unsigned int number = fold_shard(hash);
	struct piece_shard *shard = &set->pieces[number];
	uint32_t own = piece->frame_count - piece->shared, place = make_room(shard, words_of(own));
	*fold_pieces_at(shard, place) = *piece;
	shard->count++;
	shard->frame_count += own;
	id_table_insert(&shard->ids, (uint32_t)hash, place);
	return place * FOLD_SHARDS + number;
}

/* ---- what pieces share ---- */

struct sharing {
	uint32_t piece;
	uint32_t frames; /* 0 = none */
};

/* The same by the id. */
static uint32_t owner_id(const struct fold_set *set, uint32_t id, uint32_t left)
{
	for (const struct set_piece *piece; (piece = fold_pieces_of(set, id))->shared >= left;)
		id = piece->outer;
	return id;
}

/* A piece that has the outermost `count` of frames with this hash, or FOLD_NONE. */
static uint32_t find_prefix(const struct fold_set *set, uint64_t hash, const uint32_t *frames, uint32_t count, bool kernel)
{
	const struct piece_shard *shard = &set->pieces[fold_shard(hash)];
	struct id_probe probe;
	for (uint32_t id = id_table_first(&shard->prefixes, (uint32_t)hash, &probe); id != ID_NONE;
	     id = id_table_next(&shard->prefixes, &probe)) {
		const struct set_piece *known = fold_pieces_of(set, id);
		if (known->frame_count >= count && known->kernel == kernel && has_frames(set, known, count, frames, count))
			return id;
	}
	return FOLD_NONE;
}

/* The shared frames may be more than those that were looked for. */
static struct sharing extend(const struct fold_set *set, uint32_t id, const uint32_t *frames, uint32_t count, uint32_t shared)
{
	const struct set_piece *piece = fold_pieces_of(set, id);
	uint32_t least = count < piece->frame_count ? count : piece->frame_count;
	while (shared < least) {
		const struct set_piece *own = owner(set, piece, shared + 1);
		if (own->own[own->frame_count - shared - 1] != frames[count - shared - 1])
			break;
		shared++;
	}
	return (struct sharing){.piece = owner_id(set, id, shared), .frames = shared};
}

/* A piece that lacks but the innermost frame, or one with as many of the outermost ones as is known. */
static struct sharing find_sharing(struct fold_set *set, const uint32_t *frames, uint32_t count, bool kernel)
{
	uint32_t hash = fold_pieces_hash_begin(kernel), outer_hash = 0;
	set->hashes.len = 0;
	for (uint32_t i = 1; i <= count; i++) {
		outer_hash = hash;
		hash = hash_frame(hash, frames[count - i]);
		if (i % FOLD_PREFIX == 0)
			vec_push(&set->hashes, hash_u64(hash));
	}
	if (count < 2)
		return (struct sharing){0};
	const struct fold_stretch outer = {.frames = frames + 1, .count = count - 1, .callers = FOLD_NONE, .hash = hash_u64(outer_hash)};
	uint32_t piece = find_piece(set, &outer, kernel);
	if (piece != FOLD_NONE)
		return (struct sharing){.piece = owner_id(set, piece, count - 1), .frames = count - 1};
	for (size_t i = set->hashes.len; i > 0; i--) {
		uint32_t shared = (uint32_t)i * FOLD_PREFIX;
		piece = find_prefix(set, set->hashes.data[i - 1], frames + (count - shared), shared, kernel);
		if (piece != FOLD_NONE)
			return extend(set, piece, frames, count, shared);
	}
	return (struct sharing){0};
}

static void add_prefix(struct fold_set *set, uint64_t hash, uint32_t piece)
{
	id_table_insert(&set->pieces[fold_shard(hash)].prefixes, (uint32_t)hash, piece);
}

/* None of its frames are known. */
static uint32_t add_new(struct fold_set *set, const struct fold_stretch *stretch, bool kernel)
{
	const uint32_t *frames = stretch->frames;
	uint32_t count = stretch->count + stretch->caller_count;
	const struct sharing sharing = set->shares_frames ? find_sharing(set, frames, count, kernel) : (struct sharing){0};
	const struct set_piece piece = {.frame_count = count & INT32_MAX,
					.kernel = kernel,
					.hash = (uint32_t)stretch->hash,
					.shared = sharing.frames,
					.outer = sharing.piece};
	uint32_t id = add_piece(set, &piece, stretch->hash);
	memcpy(fold_pieces_of(set, id)->own, frames, (count - sharing.frames) * sizeof(*frames));
	for (size_t i = sharing.frames / FOLD_PREFIX; set->shares_frames && i < set->hashes.len; i++)
		add_prefix(set, set->hashes.data[i], id);
	return id;
}

/* Its callers are those of a piece, with which it shares them. */
static uint32_t add_sharing(struct fold_set *set, const struct fold_stretch *stretch, bool kernel)
{
	uint32_t count = stretch->count, callers = stretch->caller_count, hash = stretch->callers_hash;
	const struct set_piece piece = {.frame_count = (count + callers) & INT32_MAX,
					.kernel = kernel,
					.hash = (uint32_t)stretch->hash,
					.shared = callers,
					.outer = owner_id(set, stretch->callers, callers)};
	uint32_t id = add_piece(set, &piece, stretch->hash);
	memcpy(fold_pieces_of(set, id)->own, stretch->frames, count * sizeof(uint32_t));
	for (uint32_t i = 1; i <= count; i++) {
		hash = hash_frame(hash, stretch->frames[count - i]);
		if ((callers + i) % FOLD_PREFIX == 0)
			add_prefix(set, hash_u64(hash), id);
	}
	return id;
}

/* Its callers are those of a piece; nothing is shared. */
static uint32_t add_copying(struct fold_set *set, const struct fold_stretch *stretch, bool kernel)
{
	uint32_t count = stretch->count, callers = stretch->caller_count;
	const struct set_piece *other = fold_pieces_of(set, stretch->callers);
	const struct set_piece piece = {.frame_count = (count + callers) & INT32_MAX, .kernel = kernel, .hash = (uint32_t)stretch->hash};
	uint32_t id = add_piece(set, &piece, stretch->hash), *to = fold_pieces_of(set, id)->own;
	memcpy(to, stretch->frames, count * sizeof(*to));
	memcpy(to + count, other->own + (other->frame_count - callers), callers * sizeof(*to));
	return id;
}

uint32_t fold_pieces_add(struct fold_set *set, const struct fold_stretch *stretch, bool kernel)
{
	uint32_t id = find_piece(set, stretch, kernel);
	if (id != FOLD_NONE)
		return id;
	if (stretch->callers == FOLD_NONE)
		return add_new(set, stretch, kernel);
	return set->shares_frames ? add_sharing(set, stretch, kernel) : add_copying(set, stretch, kernel);
}

/* ---- of another set ---- */

/* Of a set's pieces before `limit`: those behind are the other set's, whose pieces are no two the same. */
static uint32_t find_same(const struct fold_set *into, unsigned int number, uint32_t limit, const struct fold_set *from,
			  const struct set_piece *piece)
{
	const struct piece_shard *shard = &into->pieces[number];
	struct id_probe probe;
	for (uint32_t place = id_table_first(&shard->ids, piece->hash, &probe); place != ID_NONE;
	     place = id_table_next(&shard->ids, &probe)) {
		const struct set_piece *known = fold_pieces_at(shard, place);
		if (place < limit && known->frame_count == piece->frame_count && known->kernel == piece->kernel &&
		    same_callers(into, known, from, piece, piece->frame_count))
			return place * FOLD_SHARDS + number;
	}
	return FOLD_NONE;
}

void fold_pieces_reserve(struct fold_set *into, const struct fold_set *from)
{
	for (unsigned int number = 0; number < FOLD_SHARDS; number++) {
		struct piece_shard *shard = &into->pieces[number];
		/* Copies may lie less well in chunks: no two chunks that follow each other have less than one's worth. */
		vec_reserve(&shard->chunks, shard->chunks.len + 2 * from->pieces[number].chunks.len + 1);
		shard->limit = shard->end;
	}
}

void fold_pieces_copy(struct fold_set *into, struct fold_set *from, unsigned int number)
{
	struct piece_shard *shard = &from->pieces[number];
	for (uint32_t place = fold_pieces_next(shard, 0); place != FOLD_NONE; place = fold_pieces_after(shard, place)) {
		struct set_piece *piece = fold_pieces_at(shard, place);
		uint32_t id = find_same(into, number, into->pieces[number].limit, from, piece);
		if (id == FOLD_NONE) {
			id = add_piece(into, piece, (uint64_t)number << 32 | piece->hash);
			memcpy(fold_pieces_of(into, id)->own, piece->own, (piece->frame_count - piece->shared) * sizeof(*piece->own));
		}
		piece->hash = id;
	}
}

void fold_pieces_join(struct fold_set *into, const struct fold_set *from, unsigned int number)
{
	const struct piece_shard *shard = &into->pieces[number];
	for (uint32_t place = fold_pieces_next(shard, shard->limit); place != FOLD_NONE; place = fold_pieces_after(shard, place)) {
		struct set_piece *piece = fold_pieces_at(shard, place);
		if (piece->shared)
			piece->outer = fold_pieces_of(from, piece->outer)->hash;
	}
}

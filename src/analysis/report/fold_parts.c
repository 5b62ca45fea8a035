/* Entries are listed by event once. A part copies its entries and what they refer to; the numbers that these have in the part stand in
 * tables as large as the whole fold, which are made once, and of which only those that were used are cleared again:
 *
 *	fold     frames 0 1 2 3 4 5 …          part    frames 0 1 2
 *	            ▲       ▲ ▲                               │ │ │      numbers[1] = 0, [4] = 1, [5] = 2
 *	            └───────┴─┴───────────────────────────────┴─┴─┘
 */
#include "analysis/report/fold_parts.h"

#include "analysis/report/fold_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Events that have more than an eighth of all entries are shown from the whole fold: there can't be many of them. */
enum { WHOLE_SHARE = 8 };

/* Which elements of the fold are in the part. */
struct renumbering {
	uint32_t *numbers;   /* by the fold's number; FOLD_NONE = not in the part */
	VEC(uint32_t) taken; /* the fold's numbers, by that of the part */
};

struct fold_parts {
	struct fold *whole;
	size_t event_count;
	uint32_t *starts;  /* by event: its first place in `entries`; one more at the end */
	uint32_t *entries; /* numbers, event by event, ascending */
	struct renumbering frames, pieces, actors, extras;
	struct fold_private private;
	struct fold part;
	VEC(struct fold_entry) part_entries;
	VEC(struct fold_detail) part_details;
	VEC(struct fold_piece) part_pieces;
	VEC(struct fold_actor) part_actors;
	VEC(struct fold_frame) part_frames;
	VEC(uint32_t) part_frame_ids;
	VEC(uint32_t) part_functions;
	VEC(uint64_t) part_extras;
};

static void list_entries(struct fold_parts *parts)
{
	const struct fold *fold = parts->whole;
	parts->starts = mem_zalloc_array(parts->event_count + 2, sizeof(*parts->starts));
	parts->entries = mem_alloc_array(fold->entry_count + 1, sizeof(*parts->entries));
	for (size_t i = 0; i < fold->entry_count; i++)
		parts->starts[fold->entries[i].event + 2]++;
	for (size_t i = 2; i < parts->event_count + 2; i++)
		parts->starts[i] += parts->starts[i - 1];
	for (uint32_t i = 0; i < fold->entry_count; i++)
		parts->entries[parts->starts[fold->entries[i].event + 1]++] = i;
}

struct fold_parts *fold_parts_create(struct fold *fold)
{
	struct fold_parts *parts = mem_zalloc(sizeof(*parts));
	parts->whole = fold;
	parts->event_count = fold->session->reader->events.events.len;
	if (parts->event_count > WHOLE_SHARE)
		list_entries(parts);
	return parts;
}

static void renumbering_deinit(struct renumbering *renumbering)
{
	free(renumbering->numbers);
	vec_deinit(&renumbering->taken);
}

void fold_parts_destroy(struct fold_parts *parts)
{
	if (!parts)
		return;
	free(parts->starts);
	free(parts->entries);
	renumbering_deinit(&parts->frames);
	renumbering_deinit(&parts->pieces);
	renumbering_deinit(&parts->actors);
	renumbering_deinit(&parts->extras);
	intern_deinit(&parts->private.names);
	free(parts->private.frame_names);
	vec_deinit(&parts->part_entries);
	vec_deinit(&parts->part_details);
	vec_deinit(&parts->part_pieces);
	vec_deinit(&parts->part_actors);
	vec_deinit(&parts->part_frames);
	vec_deinit(&parts->part_frame_ids);
	vec_deinit(&parts->part_functions);
	vec_deinit(&parts->part_extras);
	free(parts);
}

void fold_parts_renew(struct fold_parts *parts)
{
	const struct fold *whole = parts->whole;
	for (size_t i = 0; i < parts->part_actors.len; i++)
		parts->part_actors.data[i] = whole->actors[parts->actors.taken.data[i]];
	for (size_t i = 0; i < parts->part_frames.len; i++)
		parts->part_frames.data[i] = whole->frames[parts->frames.taken.data[i]];
}

static uint32_t take(struct renumbering *renumbering, uint32_t number)
{
	uint32_t *known = &renumbering->numbers[number];
	if (*known == FOLD_NONE) {
		*known = (uint32_t)renumbering->taken.len;
		vec_push(&renumbering->taken, number);
	}
	return *known;
}

/* `count`: what the fold has. */
static void begin(struct renumbering *renumbering, size_t count)
{
	if (!renumbering->numbers) {
		renumbering->numbers = mem_alloc_array(count + 1, sizeof(*renumbering->numbers));
		memset(renumbering->numbers, 0xff, (count + 1) * sizeof(*renumbering->numbers));
	}
	for (size_t i = 0; i < renumbering->taken.len; i++)
		renumbering->numbers[renumbering->taken.data[i]] = FOLD_NONE;
	renumbering->taken.len = 0;
}

static void take_entry(struct fold_parts *parts, uint32_t number)
{
	struct fold_entry entry = parts->whole->entries[number];
	entry.leaf = take(&parts->frames, entry.leaf);
	entry.actor = take(&parts->actors, entry.actor);
	entry.inner = entry.inner == FOLD_NONE ? FOLD_NONE : take(&parts->pieces, entry.inner);
	entry.outer = entry.outer == FOLD_NONE ? FOLD_NONE : take(&parts->pieces, entry.outer);
	vec_push(&parts->part_entries, entry);
	if (!parts->whole->details)
		return;
	struct fold_detail detail = parts->whole->details[number];
	detail.extra = parts->whole->extra_words ? take(&parts->extras, detail.extra) : 0;
	vec_push(&parts->part_details, detail);
}

/* What the entries refer to: pieces first, which have further frames; functions stand for frames that need not be in an entry. */
static void copy_used(struct fold_parts *parts)
{
	const struct fold *whole = parts->whole;
	for (size_t i = 0; i < parts->pieces.taken.len; i++) {
		const struct fold_piece *piece = &whole->pieces[parts->pieces.taken.data[i]];
		uint32_t frames = (uint32_t)parts->part_frame_ids.len;
		vec_reserve(&parts->part_frame_ids, frames + (size_t)piece->frame_count);
		parts->part_frame_ids.len += fold_piece_copy(whole, piece, parts->part_frame_ids.data + frames);
		for (uint32_t f = 0; f < piece->frame_count; f++)
			parts->part_frame_ids.data[frames + f] = take(&parts->frames, parts->part_frame_ids.data[frames + f]);
		vec_push(&parts->part_pieces,
			 (struct fold_piece){.frames = frames, .frame_count = piece->frame_count, .kernel = piece->kernel});
	}
	for (size_t i = 0; i < parts->frames.taken.len; i++) {
		uint32_t number = parts->frames.taken.data[i];
		vec_push(&parts->part_frames, whole->frames[number]);
		if (whole->functions)
			vec_push(&parts->part_functions, take(&parts->frames, whole->functions[number]));
	}
	for (size_t i = 0; i < parts->actors.taken.len; i++)
		vec_push(&parts->part_actors, whole->actors[parts->actors.taken.data[i]]);
	for (size_t i = 0; i < parts->extras.taken.len; i++)
		for (unsigned int word = 0; word < whole->extra_words; word++)
			vec_push(&parts->part_extras, whole->extras[(size_t)parts->extras.taken.data[i] * whole->extra_words + word]);
}

static void begin_part(struct fold_parts *parts)
{
	const struct fold *whole = parts->whole;
	begin(&parts->frames, whole->frame_count);
	begin(&parts->pieces, whole->piece_count);
	begin(&parts->actors, whole->actor_count);
	size_t extras = 0;
	if (!parts->extras.numbers)
		for (size_t i = 0; whole->extra_words && i < whole->entry_count; i++)
			extras = whole->details[i].extra >= extras ? whole->details[i].extra + (size_t)1 : extras;
	begin(&parts->extras, extras);
	parts->part_entries.len = parts->part_details.len = parts->part_pieces.len = parts->part_actors.len = parts->part_frames.len = 0;
	parts->part_frame_ids.len = parts->part_functions.len = parts->part_extras.len = 0;
	intern_deinit(&parts->private.names);
	free(parts->private.frame_names);
	parts->private = (struct fold_private){.options = whole->private->options};
}

static void end_part(struct fold_parts *parts)
{
	const struct fold *whole = parts->whole;
	parts->part = (struct fold){
		.session = whole->session,
		.entries = parts->part_entries.data,
		.details = whole->details ? parts->part_details.data : NULL,
		.entry_count = parts->part_entries.len,
		.pieces = parts->part_pieces.data,
		.piece_count = parts->part_pieces.len,
		.actors = parts->part_actors.data,
		.actor_count = parts->part_actors.len,
		.frame_ids = parts->part_frame_ids.data,
		.frames = parts->part_frames.data,
		.frame_count = parts->part_frames.len,
		.functions = whole->functions ? parts->part_functions.data : NULL,
		.extras = parts->part_extras.data,
		.extra_words = whole->extra_words,
		.private = &parts->private,
	};
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

struct fold *fold_parts_take(struct fold_parts *parts, const struct event *const *events, size_t count)
{
	VEC(uint32_t) wanted = {0};
	size_t all = 0;
	if (!parts->starts)
		return parts->whole;
	/* The list was filled by moving each start to the next event's. */
	for (size_t i = 0; i < count; i++)
		all += parts->starts[events[i]->index + 1] - parts->starts[events[i]->index];
	if (all > parts->whole->entry_count / WHOLE_SHARE)
		return parts->whole;
	for (size_t i = 0; i < count; i++)
		for (uint32_t at = parts->starts[events[i]->index]; at < parts->starts[events[i]->index + 1]; at++)
			vec_push(&wanted, parts->entries[at]);
	if (count > 1 && wanted.len)
		qsort(wanted.data, wanted.len, sizeof(*wanted.data), by_number);
	begin_part(parts);
	for (size_t i = 0; i < wanted.len; i++)
		take_entry(parts, wanted.data[i]);
	copy_used(parts);
	end_part(parts);
	vec_deinit(&wanted);
	return &parts->part;
}

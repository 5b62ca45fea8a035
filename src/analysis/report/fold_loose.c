/* Fold: stacks for pictures (options.loose).
 *
 * A picture needs no distinct stacks: it is divided from its root on, and what is too light is never looked at (tree/fold_heaviest.c). So
 * nothing is looked up for certain here: a stack that came a short time ago gets the sample, another one is added; callers that are known
 * (fold_recent.c) are a number, and of the rest one frame is mostly left, that of the sample itself, which is kept as it is:
 *
 *	sample    leaf | caller caller caller          parts: leaf, number of the callers
 *
 * What several feeds have isn't merged either. The result doesn't depend on which stacks were found to be equal.
 */
#include "analysis/report/fold_internal.h"

#include <stdlib.h>
#include <string.h>

enum { RECENT_LEAST = 1 << 14, RECENT_MOST = 1 << 18, ROOM = 1 << 19 };

struct fold_loose *fold_loose_create(bool has_times, uint64_t samples)
{
	struct fold_loose *loose = mem_zalloc(sizeof(*loose));
	uint32_t slots = RECENT_LEAST;
	while (slots < RECENT_MOST && slots * (uint64_t)4 < samples)
		slots *= 2;
	loose->has_times = has_times;
	loose->recent_mask = slots - 1;
	loose->recent = mem_zalloc_table(slots, sizeof(*loose->recent));
	return loose;
}

void fold_loose_destroy(struct fold_loose *loose)
{
	if (!loose)
		return;
	for (size_t i = 0; i < loose->blocks.len; i++)
		free(loose->blocks.data[i]);
	vec_deinit(&loose->blocks);
	for (size_t i = 0; i < LOOSE_LASTS; i++) {
		vec_deinit(&loose->lasts[i].ips);
		vec_deinit(&loose->lasts[i].counts);
	}
	vec_deinit(&loose->counts);
	vec_deinit(&loose->pieces);
	vec_deinit(&loose->words);
	vec_deinit(&loose->in_kernel);
	for (size_t i = 0; i < loose->rooms.len; i++)
		free(loose->rooms.data[i]);
	vec_deinit(&loose->rooms);
	free(loose->recent);
	free(loose);
}

/* ---- parts ---- */

static uint32_t *make_room(struct fold_loose *loose, uint32_t count)
{
	if (loose->room_left < count) {
		loose->room_left = count > ROOM ? count : ROOM;
		vec_push(&loose->rooms, mem_alloc_table(loose->room_left, sizeof(uint32_t)));
		loose->room = *vec_last(&loose->rooms);
	}
	uint32_t *to = loose->room;
	loose->room += count;
	loose->room_left -= count;
	return to;
}

static const uint32_t *copy_frames(struct fold_loose *loose, const uint32_t *frames, uint32_t count)
{
	uint32_t *to = make_room(loose, count);
	memcpy(to, frames, count * sizeof(*to));
	return to;
}

static uint32_t add_piece(struct fold_loose *loose, const uint32_t *own, uint32_t own_count, const uint32_t *outer, uint32_t outer_count)
{
	if (loose->pieces.len == LOOSE_FRAME)
		mem_exhausted();
	vec_push(&loose->pieces, (struct loose_piece){.own = own, .own_count = own_count, .outer = outer, .outer_count = outer_count});
	return (uint32_t)loose->pieces.len - 1;
}

static uint32_t add_part(struct fold_loose *loose, const uint32_t *frames, uint32_t count)
{
	if (count < 2)
		return count ? *frames | LOOSE_FRAME : FOLD_NONE;
	return add_piece(loose, copy_frames(loose, frames, count), count, NULL, 0);
}

/* Mostly a single frame. More are looked for as callers are. */
static uint32_t front_part(struct fold_feed *feed, const uint32_t *frames, uint32_t count)
{
	struct fold_loose *loose = feed->loose;
	if (count < 2)
		return add_part(loose, frames, count);
	struct fold_stretch known = {.caller_count = count};
	loose->words.len = 0;
	for (uint32_t i = 0; i < count; i++)
		vec_push(&loose->words, frames[i]);
	const struct hash128 key = hash_words(loose->words.data, count, 0);
	if (fold_recent_find(&feed->parts, &key, &known))
		return known.callers;
	uint32_t part = add_part(loose, frames, count);
	fold_recent_add(&feed->parts, &key, &known, part);
	return part;
}

static uint32_t callers_part(struct fold_loose *loose, const struct fold_stretch *stretch)
{
	return stretch->callers != FOLD_NONE ? stretch->callers : add_part(loose, stretch->frames + stretch->count, stretch->caller_count);
}

/* How many of the outermost addresses are the same. */
static uint32_t count_shared(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
	size_t most = a_count < b_count ? a_count : b_count, shared = 0;
	while (shared < most && a[a_count - 1 - shared] == b[b_count - 1 - shared])
		shared++;
	return (uint32_t)shared;
}

/* The frame that so many are from the outermost end, 1 = that itself. */
static uint32_t outermost(const struct loose_piece *piece, uint32_t at)
{
	if (at <= piece->outer_count)
		return piece->outer[piece->outer_count - at];
	return piece->own[piece->own_count - (at - piece->outer_count)];
}

/* A piece of the frames and of the outermost `shared` ones of another. Pieces share only what others have themselves: where that is too
 * little by now, it becomes one of those. */
static uint32_t add_sharing(struct fold_loose *loose, const uint32_t *frames, uint32_t count, const struct loose_piece other,
			    uint32_t shared)
{
	const uint32_t *outer = other.outer_count ? other.outer : other.own;
	uint32_t outer_count = other.outer_count ? other.outer_count : other.own_count;
	uint32_t left = shared < outer_count ? shared : outer_count;
	if (left < (count + shared) / 2)
		left = 0;
	uint32_t *own = make_room(loose, count + shared - left);
	if (count)
		memcpy(own, frames, count * sizeof(*own));
	uint32_t *rest = own + count;
	for (uint32_t i = shared; i > left; i--)
		*rest++ = outermost(&other, i);
	return add_piece(loose, own, count + shared - left, left ? outer + (outer_count - left) : NULL, left);
}

/* What parts have in common whose equal addresses are equal frames; never 0. */
static uint64_t kind_of(const struct fold_part *part)
{
	return (part->space.epoch + 1) << 2 | (uint64_t)part->inlines << 1 | part->returns_here;
}

/* The part becomes the last one of its space, and its `shared` outermost addresses stay those of the one before. */
static void keep_last(struct loose_last *last, const struct fold_part *part, const uint64_t *ips, const uint32_t *counts, uint32_t shared,
		      uint32_t piece)
{
	uint32_t inner = part->count - shared;
	size_t known = last->ips.len - shared;
	vec_reserve(&last->ips, part->count);
	vec_reserve(&last->counts, part->count);
	memcpy(last->ips.data, ips, part->count * sizeof(*ips));
	memmove(last->counts.data + inner, last->counts.data + known, shared * sizeof(*counts));
	memcpy(last->counts.data, counts, inner * sizeof(*counts));
	last->ips.len = part->count;
	last->kind = kind_of(part);
	last->piece = piece;
}

bool fold_loose_callers(struct fold_feed *feed, const struct fold_part *part, const uint64_t *ips, struct fold_stretch *ret)
{
	enum { LONG = 24 };
	struct fold_loose *loose = feed->loose;
	struct loose_last *last = &loose->lasts[part->space.epoch % LOOSE_LASTS];
	if (part->count < LONG || part->cpumode != CPUMODE_USER)
		return false;
	uint32_t known = last->kind == kind_of(part) ? (uint32_t)last->ips.len : 0;
	uint32_t shared = count_shared(ips, part->count, last->ips.data, known), shared_frames = 0;
	for (uint32_t i = known - shared; i < known; i++)
		shared_frames += last->counts.data[i];
	if (shared == part->count && shared == known) {
		ret->callers = last->piece;
		ret->caller_count = shared_frames;
		return true;
	}
	size_t before = feed->frames.len;
	struct fold_part inner = *part;
	inner.count -= shared;
	vec_reserve(&loose->counts, inner.count);
	fold_places_part(&feed->places, &inner, ips, &feed->frames, loose->counts.data);
	uint32_t count = (uint32_t)(feed->frames.len - before);
	const uint32_t *frames = feed->frames.data + before;
	ret->callers = shared_frames ? add_sharing(loose, frames, count, loose->pieces.data[last->piece], shared_frames)
				     : add_piece(loose, copy_frames(loose, frames, count), count, NULL, 0);
	ret->caller_count = count + shared_frames;
	feed->frames.len = before;
	keep_last(last, part, ips, loose->counts.data, shared, ret->callers);
	return true;
}

/* ---- stacks ---- */

static uint32_t place_of(const struct fold_feed *feed, const struct record_header *record)
{
	const struct reader *reader = feed->fold->session->reader;
	return reader_in_file(reader, record) ? (uint32_t)(((uintptr_t)record - (uintptr_t)reader->records) / sizeof(uint64_t)) : FOLD_NONE;
}

static struct loose_stack make_stack(struct fold_feed *feed, struct fold_item *item)
{
	const struct set_entry *from = &item->entry;
	struct loose_stack stack = {
		.parts = {FOLD_NONE, FOLD_NONE, FOLD_NONE},
		.actor = feed->set->whos.data[from->entry.actor],
		.count = 1,
		.place = place_of(feed, from->first),
		.period = from->entry.period,
	};
	if (item->inner.present) {
		bool callers = item->inner.callers != FOLD_NONE || item->inner.caller_count;
		stack.parts[LOOSE_KERNEL] =
			callers ? callers_part(feed->loose, &item->inner) : front_part(feed, item->inner.frames, item->inner.count);
		item->entry.entry.inner = stack.parts[LOOSE_KERNEL];
	}
	if (item->outer.present) {
		stack.parts[LOOSE_USER] = front_part(feed, item->outer.frames, item->outer.count);
		item->entry.entry.outer = stack.parts[LOOSE_CALLERS] = callers_part(feed->loose, &item->outer);
	}
	if (!item->inner.present && !item->outer.present)
		stack.parts[LOOSE_USER] = from->entry.leaf | LOOSE_FRAME;
	return stack;
}

static uint64_t hash_stack(const struct loose_stack *stack)
{
	uint64_t inner = (uint64_t)stack->parts[LOOSE_KERNEL] << 32 | stack->parts[LOOSE_USER];
	return hash_combine(inner, (uint64_t)stack->parts[LOOSE_CALLERS] << 32 | stack->actor);
}

/* What is known of all samples, whatever their stacks. */
static void count_sample(struct fold_loose *loose, const struct set_entry *sample)
{
	uint32_t leaf = sample->entry.leaf;
	if (!loose->samples++)
		loose->period = sample->entry.period;
	loose->periods_differ |= loose->period != sample->entry.period;
	if (sample->entry.cpumode != CPUMODE_KERNEL)
		return;
	while (loose->in_kernel.len <= leaf)
		vec_push(&loose->in_kernel, 0);
	loose->in_kernel.data[leaf]++;
}

static uint32_t push_stack(struct fold_loose *loose, const struct loose_stack *stack)
{
	if (loose->stack_count == UINT32_MAX)
		mem_exhausted();
	if (loose->stack_count % LOOSE_BLOCK == 0)
		vec_push(&loose->blocks, mem_alloc_table(LOOSE_BLOCK, sizeof(*stack)));
	*fold_loose_stack(loose->blocks.data, loose->stack_count) = *stack;
	return loose->stack_count++;
}

static void add_stack(struct fold_loose *loose, const struct loose_stack *stack, uint64_t time, struct loose_recent *recent)
{
	struct loose_stack *known = recent->stack ? fold_loose_stack(loose->blocks.data, recent->stack - 1) : NULL;
	if (!known || known->actor != stack->actor || memcmp(known->parts, stack->parts, sizeof(stack->parts)) != 0) {
		*recent = (struct loose_recent){.stack = push_stack(loose, stack) + 1, .time = time};
		return;
	}
	known->count += stack->count;
	known->period += stack->period;
	if (time != recent->time ? time < recent->time : stack->place < known->place) {
		recent->time = time;
		known->place = stack->place;
	}
}

/* In stages, so that what one stage reads was asked for in the one before. */
void fold_loose_add(struct fold_feed *feed, struct fold_item *items, size_t count)
{
	struct fold_loose *loose = feed->loose;
	struct loose_stack stacks[FOLD_BATCH];
	struct loose_recent *recent[FOLD_BATCH];
	for (size_t i = 0; i < count; i++) {
		count_sample(loose, &items[i].entry);
		stacks[i] = make_stack(feed, &items[i]);
		recent[i] = &loose->recent[hash_stack(&stacks[i]) & loose->recent_mask];
		__builtin_prefetch(recent[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (recent[i]->stack)
			__builtin_prefetch(fold_loose_stack(loose->blocks.data, recent[i]->stack - 1));
	for (size_t i = 0; i < count; i++)
		add_stack(loose, &stacks[i], loose->has_times ? items[i].entry.time : 0, recent[i]);
}

uint64_t fold_loose_time(const struct fold *fold, const struct loose_stack *stack)
{
	const struct fold_private *private = fold->private;
	if (!private->loose.len || !private->loose.data[0]->has_times)
		return 0;
	/* The file may have been written to since. */
	uint64_t copy[READER_RECORD_MAX / sizeof(uint64_t)];
	const struct reader *reader = fold->session->reader;
	uint64_t offset = (uint64_t)stack->place * sizeof(uint64_t);
	const struct record_header *header = stack->place != FOLD_NONE ? reader_record_copy(reader, offset, copy) : NULL;
	const struct event *event = header && header->type == RECORD_SAMPLE ? reader_event(reader, header) : NULL;
	struct sample sample = {0};
	if (event && !sample_decode_fixed(&reader->layouts[event->index], &event->attr, header, &sample))
		return sample.time;
	return 0;
}

/* ---- all feeds' ---- */

/* Frames get the numbers that fold->frames has them under. */
static void pack_frames(struct fold_tables *tables, struct fold *fold)
{
	struct fold_private *private = fold->private;
	size_t most = 0;
	for (size_t i = 0; i < FOLD_SHARDS; i++) {
		fold->frame_count += tables->frames[i].frames.len;
		most = tables->frames[i].frames.len > most ? tables->frames[i].frames.len : most;
	}
	private->frame_numbers = most * FOLD_SHARDS;
	private->packed_frames = mem_zalloc_array(private->frame_numbers + 1, sizeof(*private->packed_frames));
	fold->frames = mem_alloc_array(fold->frame_count + 1, sizeof(*fold->frames));
	uint32_t packed = 0;
	for (size_t i = 0; i < FOLD_SHARDS; i++) {
		for (size_t frame = 0; frame < tables->frames[i].frames.len; frame++) {
			fold->frames[packed] = tables->frames[i].frames.data[frame];
			private->packed_frames[frame * FOLD_SHARDS + i] = packed++;
		}
	}
}

void fold_loose_pack(struct fold_tables *tables, struct fold *fold)
{
	struct fold_private *private = fold->private;
	pack_frames(tables, fold);
	for (size_t i = 0; i < tables->loose.len; i++) {
		struct fold_loose *loose = tables->loose.data[i];
		free(loose->recent);
		loose->recent = NULL;
		vec_push(&private->loose, loose);
	}
	tables->loose.len = 0;
	fold->actors = tables->actors.data;
	fold->actor_count = tables->actors.len;
	tables->actors.data = NULL;
	tables->actors.len = 0;
}

/* ---- sums over samples ---- */

bool fold_has_one_period(const struct fold *fold, unsigned int event)
{
	const struct fold_loose *before = NULL;
	uint64_t period = 0;
	for (size_t i = 0; i < fold->private->loose.len; i++) {
		const struct fold_loose *loose = fold->private->loose.data[i];
		if (!loose->samples)
			continue;
		if (loose->periods_differ || (before && before->period != loose->period))
			return false;
		before = loose;
	}
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_entry *entry = &fold->entries[i];
		if (entry->event != event)
			continue;
		if (!period)
			period = entry->period / entry->count;
		if (entry->period != entry->count * period)
			return false;
	}
	return true;
}

uint64_t fold_count_hidden(const struct fold *fold, uint64_t *ret_all)
{
	const struct fold_private *private = fold->private;
	uint64_t hidden = 0;
	*ret_all = 0;
	for (size_t i = 0; i < private->loose.len; i++) {
		const struct fold_loose *loose = private->loose.data[i];
		*ret_all += loose->samples;
		for (size_t frame = 0; frame < loose->in_kernel.len; frame++)
			if (!fold->frames[private->packed_frames[frame]].symbol)
				hidden += loose->in_kernel.data[frame];
	}
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_entry *entry = &fold->entries[i];
		*ret_all += entry->count;
		if (entry->cpumode == CPUMODE_KERNEL && !fold->frames[entry->leaf].symbol)
			hidden += entry->count;
	}
	return hidden;
}

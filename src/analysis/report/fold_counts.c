/* Fold: samples of which nothing but who, where and which event is asked, as in a report without call graphs.
 *
 * Most come again from an address that was counted before. So they are counted by address, in a table each line of which is one line of the
 * cache: that is all that such a sample waits for, and batches ask for it ahead. An address becomes a frame, and what was counted there an
 * entry, when another one needs the line, and at the end:
 *
 *	who, event, file, address in it ──► line: count, period, first sample ──► frame ──► entry (fold_set.c)
 */
#include "analysis/report/fold_internal.h"

#include <stdlib.h>

enum { LINES_LEAST = 1 << 12, LINES_MOST = 1 << 18, SAMPLES_A_LINE = 16 };

struct counted_place {
	uint64_t address; /* in the file */
	uint32_t key;	  /* of the look-up; 0 = empty */
	uint32_t who, event;
	uint32_t frame;
	uint32_t actor; /* of the first sample, by time */
	uint32_t count;
	uint64_t period;
	uint64_t time;
	const struct record_header *first;
} __attribute__((aligned(64)));

/* On its way. */
struct counted_sample {
	struct counted_place *places; /* a pair of lines, in one of which it is counted */
	struct fold_lookup lookup;
	uint32_t who, event, actor;
	uint64_t period, time;
	const struct record_header *first;
};

struct fold_counts {
	struct fold_places *places;
	struct fold_set *set;
	bool records; /* of first samples */
	struct counted_place *lines;
	uint64_t mask;
	size_t pending_count;
	struct counted_sample pending[FOLD_BATCH];
};

/* By lines, addresses in memory matter, which processes have for one in a file. */
bool fold_counts_may(const struct fold_options *options)
{
	return !fold_needs_whole_samples(options) && !options->by_line && options->records != FOLD_RECORDS_COPIED;
}

struct fold_counts *fold_counts_create(struct fold_places *places, struct fold_set *set, uint64_t samples)
{
	uint64_t lines = LINES_LEAST;
	while (lines < LINES_MOST && lines * SAMPLES_A_LINE < samples)
		lines *= 2;
	struct fold_counts *counts = mem_alloc(sizeof(*counts));
	counts->places = places;
	counts->set = set;
	counts->records = places->options->records != FOLD_RECORDS_DROPPED;
	counts->lines = mem_zalloc_table(lines, sizeof(*counts->lines));
	counts->mask = lines - 1;
	counts->pending_count = 0;
	return counts;
}

static void make_entry(struct fold_counts *counts, const struct counted_place *place)
{
	const struct set_entry entry = {
		.entry = {.leaf = place->frame,
			  .actor = place->actor,
			  .inner = FOLD_NONE,
			  .outer = FOLD_NONE,
			  .count = place->count,
			  .event = place->event & (READER_EVENTS_MAX - 1),
			  .cpumode = (place->key - 1) >> 1 & 7,
			  .period = place->period},
		.time = place->time,
		.first = place->first,
	};
	if (place->key && place->frame != FOLD_NONE)
		fold_set_entry(counts->set, &entry, fold_set_hash(counts->set, &entry, 0, 0));
}

static bool is_place_of(const struct counted_place *place, const struct counted_sample *sample)
{
	return place->address == sample->lookup.address && place->key == sample->lookup.key && place->who == sample->who &&
	       place->event == sample->event;
}

/* What comes less often gives way. */
static struct counted_place *__attribute__((noinline)) take_line(struct fold_counts *counts, struct counted_sample *sample)
{
	struct counted_place *place = &sample->places[sample->places[0].count > sample->places[1].count];
	make_entry(counts, place);
	fold_places_finish(counts->places, &sample->lookup);
	*place = (struct counted_place){.address = sample->lookup.address,
					.key = sample->lookup.key,
					.who = sample->who,
					.event = sample->event,
					.frame = sample->lookup.frame,
					.actor = sample->actor,
					.time = sample->time,
					.first = sample->first};
	return place;
}

static struct counted_place *find_place(struct fold_counts *counts, struct counted_sample *sample)
{
	for (unsigned int i = 0; i < 2; i++)
		if (is_place_of(&sample->places[i], sample))
			return &sample->places[i];
	return take_line(counts, sample);
}

static void count_pending(struct fold_counts *counts)
{
	for (size_t i = 0; i < counts->pending_count; i++) {
		struct counted_sample *sample = &counts->pending[i];
		struct counted_place *place = find_place(counts, sample);
		place->count++;
		place->period += sample->period;
		if (sample->time < place->time) { /* of one time, they come as in the file */
			place->time = sample->time;
			place->first = sample->first;
			place->actor = sample->actor;
		}
	}
	counts->pending_count = 0;
}

void fold_counts_add(struct fold_counts *counts, const struct fold_sample *in, const struct recent_actor *actor,
		     const struct maps_state *state)
{
	const struct sample *sample = in->sample;
	if (counts->pending_count == FOLD_BATCH)
		count_pending(counts);
	struct counted_sample *pending = &counts->pending[counts->pending_count++];
	pending->lookup = fold_places_locate(counts->places, state, sample->cpumode, sample->ip);
	pending->who = actor->who;
	pending->actor = actor->actor;
	pending->event = in->event->index;
	pending->period = sample->period;
	pending->time = sample->time;
	pending->first = counts->records ? sample->header : NULL;
	uint64_t place = pending->lookup.address + ((uint64_t)(actor->who + pending->event) << 48);
	pending->places = &counts->lines[hash_combine(place, pending->lookup.key) & counts->mask & ~(uint64_t)1];
	for (unsigned int i = 0; i < 2; i++)
		__builtin_prefetch(&pending->places[i], 1);
}

void fold_counts_flush(struct fold_counts *counts)
{
	if (counts)
		count_pending(counts);
}

void fold_counts_destroy(struct fold_counts *counts)
{
	if (!counts)
		return;
	count_pending(counts);
	for (uint64_t i = 0; i <= counts->mask; i++)
		make_entry(counts, &counts->lines[i]);
	free(counts->lines);
	free(counts);
}

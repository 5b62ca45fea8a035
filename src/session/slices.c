/* Slices that are hopped over (the idea is in slices.h).
 *
 * They are kept by their number in as many places, so that those go first which were put in order. Under the lock: whose work a slice is;
 * what is in it belongs to whoever hops over it, and then to who puts samples in order. */
#include "session/slices.h"

#include "base/files/mapping.h"
#include "base/mem.h"
#include "session/hop.h"
#include "session/session_internal.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	SIZE = 256 << 10, /* bytes: with their digests they fit into a processor's own cache */
	AHEAD = 8,
};

enum slice_state { SLICE_FREE, SLICE_HOPPED_OVER_NOW, SLICE_KNOWN };

/* Samples that follow one another, some of which are `items`. */
struct stretch {
	uint64_t begin, end;
	size_t items;
	struct order_times times;
};

struct slice {
	enum slice_state state;
	uint64_t number;
	uint64_t mapped;     /* the number, + 1, of the one whose pages were mapped */
	uint64_t begin, end; /* what was looked at; `begin` UINT64_MAX: no record was found */
	order_items items;
	VEC(struct stretch) stretches;
	size_t next, next_item; /* of what was put in order: the end */
	struct hopped hopped;
	struct digests_made digests;
	char apart[SESSION_LINE]; /* another one is another thread's */
};

struct slices {
	struct session *session;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t first, end;   /* numbers of those that are in reach */
	struct slice *current; /* what is put in order, or NULL */
	struct slice all[AHEAD];
};

struct slices *slices_create(struct session *session)
{
	struct slices *slices = mem_zalloc(sizeof(*slices));
	slices->session = session;
	pthread_mutex_init(&slices->lock, NULL);
	pthread_cond_init(&slices->changed, NULL);
	slices_void(slices);
	return slices;
}

void slices_destroy(struct slices *slices)
{
	if (!slices)
		return;
	for (size_t i = 0; i < AHEAD; i++) {
		vec_deinit(&slices->all[i].items);
		vec_deinit(&slices->all[i].stretches);
		vec_deinit(&slices->all[i].digests.blocks);
		hopped_deinit(&slices->all[i].hopped);
	}
	pthread_cond_destroy(&slices->changed);
	pthread_mutex_destroy(&slices->lock);
	free(slices);
}

/* ---- hopping ---- */

/* Whether nobody asks for such a sample; broken ones are counted in their turn. */
static inline bool is_passed_over(const struct session_private *private, const struct event *event, bool whole)
{
	return event->index < private->unwanted.len && private->unwanted.data[event->index] && whole;
}

/* Adds the samples from `offset` on to the slice, up to `limit` or something else; returns where that is. */
static uint64_t hop_stretch(const struct slices *slices, struct slice *slice, uint64_t offset, uint64_t limit)
{
	const struct session *session = slices->session;
	struct session_private *private = session->private;
	const struct reader *reader = session->reader;
	const struct sample_layout *layout = &reader->layouts[0];
	const bool digests = private->digests.digester && private->digests_now;
	const size_t before = slice->items.len, most = (limit > offset ? limit - offset : 0) / sizeof(struct record_header) + 1;
	struct order_times times = {0};
	vec_reserve(&slice->items, before + most);
	struct order_item *item = slice->items.data + before;
	uint64_t begin = offset, asked = 0, samples = 0, first = UINT64_MAX, last = 0;
	while (offset < limit) {
		asked = reader_ask_ahead(reader, offset, asked);
		const struct record_header *header = (const struct record_header *)(reader->records + offset);
		uint16_t size = reader_sample_size(reader, offset);
		const struct event *event = size ? reader_sample_event(reader, header) : NULL;
		uint64_t time = event ? session_time_at(header, layout) : 0, place = offset << SESSION_SLOT_BITS;
		if (!time)
			break;
		bool whole = size >= reader->layouts[event->index].variable;
		slice->hopped.counts[event->index]++;
		first = time < first ? time : first;
		last = time > last ? time : last;
		if (is_passed_over(private, event, whole)) {
			order_times_pass(&times, time);
		} else {
			if (digests && whole)
				place |= digests_make(&private->digests, &slice->digests, event, header);
			*item++ = (struct order_item){.time = time, .offset = place};
		}
		offset += size;
		samples++;
	}
	slice->items.len = (size_t)(item - slice->items.data);
	if (!samples)
		return offset;
	times.newest = last;
	slice->hopped.samples += samples;
	if (!slice->hopped.first_time || first < slice->hopped.first_time)
		slice->hopped.first_time = first;
	if (last > slice->hopped.last_time)
		slice->hopped.last_time = last;
	vec_push(&slice->stretches, (struct stretch){.begin = begin, .end = offset, .items = slice->items.len - before, .times = times});
	return offset;
}

/* The size of a record that is none of the samples, or of no event that is known, and changes nothing that these are looked at by; 0 = it
 * could. Who puts them in order meets it. */
static uint16_t size_of_other(const struct reader *reader, uint64_t offset)
{
	const struct record_header *header = (const struct record_header *)(reader->records + offset);
	return reader_is_plain(reader, offset) ? mapping_u16(&header->size) : 0;
}

static void hop_slice(const struct slices *slices, struct slice *slice, uint64_t begin, uint64_t limit)
{
	const struct reader *reader = slices->session->reader;
	uint64_t offset = begin;
	hopped_init(&slice->hopped, slices->session);
	slice->begin = begin;
	slice->items.len = slice->stretches.len = slice->next = slice->next_item = 0;
	while (offset < limit) {
		offset = hop_stretch(slices, slice, offset, limit);
		uint16_t size = offset < limit ? size_of_other(reader, offset) : 0;
		if (size < sizeof(struct record_header))
			break;
		offset += size;
	}
	slice->end = offset;
}

/* ---- whose work a slice is ---- */

static uint64_t slice_begin(const struct slices *slices, uint64_t number)
{
	return slices->session->reader->data_offset + number * SIZE;
}

/* `begin` UINT64_MAX: a record is looked for. The lock is open meanwhile. */
static void hop(struct slices *slices, struct slice *slice, uint64_t number, uint64_t begin)
{
	const struct reader *reader = slices->session->reader;
	uint64_t end = slice_begin(slices, number + 1) < reader->data_end ? slice_begin(slices, number + 1) : reader->data_end;
	slice->state = SLICE_HOPPED_OVER_NOW;
	slice->number = number;
	pthread_mutex_unlock(&slices->lock);
	if (begin == UINT64_MAX)
		begin = hop_find_record(reader, slice_begin(slices, number));
	if (begin < end && slice->mapped != number + 1) {
		slice->mapped = number + 1;
		mapping_populate(reader->records + begin, end - begin);
	}
	hop_slice(slices, slice, begin, end);
	pthread_mutex_lock(&slices->lock);
	slice->state = SLICE_KNOWN;
	pthread_cond_broadcast(&slices->changed);
}

/* What wasn't put in order. */
static void drop(struct slices *slices, struct slice *slice)
{
	struct digests *digests = &slices->session->private->digests;
	if (slice->state == SLICE_KNOWN && digests->size)
		digests_abandon(digests, &slice->digests);
	slice->state = SLICE_FREE;
}

bool slices_hop_ahead(struct slices *slices)
{
	const struct reader *reader = slices->session->reader;
	uint64_t number;
	pthread_mutex_lock(&slices->lock);
	for (number = slices->first; number < slices->end; number++)
		if (slices->all[number % AHEAD].state == SLICE_FREE)
			break;
	bool found = number < slices->end && slice_begin(slices, number) < reader->data_end;
	if (found) {
		const struct slice *before = &slices->all[(number + AHEAD - 1) % AHEAD];
		bool follows = before->state == SLICE_KNOWN && before->number + 1 == number && before->end >= slice_begin(slices, number);
		hop(slices, &slices->all[number % AHEAD], number, follows ? before->end : UINT64_MAX);
	}
	pthread_mutex_unlock(&slices->lock);
	return found;
}

void slices_void(struct slices *slices)
{
	for (size_t i = 0; i < AHEAD; i++)
		drop(slices, &slices->all[i]);
	slices->current = NULL;
	slices->first = slices->end = 0;
}

/* ---- in order ---- */

/* Lets go of the ones that were passed, so that others come into reach. Under the lock. */
static void go_on_to(struct slices *slices, uint64_t number)
{
	for (size_t i = 0; i < AHEAD; i++) {
		struct slice *slice = &slices->all[i];
		if (slice->state == SLICE_KNOWN && slice->number < number)
			drop(slices, slice);
	}
	slices->first = number;
	slices->end = number + AHEAD;
}

/* Others than samples may come before its first stretch. */
static bool leads_to(const struct slice *slice, uint64_t number, uint64_t offset)
{
	return slice->state == SLICE_KNOWN && slice->number == number && slice->stretches.len && slice->stretches.data[0].begin == offset;
}

/* The slice whose samples begin at `offset`, or where it would be: it is hopped over if that wasn't done. */
static struct slice *slice_from(struct slices *slices, uint64_t offset)
{
	uint64_t number = (offset - slices->session->reader->data_offset) / SIZE;
	struct slice *slice = &slices->all[number % AHEAD];
	pthread_mutex_lock(&slices->lock);
	go_on_to(slices, number);
	while (slice->state == SLICE_HOPPED_OVER_NOW) {
		pthread_mutex_unlock(&slices->lock);
		bool hopped = slices_hop_ahead(slices);
		pthread_mutex_lock(&slices->lock);
		while (!hopped && slice->state == SLICE_HOPPED_OVER_NOW)
			pthread_cond_wait(&slices->changed, &slices->lock);
	}
	if (leads_to(slice, number, offset)) {
		slices->session->private->slices_foreseen++;
	} else {
		drop(slices, slice);
		hop(slices, slice, number, offset);
	}
	pthread_mutex_unlock(&slices->lock);
	return slice;
}

/* From here on it is the session's. */
static void take_over(struct slices *slices, struct slice *slice)
{
	struct session *session = slices->session;
	slices->current = slice;
	if (session->private->digests.size)
		digests_hold(&session->private->digests, &slice->digests);
	if (!session->private->prepared)
		hopped_count(&slice->hopped, session);
}

/* Somebody has written over records since, so that others than the stretch's follow. */
static void pass_by(struct slices *slices, struct slice *slice, const struct stretch *stretch)
{
	struct digests *digests = &slices->session->private->digests;
	struct digests_share share = {0};
	if (digests->size) {
		digests_count(slice->items.data + slice->next_item, stretch->items, &share);
		digests_give_back(digests, &share);
	}
	slice->next_item += stretch->items;
	slice->next++;
}

bool slices_put_in_order(struct slices *slices, uint64_t *offset)
{
	const struct reader *reader = slices->session->reader;
	struct slice *slice = slices->current;
	if (*offset >= reader->data_end || !reader_sample_size(reader, *offset))
		return false;
	if (!slice || *offset < slice->begin || *offset >= slice->end) {
		while (slice && slice->next < slice->stretches.len)
			pass_by(slices, slice, &slice->stretches.data[slice->next]);
		take_over(slices, slice = slice_from(slices, *offset));
	}
	while (slice->next < slice->stretches.len && slice->stretches.data[slice->next].begin < *offset)
		pass_by(slices, slice, &slice->stretches.data[slice->next]);
	const struct stretch *stretch = slice->next < slice->stretches.len ? &slice->stretches.data[slice->next] : NULL;
	if (!stretch || stretch->begin != *offset)
		return false;
	order_push_all(&slices->session->private->order, slice->items.data + slice->next_item, stretch->items, &stretch->times);
	slice->next_item += stretch->items;
	slice->next++;
	*offset = stretch->end;
	return true;
}

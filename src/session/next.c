/* The records of a session in order (the contract is in session.h).
 *
 *	source ─┬─ a time: (time, offset) into the order ─► FINISHED_ROUND ─► ready ─┬─► deliver: filter, command;
 *	        └─ none: at once ────────────────────────────────────────────────────┘    side-band into the machine
 *
 * Most records are plain samples of stable input. They are hopped over in a loop of their own, as pass 1 does, and looked at where they
 * lie.
 *
 * Not done here: what records change (apply.c), the order (order.c). */
#include "session/session.h"

#include "base/files/mapping.h"
#include "base/mem.h"
#include "session/ahead.h"
#include "session/session_internal.h"

#include <stddef.h>
#include <string.h>

/* The model's time never goes back. */
static void advance_clock(struct session *session, uint64_t time)
{
	if (time > session->private->turns.clock)
		session->private->turns.clock = time;
}

static bool wants(const struct session *session, const struct record *record)
{
	const struct filter *filter = &session->private->filter;
	if (!filter->active)
		return true;
	const struct sample_layout *layout = &session->reader->layouts[record->event->index];
	uint32_t cpu = UINT32_MAX;
	if (layout->cpu)
		memcpy(&cpu, (const uint8_t *)record->header + layout->cpu, sizeof(cpu));
	return filter_accepts_cpu(filter, cpu) && filter_accepts_time(filter, layout->time ? record->time : FILTER_NO_TIME);
}

/* Fills `ret`; false when the record isn't to be seen by the command. */
static bool deliver(struct session *session, const struct record_header *header, uint64_t offset, uint64_t time, struct record *ret)
{
	struct session_private *private = session->private;
	bool by_offset = private->prepared ? private->offset_times : private->file_order;
	const uint32_t type = mapping_u32(&header->type);
	uint64_t model_time = by_offset ? offset : time;
	advance_clock(session, model_time);
	if (!private->prepared || !model_time)
		model_time = private->turns.clock;
	if (type == RECORD_SAMPLE && model_time == time)
		model_time = ties_time(&private->ties, time, offset, &session->private->near);
	*ret = (struct record){
		.header = header, .time = time, .model_time = model_time, .offset = offset, .is_sample = type == RECORD_SAMPLE};
	if (type < RECORD_USER_START)
		ret->event = reader_event(session->reader, header);
	if (!ret->is_sample)
		return true;
	if (!ret->event)
		return false; /* counted when it was read first */
	if (header->size < session->reader->layouts[ret->event->index].variable) {
		reader_diagnostics_note(&session->reader->diagnostics, offset, "sample shorter than its event's fields");
		return false;
	}
	if (wants(session, ret))
		return true;
	if (private->readings.present)
		session_follow_readings(session, header, private->values);
	return false;
}

/* The next member of the sample whose group is being delivered. */
static bool next_member(struct session *session, struct record *ret)
{
	struct session_private *private = session->private;
	const struct sample_layout *layout = &session->reader->layouts[private->group.event->index];
	const struct event *event =
		readings_next(&private->readings, session->reader, layout, private->values, &private->group_index, &private->group_sample);
	private->in_group = event;
	if (!event)
		return false;
	*ret = private->group;
	ret->event = event;
	ret->is_member = true;
	ret->is_last_member =
		!readings_have_more(&private->readings, layout, private->values, private->group_index, &private->group_sample);
	ret->member_id = private->group_sample.id;
	ret->member_period = private->group_sample.period;
	return true;
}

/* A record that deliver() wants to be seen: as it is, or as the first of its members. */
static bool show(struct session *session, struct record *ret)
{
	struct session_private *private = session->private;
	if (private->options.whole_groups || !ret->is_sample ||
	    !readings_splits(&private->readings, &session->reader->layouts[ret->event->index]))
		return true;
	if (!session_decode(session, ret, &private->group_sample))
		return false;
	private->group = *ret;
	private->group_index = 0;
	return next_member(session, ret);
}

/* ---- what is met ---- */

static void take_into_order(struct session *session, const struct record_header *header, uint64_t offset, uint64_t time)
{
	struct session_private *private = session->private;
	if (!private->prepared)
		session_count_record(session, header, time, offset);
	order_push(&private->order, time, offset << SESSION_SLOT_BITS);
	source_hold(&private->source, offset);
}

/* Puts samples that follow into the order; false when something else does, or their places aren't known beforehand. */
static bool hop_into_order(struct session *session)
{
	struct session_private *private = session->private;
	return private->slices && private->uniform && !private->file_order && slices_put_in_order(private->slices, &private->source.offset);
}

/* A record of the source: true when it waits for its turn in the order. */
static bool meet(struct session *session, const struct record_header *header, uint64_t offset)
{
	struct session_private *private = session->private;
	session_look_at_events(session);
	uint64_t time = session_record_time(session, header);
	if (time && !private->file_order) {
		take_into_order(session, header, offset, time);
		return true;
	}
	if (!private->prepared)
		session_count_record(session, header, time, offset);
	private->round_mark = header->type == RECORD_FINISHED_ROUND && !private->file_order;
	return false;
}

static void finish_round(struct session_private *private)
{
	private->round_mark = false;
	order_finish_round(&private->order);
}

enum scan_result {
	SCAN_FAILED,
	SCAN_DELIVERED,
	SCAN_READY, /* the order has something ready now, or the end is reached */
	SCAN_WAITS, /* resting */
};

/* Reads on to a record that is delivered at once, *ret_shown tells whether it is to be seen, or to what is ready then. */
static enum scan_result scan(struct session *session, bool resting, struct record *ret, bool *ret_shown, struct error **ret_error)
{
	struct session_private *private = session->private;
	const struct record_header *header;
	uint64_t offset;
	advance_clock(session, private->order.released); /* those that were passed over count, too */
	if (private->round_mark) {
		finish_round(private);
		return SCAN_READY;
	}
	while (!resting || (session->reader->stable && reader_is_plain(session->reader, private->source.offset))) {
		if (hop_into_order(session))
			continue;
		bool is_plain = !private->slices || reader_is_plain(session->reader, private->source.offset);
		header = source_next(&private->source, &offset, ret_error);
		if (!is_plain)
			slices_void(private->slices);
		if (*ret_error)
			return SCAN_FAILED;
		if (header && meet(session, header, offset))
			continue;
		if (!header) {
			private->scanned = true;
			order_finish(&private->order);
			return SCAN_READY;
		}
		uint64_t time = session_record_time(session, header);
		if (private->copies && reader_in_file(session->reader, header))
			header = session_stable_record(session, offset);
		*ret_shown = header && deliver(session, header, offset, time, ret);
		return SCAN_DELIVERED;
	}
	return SCAN_WAITS;
}

/* ---- ahead of the session's thread ---- */

/* Whether the next record changes nothing that its thread looks at. */
static bool may_be_met_ahead(const struct session *session)
{
	const struct reader *reader = session->reader;
	uint64_t offset = session->private->source.offset;
	if (!reader_is_plain(reader, offset))
		return false;
	const struct record_header *header = (const struct record_header *)(reader->records + offset);
	return header->type != RECORD_SAMPLE || reader_event(reader, header); /* else it is counted as broken */
}

static size_t read_ahead(struct session *session, struct order_item *ret, size_t room)
{
	struct session_private *private = session->private;
	const struct record_header *header;
	struct error *error = NULL;
	size_t count = 0;
	while ((count += order_take(&private->order, ret + count, room - count)) < room) {
		uint64_t offset;
		if (private->round_mark)
			finish_round(private);
		else if (hop_into_order(session))
			continue;
		else if (!may_be_met_ahead(session) || !(header = source_next(&private->source, &offset, &error)))
			break;
		else if (!meet(session, header, offset))
			ret[count++] = (struct order_item){.time = private->order.released,
							   .offset = offset << SESSION_SLOT_BITS | SESSION_AT_ONCE};
	}
	return count;
}

size_t session_read_ahead(struct session *session, struct order_item *ret, size_t room, struct digests_share *ret_share)
{
	struct session_private *private = session->private;
	pthread_mutex_lock(&private->digest_lock);
	size_t count = read_ahead(session, ret, room);
	pthread_mutex_unlock(&private->digest_lock);
	if (private->digests.size)
		digests_count(ret, count, ret_share);
	return count;
}

/* Whether it is known whose turn comes. */
static bool has_turns(struct session *session)
{
	struct session_private *private = session->private;
	size_t count;
	struct session_turns *turns = &private->turns;
	if (turns->next < turns->end)
		return true;
	if (!private->ahead && private->reads_ahead)
		session->private->ahead = ahead_create(session);
	if (private->ahead && ahead_next(private->ahead, &turns->next, &turns->end) && turns->next < turns->end)
		return true;
	if (private->digests.size)
		digests_give_back(&private->digests, &private->share);
	turns->next = order_take_all(&private->order, &count);
	turns->end = count ? turns->next + count : turns->next;
	if (private->digests.size)
		digests_count(turns->next, count, &private->share);
	return count;
}

/* Whether samples are handed out as they lie in a file: nothing is chosen, split or copied. */
static bool takes_plain(const struct session *session)
{
	const struct session_private *private = session->private;
	return session->reader->stable && !private->prepared && !private->copies && !private->filter.active && !private->readings.present;
}

/* Readying the first call: the source begins anew after pass 1. */
static void start(struct session *session)
{
	struct session_private *private = session->private;
	private->started = true;
	if (private->values)
		memset(private->values, 0, (private->readings.count + 1) * sizeof(*private->values));
	private->digests_now = takes_plain(session);
	if (!session->reader->stable)
		return;
	source_init(&private->source, session->reader, !private->prepared);
	private->slices = slices_create(session);
}

/* Asks for the memory of the record whose turn is `distance` further on. */
static inline void ask_for_turn(const struct session *session, ptrdiff_t distance)
{
	const struct session_private *private = session->private;
	if (private->turns.end - private->turns.next > distance)
		__builtin_prefetch(session->reader->records + session_turn_offset(&private->turns.next[distance]));
}

/* A record whose turn has come. */
static const struct record_header *ordered_record(struct session *session, uint64_t offset)
{
	enum { AHEAD = 4 };
	struct session_private *private = session->private;
	const struct reader *reader = session->reader;
	if (private->copies)
		return session_stable_record(session, offset);
	if (!reader->stable)
		return source_at(&private->source, offset);
	ask_for_turn(session, AHEAD);
	return reader_sample_size(reader, offset) ? (const struct record_header *)(reader->records + offset)
						  : source_at(&private->source, offset);
}

/* Whether what follows may be read ahead of the session's thread. */
static bool may_read_ahead(const struct session *session)
{
	const struct session_private *private = session->private;
	return session->jobs > 1 && session->reader->stable && !private->file_order && !private->options.forgets &&
	       !private->readings.present;
}

/* The shortest way: all that is asked of the sample is known already. */
static inline bool next_digested(struct session_private *private, struct record *ret)
{
	return private->takes_digests && session_next_turn(&private->turns, ret);
}

/* The short way for most records; false when the next one isn't plain, or isn't known. */
static inline bool next_plain(struct session *session, struct record *ret)
{
	enum { AHEAD = 12 };
	struct session_private *private = session->private;
	const struct reader *reader = session->reader;
	const struct order_item *item = private->turns.next;
	if (item == private->turns.end || item->offset & SESSION_AT_ONCE)
		return false;
	uint64_t offset = session_turn_offset(item);
	if (!reader_sample_size(reader, offset))
		return false;
	const struct record_header *header = (const struct record_header *)(reader->records + offset);
	const struct event *event = reader_sample_event(reader, header);
	if (!event || mapping_u16(&header->size) < reader->layouts[event->index].variable)
		return false;
	ask_for_turn(session, AHEAD);
	private->turns.next++;
	advance_clock(session, item->time);
	*ret = (struct record){.header = header,
			       .time = item->time,
			       .model_time = private->turns.clock,
			       .offset = offset,
			       .is_sample = true,
			       .event = event};
	return true;
}

/* The one whose turn it is; whether it is to be seen. */
static bool deliver_turn(struct session *session, struct record *ret)
{
	struct session_private *private = session->private;
	const struct order_item item = *private->turns.next;
	uint64_t offset = session_turn_offset(&item), time = item.time;
	private->turns.next++;
	if (item.offset & SESSION_AT_ONCE) {
		advance_clock(session, time);
		time = 0;
	}
	const struct record_header *header = ordered_record(session, offset);
	private->holding = !session->reader->stable;
	private->held_offset = offset;
	session->reader->diagnostics.changed |= !header;
	return header && deliver(session, header, offset, time, ret);
}

int session_gather(struct session *session, bool resting, struct record *ret, struct error **ret_error)
{
	struct session_private *private = session->private;
	bool shown = false;
	*ret_error = NULL;
	if (!private->started)
		start(session);
	if (private->in_group && next_member(session, ret))
		return 1;
	for (;;) {
		if (private->holding) {
			private->holding = false;
			source_let_go(&private->source, private->held_offset);
		}
		if (has_turns(session)) {
			shown = deliver_turn(session, ret);
		} else if (private->scanned) {
			return 0;
		} else {
			enum scan_result result = scan(session, resting, ret, &shown, ret_error);
			if (result == SCAN_READY)
				continue;
			if (result != SCAN_DELIVERED)
				return result == SCAN_FAILED ? -1 : 0;
		}
		if (shown && show(session, ret))
			return 1;
	}
}

/* A record that somebody has written over since does nothing. */
static void make_stable(struct session *session, struct record *record)
{
	static const struct record_header nothing = {.type = RECORD_FINISHED_ROUND, .size = sizeof(nothing)};
	const struct record_header *header = session_stable_record(session, record->offset);
	record->header = header && header->type != RECORD_SAMPLE ? header : &nothing;
}

void session_apply(struct session *session, struct record *record)
{
	struct session_private *private = session->private;
	if (session->reader->stable && !private->copies && !record->is_sample)
		make_stable(session, record);
	if (private->prepared)
		return;
	if (!record->is_sample && apply_is_sideband(record->header->type))
		session_apply_in_order(session, record->header, record->time, record->model_time);
	else if (record->is_sample && private->jit_sources.len)
		jit_feed_until(session, record->model_time);
	else if (record->header->type == RECORD_FINISHED_ROUND && private->options.forgets && !private->file_order)
		session_forget(session, NULL);
}

void session_part_times(struct session *session, struct record *record)
{
	struct session_private *private = session->private;
	if (private->prepared)
		return;
	uint64_t latest = UINT64_MAX >> 1, time = record->model_time < latest ? record->model_time : latest;
	if (time <= private->parted)
		time = private->parted + (private->parted_sample && !record->is_sample);
	private->parted_sample = record->is_sample;
	private->parted = record->model_time = time;
}

int session_next(struct session *session, struct record *ret, struct error **ret_error)
{
	session->private->copies = session->reader->stable;
	int found = session_gather(session, false, ret, ret_error);
	if (found > 0)
		session_apply(session, ret);
	return found;
}

/* What was read some rounds ago isn't needed any more. Nothing breaks if it is. */
static void forget_behind(struct session *session, uint64_t now)
{
	enum { LEAST = 4 << 20 };
	struct session_private *private = session->private;
	if (private->prepared || now < private->round_begin + LEAST)
		return;
	if (private->ahead)
		ahead_forget(private->ahead, private->forgotten, private->round_begin);
	else
		reader_forget(session->reader, private->forgotten, private->round_begin);
	private->forgotten = private->round_begin;
	private->round_begin = now;
}

/* What is none of the samples that session_next_sample() gives. */
static void take_note(struct session *session, struct record *record)
{
	const struct record_header *header = record->header;
	uint32_t type = mapping_u32(&header->type);
	if (!session_passes_over(session, type, mapping_u16(&header->misc))) {
		session_apply(session, record);
		if (session->private->told)
			session->private->told(session->private->told_context, record);
	}
	if (type == RECORD_FINISHED_ROUND)
		forget_behind(session, record->offset);
}

void session_tell_others(struct session *session, void (*told)(void *context, const struct record *record), void *context)
{
	session->private->told = told;
	session->private->told_context = context;
}

void session_choose_events(struct session *session, bool (*is_wanted)(void *context, const struct event *event), void *context)
{
	const struct event_list *events = &session->reader->events;
	struct session_private *private = session->private;
	private->unwanted.len = 0;
	for (size_t i = 0; i < events->events.len; i++)
		vec_push(&private->unwanted, !is_wanted(context, events->events.data[i]));
}

bool session_digest_samples(struct session *session, session_digester *digester, void *context, size_t values)
{
	struct session_private *private = session->private;
	if (private->started || private->digests.size)
		return false;
	digests_init(&private->digests, digester, context, values);
	private->turns.reader = session->reader;
	private->turns.digests = private->digests.data;
	private->turns.digest_size = private->digests.size;
	return private->takes_digests = true;
}

void session_end_digests(struct session *session)
{
	struct session_private *private = session->private;
	pthread_mutex_lock(&private->digest_lock);
	private->digests.digester = NULL;
	pthread_mutex_unlock(&private->digest_lock);
	private->takes_digests = false;
}

struct session_turns *session_digested_turns(struct session *session)
{
	struct session_private *private = session->private;
	return private->takes_digests && private->plain && !private->jit_sources.len ? &private->turns : NULL;
}

int session_next_sample(struct session *session, struct record *ret, struct error **ret_error)
{
	struct session_private *private = session->private;
	int found = 1;
	private->copies = false;
	if (!private->plain || !(next_digested(private, ret) || next_plain(session, ret))) {
		private->reads_ahead = may_read_ahead(session);
		while ((found = session_gather(session, false, ret, ret_error)) > 0 && !ret->is_sample)
			take_note(session, ret);
		private->plain = takes_plain(session);
	}
	if (found > 0 && private->jit_sources.len)
		session_apply(session, ret);
	return found;
}

typedef const char *decoder(const struct sample_layout *layout, const struct event_attr *attr, const struct record_header *header,
			    struct sample *ret);

static inline const char *decode_by(const struct session *session, decoder *decode, const struct record *record, struct sample *ret)
{
	const struct event *event = record->is_member ? session->private->group.event : record->event;
	const char *broken = decode(&session->reader->layouts[event->index], &event->attr, record->header, ret);
	if (!broken)
		deferred_attach(&session->private->deferred, &event->attr, ret);
	if (record->is_member) {
		ret->id = record->member_id;
		ret->period = record->member_period;
	}
	return broken;
}

static bool is_sound(struct session *session, const struct record *record, const char *broken)
{
	if (broken)
		reader_diagnostics_note(&session->reader->diagnostics, record->offset, broken);
	return !broken;
}

const char *session_decode_uncounted(const struct session *session, const struct record *record, struct sample *ret)
{
	return decode_by(session, sample_decode, record, ret);
}

bool session_decode(struct session *session, const struct record *record, struct sample *ret)
{
	return is_sound(session, record, decode_by(session, sample_decode, record, ret));
}

bool session_decode_anew(struct session *session, const struct record *record, struct sample *ret)
{
	return is_sound(session, record, decode_by(session, sample_decode_anew, record, ret));
}

/* Samples whose turn comes and that are digested, without a call for each: for who goes through millions of them. What else comes between
 * them, session_next_sample() gives or applies:
 *
 *	while (session_next_sample(session, &record, &error) == 1) {
 *		… the sample …
 *		while (turns && session_next_turn(turns, &record))
 *			… a sample with record.digest …
 *	}
 */
#pragma once

#include "session/order.h"
#include "session/session.h"

/* What tells the record of an item in the order: its offset (no recording has 2^45 bytes), above the place of its digest among those that
 * are kept, + 1; 0 = it has none. With SESSION_AT_ONCE the record was met at that place and isn't in the order. */
enum { SESSION_SLOT_BITS = 18, SESSION_SLOTS = (1 << SESSION_SLOT_BITS) - 1 };
#define SESSION_AT_ONCE (1ull << 63)

static inline uint64_t session_turn_offset(const struct order_item *item)
{
	return (item->offset & ~SESSION_AT_ONCE) >> SESSION_SLOT_BITS;
}

/* Private but for its name. */
struct session_turns {
	const struct order_item *next, *end; /* whose turn comes, as far as is known */
	uint64_t clock;			     /* the newest time delivered */
	const struct reader *reader;
	const uint8_t *digests;
	size_t digest_size;
};

/* After a sample of session_next_sample(), until the next one. NULL: nothing is digested, or something is to be done at each sample. */
struct session_turns *session_digested_turns(struct session *session);

static inline const struct sample_digest *session_turn_digest(const struct session_turns *turns, const struct order_item *item)
{
	uint64_t number = item->offset & SESSION_SLOTS;
	return number ? (const struct sample_digest *)(turns->digests + (number - 1) * turns->digest_size) : NULL;
}

/* Private: asks for the memory of a later turn's digest, which the other thread's processor has. */
static inline void session_ask_for_digest(const struct session_turns *turns)
{
	enum { AHEAD = 16 };
	if (turns->end - turns->next <= AHEAD)
		return;
	const uint8_t *digest = (const uint8_t *)session_turn_digest(turns, &turns->next[AHEAD]);
	if (!digest)
		return;
	__builtin_prefetch(digest);
	__builtin_prefetch(digest + turns->digest_size - 1);
}

/* False: something else comes, or nobody knows yet. *ret is valid as one of session_next_sample(). */
static inline bool session_next_turn(struct session_turns *turns, struct record *ret)
{
	const struct order_item *item = turns->next;
	const struct sample_digest *digest = item == turns->end ? NULL : session_turn_digest(turns, item);
	if (!digest)
		return false;
	session_ask_for_digest(turns);
	turns->next++;
	turns->clock = item->time > turns->clock ? item->time : turns->clock;
	uint64_t offset = session_turn_offset(item);
	*ret = (struct record){.header = (const struct record_header *)(turns->reader->records + offset),
			       .time = item->time,
			       .model_time = turns->clock,
			       .offset = offset,
			       .is_sample = true,
			       .event = turns->reader->events.events.data[digest->event],
			       .digest = digest};
	return true;
}

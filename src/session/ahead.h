/* Reading ahead in the order of time: a thread of its own goes over the records that follow and puts them in order, while the session's
 * thread looks at those whose turn has come; whoever waits looks up samples for both (slices.h). It hands on where they lie, and touches
 * neither the machine nor what samples are decoded by.
 * Where somebody asks for it (session_digest_samples()), what trackers are told of samples is taken out of them, too.
 *
 *	its thread       ──hops, orders──► batch 3   batch 4 …
 *	session's thread                             batch 1   batch 2 ──► filter, side-band, command
 *
 * It comes to rest in front of each record that could change the events, so that what is seen depends on no thread. */
#pragma once

#include "session/order.h"
#include "session/session.h"

struct ahead;

/* For a session whose input is stable. The thread is made when it is first needed. */
struct ahead *ahead_create(struct session *session);
/* The next turns, as session_read_ahead() gives them, valid with their digests until the next call. False, or none: nothing is read ahead
 * now, as something else follows or little; then the session's source and order are the caller's until the next call, and else the
 * thread's. */
bool ahead_next(struct ahead *ahead, const struct order_item **ret_begin, const struct order_item **ret_end);
/* reader_forget() by the thread; ranges follow one another. */
void ahead_forget(struct ahead *ahead, uint64_t from, uint64_t to);
/* `ahead` may be NULL. */
void ahead_destroy(struct ahead *ahead);

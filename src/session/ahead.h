/* Reading ahead in the order of time: a thread of its own goes over the records that follow and puts them in order, while the session's
 * thread looks at those whose turn has come. It hands on where they lie, and touches neither the machine nor what samples are decoded by.
 *
 *	its thread       ──hops, orders──► batch 3   batch 4 …
 *	session's thread                             batch 1   batch 2 ──► filter, side-band, command
 *
 * It comes to rest in front of each record that could change the events, so that what is seen depends on no thread. */
#pragma once

#include "session/order.h"
#include "session/session.h"

struct ahead;

/* NULL where that isn't possible now, or doesn't pay. From then on the session's source and order are the thread's, until ahead_end(). */
struct ahead *ahead_start(struct session *session);
/* The next turns, as session_read_ahead() gives them, valid until the next call. False: the thread is at rest, for something else
 * follows. */
bool ahead_next(struct ahead *ahead, const struct order_item **ret_begin, const struct order_item **ret_end);
void ahead_end(struct ahead *ahead);

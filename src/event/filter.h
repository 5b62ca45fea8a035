/* Conditions on tracepoints (--filter), checked before the kernel sees them: it only says "invalid argument".
 *
 *	condition = term { ("&&" | "||") term }
 *	term      = "!" term | "(" condition ")" | FIELD operator value
 *	operator  = == != < <= > >= &     on numbers
 *	          | == != ~               on strings; ~ takes * ? []
 *	value     = NUMBER | "TEXT" | 'TEXT' | CPUS{LIST}
 */
#pragma once

#include "event/catalog.h"
#include "event/event.h"
#include "event/tracepoint.h"

/* Checks `filter` against a tracepoint's fields. The error (ERROR_USAGE) shows the place, what was expected there, and the fields that
 * there are. */
struct error *filter_check(const struct tracepoint *tracepoint, const char *filter);

/* The same for a tracepoint of this machine by its event; NULL when its format cannot be read (the kernel decides then). */
struct error *filter_check_event(struct event_catalog *catalog, const struct event *event, const char *filter);

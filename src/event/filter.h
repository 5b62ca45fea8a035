/* Conditions on tracepoints (--filter), checked before the kernel sees them: it only says "invalid argument".
 *
 *	condition = term { ("&&" | "||") term }
 *	term      = "!" term | "(" condition ")" | FIELD operator value
 *	operator  = == != < <= > >= &     on numbers
 *	          | == != ~               on strings; ~ takes * ? []
 *	value     = NUMBER | NAME | "TEXT" | 'TEXT' | CPUS{LIST}
 *
 * A NAME is that of a number: what the print format shows it by (vec == NET_RX), in quotes when it is no plain word, or an enumerator of
 * the kernel (mode == HRTIMER_MODE_ABS). The kernel gets the number.
 */
#pragma once

#include "event/catalog.h"
#include "event/event.h"
#include "event/tracepoint/tracepoint.h"

/* Checks `filter` against a tracepoint's fields and adds to `ret` what the kernel is to get. The error (ERROR_USAGE) shows the place, what
 * was expected there, and the fields that there are, with their types. `kernel_types`: as of tracepoint_symbol(). */
struct error *filter_check(const struct tracepoint *tracepoint, const char *kernel_types, const char *filter, struct strbuf *ret);

/* The same for a tracepoint of this machine by its event; when its format cannot be read the filter stays as it is (the kernel decides
 * then). */
struct error *filter_check_event(struct event_catalog *catalog, const struct event *event, const char *filter, struct strbuf *ret);

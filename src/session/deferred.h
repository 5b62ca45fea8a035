/* Call chains whose user part came later. A kernel with deferred unwinding (Linux 6.19) walks a task's user stack only when it returns to
 * user space: samples end with a marker and a cookie, and a record CALLCHAIN_DEFERRED with the same cookie has the rest, for all samples of
 * one stay in the kernel. Within session.
 *
 *	SAMPLE             tid 5   KERNEL a b c   USER_DEFERRED cookie
 *	CALLCHAIN_DEFERRED tid 5   cookie: USER d e
 */
#pragma once

#include "base/hash.h"
#include "perfdata/reader.h"

#include <stdbool.h>

/* All zero has none. */
struct deferred {
	struct map64 records; /* hash of thread and cookie → pointer to the record */
};

/* Takes note of a CALLCHAIN_DEFERRED, which must stay where it is. What is wrong with it is returned (a literal), else NULL. */
const char *deferred_note(struct deferred *deferred, const struct reader *reader, const struct record_header *header);
void deferred_find(const struct deferred *deferred, struct sample *sample);
/* Takes marker and cookie off the sample's chain, and gives it the user part if there is one. */
static inline void deferred_attach(const struct deferred *deferred, const struct event_attr *attr, struct sample *sample)
{
	if (attr->defer_callchain)
		deferred_find(deferred, sample);
}
void deferred_deinit(struct deferred *deferred);

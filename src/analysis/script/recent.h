/* The last stack of each of a few address spaces, with its text: the next one mostly has the same outer frames. Bounded; one owner.
 *
 *	text of the last stack       f5 f4 f3 │ f2 f1 main        inner frames first
 *	of this one                  g4 g3    │ f2 f1 main        new lines, and the rest of the last one's
 */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

struct script_recents;
struct script_recent;

struct script_recents *script_recents_create(void);
void script_recents_destroy(struct script_recents *recents);

enum { SCRIPT_RECENT_FRAMES = 160 };

/* A stack of 1 to SCRIPT_RECENT_FRAMES addresses, innermost first, whose lines depend on the addresses and on `space` alone. *ret_new is
 * how many of them, innermost first, aren't known; the lines of the others are added by script_recent_finish(). The innermost one is always
 * new, but for a stack that is the last one again. NULL: all are new, and there is nothing to finish. */
struct script_recent *script_recents_take(struct script_recents *recents, uint64_t space, const uint64_t *words, size_t count,
					  size_t *ret_new);
/* Adds what is known. `out` has the text of the *ret_new frames, begun at `start`; `ends[i]` is where in it the i-th one's ends. */
void script_recent_finish(struct script_recent *recent, size_t start, const size_t *ends, size_t count, struct strbuf *out);

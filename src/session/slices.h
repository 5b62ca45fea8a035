/* Slices of a recording: what reading in the order of time needs to know of its plain samples, looked up by whichever thread has time.
 *
 * Going over the headers and digesting is most of reading, and needs neither the order nor the model. So whoever waits for another thread
 * hops over one of the slices that follow, from the place at which records seem to begin there. Whoever puts samples in order takes them
 * over where the slice begins at the very record that it has come to, and hops over the slice itself otherwise:
 *
 *	slices   |══════════|══════════|══════════|~~~~~~~~~~|          |        ═ hopped over   ~ just now, by another thread
 *	in order ├─────────►┤
 *
 * What is no sample with a time and an event parts a slice in stretches, and is met by who puts them in order. A record that could change
 * the events ends it.
 */
#pragma once

#include "session/order.h"

#include <stdbool.h>
#include <stdint.h>

struct session;
struct slices;

/* Of stable input whose events have their times in one place. */
struct slices *slices_create(struct session *session);
/* `slices` may be NULL. Nobody hops any more. */
void slices_destroy(struct slices *slices);
/* Puts the samples that follow from *offset on, which moves behind them, into the session's order: up to something else, or some of them.
 * False: none follows. For one thread, that of the session's source. */
bool slices_put_in_order(struct slices *slices, uint64_t *offset);
/* Hops over the next slice that nobody has looked at; false: it is too far in front of what was put in order. Not while events change. */
bool slices_hop_ahead(struct slices *slices);
/* Events may have changed: what was found so far is void. While nobody hops. */
void slices_void(struct slices *slices);

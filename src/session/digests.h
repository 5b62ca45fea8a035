/* Digests of the samples that are in the order of time, or on their way from there to whose turn it is.
 *
 * A digest stays where it was made: what is put in order is the number of its place. Places are taken by blocks, each thread its own, those
 * first that were in use last, so that as much memory goes to and fro as there are samples in the order; they are given back a turn's batch
 * at a time.
 *
 *	blocks   ▓▓▓▓ ▓▓▓░ ░░░░ ▓▓▓▓ ▓▓░░      ▓ has a digest whose turn hasn't passed
 *	                 └ the next one       └ … of another thread
 */
#pragma once

#include "session/order.h"
#include "session/session.h"

#include <pthread.h>

enum { DIGESTS_BLOCK = 512, DIGESTS_BLOCKS = 511, DIGESTS_MAX = DIGESTS_BLOCK * DIGESTS_BLOCKS };

struct digests {
	session_digester *digester; /* or NULL */
	void *context;
	size_t size; /* of one, in bytes; 0 = nothing is digested */
	uint8_t *data;
	char apart[64];		       /* from here on it changes while another thread looks at digests (SESSION_LINE) */
	uint16_t held[DIGESTS_BLOCKS]; /* digests of a block that were held and weren't given back */
	pthread_mutex_t lock;	       /* for the rest */
	uint16_t free[DIGESTS_BLOCKS]; /* a stack of blocks */
	size_t free_count;
};

/* Digests that were made together, by one thread; all zero is none. */
struct digests_made {
	size_t at, end; /* where the next one comes, and the end of its block */
	VEC(uint16_t) blocks;
};

/* How many places of each block some items have. */
struct digests_share {
	uint16_t counts[DIGESTS_BLOCKS];
};

void digests_init(struct digests *digests, session_digester *digester, void *context, size_t values);
void digests_deinit(struct digests *digests);
/* What to put in order with a sample that is sound, into the lower bits of what tells its item: 0 = it isn't digested. */
uint64_t digests_make(struct digests *digests, struct digests_made *made, const struct event *event, const struct record_header *header);
/* They wait for their turns from here on; `made` is empty then. This and what follows is for one thread. */
void digests_hold(struct digests *digests, struct digests_made *made);
/* The same for those that nobody waits for. */
void digests_abandon(struct digests *digests, struct digests_made *made);
/* Adds what `count` items have to `share`. */
void digests_count(const struct order_item *items, size_t count, struct digests_share *share);
/* Nobody looks at them any more. Empties `share`. */
void digests_give_back(struct digests *digests, struct digests_share *share);

/* By what digests_make() returned, other than 0. */
static inline const struct sample_digest *digests_at(const struct digests *digests, uint64_t number)
{
	return (const struct sample_digest *)(digests->data + (number - 1) * digests->size);
}

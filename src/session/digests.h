/* Digests of the samples that are in the order of time, or on their way from there to whose turn it is.
 *
 * A digest stays where it was made: what is put in order is the number of its place. Places are given back a turn's batch at a time, and
 * taken by blocks, those first that were in use last, so that as much memory goes to and fro as there are samples in the order.
 *
 *	blocks   ▓▓▓▓ ▓▓░░ ░░░░ ▓▓▓▓      ▓ has digests whose turn hasn't passed
 *	              └ the next digest
 */
#pragma once

#include "session/order.h"
#include "session/session.h"

enum { DIGESTS_BLOCK = 1024, DIGESTS_BLOCKS = 127, DIGESTS_MAX = DIGESTS_BLOCK * DIGESTS_BLOCKS };

struct digests {
	session_digester *digester; /* or NULL */
	void *context;
	size_t size; /* of one, in bytes; 0 = nothing is digested */
	uint8_t *data;
	char apart[64];	  /* from here on it changes while another thread looks at digests (SESSION_LINE) */
	size_t block, at; /* where the next one comes, and the end of what is free there */
	size_t end;
	uint16_t held[DIGESTS_BLOCKS]; /* digests of a block that weren't given back */
	uint8_t free[DIGESTS_BLOCKS];  /* a stack of blocks */
	size_t free_count;
};

/* How many places of each block some items have. */
struct digests_share {
	uint16_t counts[DIGESTS_BLOCKS];
};

void digests_init(struct digests *digests, session_digester *digester, void *context, size_t values);
void digests_deinit(struct digests *digests);
/* What to put in order with a sample that is sound, into the lower bits of what tells its item: 0 = it isn't digested. */
uint64_t digests_make(struct digests *digests, const struct event *event, const struct record_header *header);
/* Adds what `count` items have to `share`. */
void digests_count(const struct order_item *items, size_t count, struct digests_share *share);
/* Nobody looks at them any more. Empties `share`. */
void digests_give_back(struct digests *digests, struct digests_share *share);

/* By what digests_make() returned, other than 0. */
static inline const struct sample_digest *digests_at(const struct digests *digests, uint64_t number)
{
	return (const struct sample_digest *)(digests->data + (number - 1) * digests->size);
}

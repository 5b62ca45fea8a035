/* Places of digests (the idea is in digests.h). */
#include "session/digests.h"

#include "base/mem.h"
#include "session/session_internal.h"

#include <assert.h>
#include <stdlib.h>

static_assert((int)DIGESTS_MAX <= (int)SESSION_SLOTS, "an item has no room for the number");

void digests_init(struct digests *digests, session_digester *digester, void *context, size_t values)
{
	*digests = (struct digests){
		.digester = digester, .context = context, .size = sizeof(struct sample_digest) + values * sizeof(uint64_t)};
	digests->data = mem_alloc_array(DIGESTS_MAX, digests->size);
	for (size_t i = DIGESTS_BLOCKS; i-- > 0;)
		digests->free[digests->free_count++] = (uint8_t)i;
}

void digests_deinit(struct digests *digests)
{
	free(digests->data);
	digests->data = NULL;
}

/* The block that is full is free as soon as all of it was given back. */
static bool take_block(struct digests *digests)
{
	if (!digests->free_count)
		return false;
	digests->block = digests->free[--digests->free_count];
	digests->at = digests->block * DIGESTS_BLOCK;
	digests->end = digests->at + DIGESTS_BLOCK;
	return true;
}

uint64_t digests_make(struct digests *digests, const struct event *event, const struct record_header *header)
{
	if (digests->at == digests->end && !take_block(digests))
		return 0;
	struct sample_digest *digest = (struct sample_digest *)(digests->data + digests->at * digests->size);
	if (!digests->digester(digests->context, event, header, digest))
		return 0;
	digest->event = event;
	digests->held[digests->block]++;
	return ++digests->at;
}

void digests_count(const struct order_item *items, size_t count, struct digests_share *share)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t number = items[i].offset & SESSION_SLOTS;
		if (number)
			share->counts[(number - 1) / DIGESTS_BLOCK]++;
	}
}

void digests_give_back(struct digests *digests, struct digests_share *share)
{
	for (size_t i = 0; i < DIGESTS_BLOCKS; i++) {
		if (!share->counts[i])
			continue;
		digests->held[i] -= share->counts[i];
		if (digests->held[i])
			continue;
		if (i != digests->block)
			digests->free[digests->free_count++] = (uint8_t)i;
		else
			digests->at = i * DIGESTS_BLOCK; /* from its beginning again */
	}
	*share = (struct digests_share){0};
}

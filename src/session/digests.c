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
	pthread_mutex_init(&digests->lock, NULL);
	for (size_t i = DIGESTS_BLOCKS; i-- > 0;)
		digests->free[digests->free_count++] = (uint16_t)i;
}

void digests_deinit(struct digests *digests)
{
	if (digests->data)
		pthread_mutex_destroy(&digests->lock);
	free(digests->data);
	digests->data = NULL;
}

static bool take_block(struct digests *digests, struct digests_made *made)
{
	pthread_mutex_lock(&digests->lock);
	bool found = digests->free_count;
	if (found)
		vec_push(&made->blocks, digests->free[--digests->free_count]);
	pthread_mutex_unlock(&digests->lock);
	if (!found)
		return false;
	made->at = *vec_last(&made->blocks) * (size_t)DIGESTS_BLOCK;
	made->end = made->at + DIGESTS_BLOCK;
	return true;
}

static void free_block(struct digests *digests, size_t block)
{
	pthread_mutex_lock(&digests->lock);
	digests->free[digests->free_count++] = (uint16_t)block;
	pthread_mutex_unlock(&digests->lock);
}

uint64_t digests_make(struct digests *digests, struct digests_made *made, const struct event *event, const struct record_header *header)
{
	if (made->at == made->end && !take_block(digests, made))
		return 0;
	struct sample_digest *digest = (struct sample_digest *)(digests->data + made->at * digests->size);
	if (!digests->digester(digests->context, event, header, digest))
		return 0;
	digest->event = (uint32_t)event->index;
	return ++made->at;
}

/* All blocks but the last one are full. */
void digests_hold(struct digests *digests, struct digests_made *made)
{
	for (size_t i = 0; i < made->blocks.len; i++) {
		uint16_t block = made->blocks.data[i];
		size_t begin = block * (size_t)DIGESTS_BLOCK;
		digests->held[block] = i + 1 < made->blocks.len ? DIGESTS_BLOCK : (uint16_t)(made->at - begin);
		if (!digests->held[block])
			free_block(digests, block);
	}
	made->blocks.len = made->at = made->end = 0;
}

void digests_abandon(struct digests *digests, struct digests_made *made)
{
	for (size_t i = 0; i < made->blocks.len; i++)
		free_block(digests, made->blocks.data[i]);
	made->blocks.len = made->at = made->end = 0;
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
		if (!digests->held[i])
			free_block(digests, i);
	}
	*share = (struct digests_share){0};
}

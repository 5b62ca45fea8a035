/* The thread that reads ahead (ahead.h): a ring of batches between it and the session's thread, under one lock. Whoever is the quicker one
 * sleeps until there are some batches again, so that the two don't wake each other up for each. */
#include "session/ahead.h"

#include "base/files/mapping.h"
#include "base/mem.h"
#include "session/session_internal.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	BATCHES = 8,
	BATCH = 4096,	     /* items: with their records about as much as a processor's own cache holds */
	WOKEN_FOR = 2,	     /* batches that the session's thread sleeps for */
	LEAST = 1 << 20,     /* bytes that the thread is woken for, and between the places where it is: it may come to rest at once */
	UNMAPPED = 16 << 20, /* bytes behind, of which the thread doesn't wait for anybody to unmap them */
};

struct batch {
	size_t count;
	struct digests_share share; /* of its items, until they were used */
	struct order_item items[BATCH];
};

struct ahead {
	struct session *session;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t made, taken, used;    /* batches; the one that was taken last is in use */
	bool rests;		     /* no more are made until the session's thread has passed what follows */
	bool stop;		     /* … nor wanted */
	uint64_t next;		     /* it isn't woken before the source is there; the session's thread's */
	uint64_t behind, behind_end; /* ahead_forget(): from, to; equal = nothing */
	size_t given_back;	     /* batches whose digests were; the thread's */
	struct batch batches[BATCHES];
};

/* Mapping and unmapping pages takes a third of what reading does: whoever waits for the other does that meanwhile. False: there aren't
 * `least` bytes to unmap. Under the lock, which is open meanwhile. */
static bool unmap_behind(struct ahead *ahead, uint64_t least)
{
	uint64_t from = ahead->behind, to = ahead->behind_end;
	if (from == to || to - from < least)
		return false;
	ahead->behind = to;
	pthread_mutex_unlock(&ahead->lock);
	reader_forget(ahead->session->reader, from, to);
	pthread_mutex_lock(&ahead->lock);
	return true;
}

/* The same for samples that the thread comes to next; the lock was open in any case. */
static bool hop_in_front(struct ahead *ahead)
{
	struct slices *slices = ahead->session->private->slices;
	if (!slices)
		return false;
	pthread_mutex_unlock(&ahead->lock);
	bool hopped = slices_hop_ahead(slices);
	pthread_mutex_lock(&ahead->lock);
	return hopped;
}

/* False: no more batches are wanted. *ret_used: how many were used. */
static bool wait_for_room(struct ahead *ahead, size_t *ret_used)
{
	pthread_mutex_lock(&ahead->lock);
	size_t most = ahead->made - ahead->used == BATCHES ? BATCHES / 2 : BATCHES - 1;
	unmap_behind(ahead, UNMAPPED);
	while ((ahead->rests || ahead->made - ahead->used > most) && !ahead->stop)
		if (!unmap_behind(ahead, 1))
			pthread_cond_wait(&ahead->changed, &ahead->lock);
	bool stop = ahead->stop;
	*ret_used = ahead->used;
	pthread_mutex_unlock(&ahead->lock);
	return !stop;
}

static void give_back(struct ahead *ahead, size_t used)
{
	struct digests *digests = &ahead->session->private->digests;
	for (; digests->size && ahead->given_back < used; ahead->given_back++)
		digests_give_back(digests, &ahead->batches[ahead->given_back % BATCHES].share);
}

static void *read_on(void *context)
{
	struct ahead *ahead = context;
	size_t used;
	while (wait_for_room(ahead, &used)) {
		struct batch *batch = &ahead->batches[ahead->made % BATCHES];
		give_back(ahead, used);
		batch->count = session_read_ahead(ahead->session, batch->items, BATCH, &batch->share);
		pthread_mutex_lock(&ahead->lock);
		ahead->made++;
		ahead->rests = batch->count < BATCH;
		pthread_cond_signal(&ahead->changed);
		pthread_mutex_unlock(&ahead->lock);
	}
	return NULL;
}

struct ahead *ahead_create(struct session *session)
{
	struct ahead *ahead = mem_alloc(sizeof(*ahead));
	ahead->session = session;
	ahead->has_thread = false;
	ahead->made = ahead->taken = ahead->used = 0;
	ahead->rests = true;
	ahead->stop = false;
	ahead->next = 0;
	ahead->behind = ahead->behind_end = 0;
	ahead->given_back = 0;
	for (size_t i = 0; i < BATCHES; i++)
		ahead->batches[i].share = (struct digests_share){0};
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	return ahead;
}

/* At rest: reads on where that pays. */
static void wake(struct ahead *ahead)
{
	const struct session_private *private = ahead->session->private;
	const struct reader *reader = ahead->session->reader;
	uint64_t offset = private->source.offset;
	if (private->scanned || offset < ahead->next || reader->data_end < LEAST || offset > reader->data_end - LEAST ||
	    !reader_is_plain(reader, offset))
		return;
	ahead->next = offset + LEAST;
	if (!ahead->has_thread)
		ahead->has_thread = !pthread_create(&ahead->thread, NULL, read_on, ahead);
	ahead->rests = !ahead->has_thread;
	pthread_cond_signal(&ahead->changed);
}

/* Whether it isn't worth going on yet. */
static bool lacks_turns(const struct ahead *ahead)
{
	return ahead->made - ahead->taken < WOKEN_FOR && !ahead->rests;
}

bool ahead_next(struct ahead *ahead, const struct order_item **ret_begin, const struct order_item **ret_end)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->used = ahead->taken;
	if (!ahead->rests)
		pthread_cond_signal(&ahead->changed);
	if (ahead->made == ahead->taken) {
		if (ahead->rests)
			wake(ahead);
		while (lacks_turns(ahead))
			if (!hop_in_front(ahead) && lacks_turns(ahead) && !unmap_behind(ahead, 1))
				pthread_cond_wait(&ahead->changed, &ahead->lock);
	}
	bool found = ahead->made > ahead->taken;
	const struct batch *batch = &ahead->batches[ahead->taken % BATCHES];
	ahead->taken += found;
	pthread_mutex_unlock(&ahead->lock);
	*ret_begin = batch->items;
	*ret_end = batch->items + (found ? batch->count : 0);
	return found;
}

void ahead_forget(struct ahead *ahead, uint64_t from, uint64_t to)
{
	pthread_mutex_lock(&ahead->lock);
	if (ahead->behind == ahead->behind_end)
		ahead->behind = from;
	ahead->behind_end = to;
	pthread_mutex_unlock(&ahead->lock);
}

void ahead_destroy(struct ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->stop = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	if (ahead->has_thread)
		pthread_join(ahead->thread, NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}

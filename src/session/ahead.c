/* The thread that reads ahead (ahead.h): a ring of batches between it and the session's thread, under one lock. Whoever is the quicker one
 * sleeps until there are some batches again, so that the two don't wake each other up for each. */
#include "session/ahead.h"

#include "base/mem.h"
#include "session/session_internal.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	BATCHES = 8,
	BATCH = 4096,	 /* items: with their records about as much as a processor's own cache holds */
	WOKEN_FOR = 2,	 /* batches that the session's thread sleeps for */
	LEAST = 1 << 20, /* bytes that a thread is made for */
};

struct batch {
	size_t count;
	struct order_item items[BATCH];
};

struct ahead {
	struct session *session;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t made, taken, used; /* batches; the one that was taken last is in use */
	bool rests;		  /* no more are made */
	bool stop;		  /* … nor wanted */
	struct batch batches[BATCHES];
};

/* False: no more batches are wanted. */
static bool wait_for_room(struct ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	if (ahead->made - ahead->used == BATCHES)
		while (ahead->made - ahead->used > BATCHES / 2 && !ahead->stop)
			pthread_cond_wait(&ahead->changed, &ahead->lock);
	bool stop = ahead->stop;
	pthread_mutex_unlock(&ahead->lock);
	return !stop;
}

static void *read_on(void *context)
{
	struct ahead *ahead = context;
	bool rests = false;
	while (!rests && wait_for_room(ahead)) {
		struct batch *batch = &ahead->batches[ahead->made % BATCHES];
		batch->count = session_read_ahead(ahead->session, batch->items, BATCH);
		rests = batch->count < BATCH;
		pthread_mutex_lock(&ahead->lock);
		ahead->made++;
		ahead->rests = rests;
		pthread_cond_signal(&ahead->changed);
		pthread_mutex_unlock(&ahead->lock);
	}
	return NULL;
}

struct ahead *ahead_start(struct session *session)
{
	const struct session_private *private = session->private;
	const struct reader *reader = session->reader;
	uint64_t offset = private->source.offset;
	if (private->scanned || reader->data_end < LEAST || offset > reader->data_end - LEAST || !reader_is_plain(reader, offset))
		return NULL;
	struct ahead *ahead = mem_alloc(sizeof(*ahead));
	ahead->session = session;
	ahead->made = ahead->taken = ahead->used = 0;
	ahead->rests = ahead->stop = false;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	if (!pthread_create(&ahead->thread, NULL, read_on, ahead))
		return ahead;
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
	return NULL;
}

bool ahead_next(struct ahead *ahead, const struct order_item **ret_begin, const struct order_item **ret_end)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->used = ahead->taken;
	pthread_cond_signal(&ahead->changed);
	if (ahead->made == ahead->taken)
		while (ahead->made - ahead->taken < WOKEN_FOR && !ahead->rests)
			pthread_cond_wait(&ahead->changed, &ahead->lock);
	bool found = ahead->made > ahead->taken;
	const struct batch *batch = &ahead->batches[ahead->taken % BATCHES];
	ahead->taken += found;
	pthread_mutex_unlock(&ahead->lock);
	*ret_begin = batch->items;
	*ret_end = batch->items + (found ? batch->count : 0);
	return found;
}

void ahead_end(struct ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->stop = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	pthread_join(ahead->thread, NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}

#include "fleet/outbox.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "fleet/thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct letter {
	struct sender *sender;
	struct sender_batch batch;
	bool dropped; /* it has no bytes, and is only counted */
};

struct outbox {
	uint64_t limit;
	pthread_t thread;
	pthread_mutex_t lock;	    /* of what follows; never held while the disk is waited for */
	pthread_cond_t changed;	    /* a letter was put or is gone, or it is to end */
	VEC(struct letter) letters; /* the oldest first, which stays until it is kept */
	uint64_t bytes;		    /* of all of them */
	bool ends;
};

/* ---- the thread ---- */

static void keep(const struct letter *letter)
{
	if (letter->dropped) {
		sender_drop(letter->sender, &letter->batch);
		return;
	}
	struct error *error = sender_keep(letter->sender, &letter->batch);
	if (error)
		log_warning("%s: the window is dropped: %s", sender_name(letter->sender), error_message(error));
	error_free(error);
}

/* With the lock held. */
static void remove_first(struct outbox *outbox)
{
	struct letter *first = outbox->letters.data;
	outbox->bytes -= first->batch.bytes.len;
	sender_batch_deinit(&first->batch);
	memmove(first, first + 1, --outbox->letters.len * sizeof(*first));
	pthread_cond_broadcast(&outbox->changed);
}

static void *run(void *context)
{
	struct outbox *outbox = context;
	pthread_mutex_lock(&outbox->lock);
	while (outbox->letters.len || !outbox->ends) {
		if (!outbox->letters.len) {
			pthread_cond_wait(&outbox->changed, &outbox->lock);
			continue;
		}
		struct letter first = outbox->letters.data[0];
		pthread_mutex_unlock(&outbox->lock);
		keep(&first);
		pthread_mutex_lock(&outbox->lock);
		remove_first(outbox);
	}
	pthread_mutex_unlock(&outbox->lock);
	return NULL;
}

/* ---- putting ---- */

/* With the lock held. */
static struct error *check_room(const struct outbox *outbox, const struct letter *letter)
{
	size_t before = 0;
	for (size_t i = 0; i < outbox->letters.len; i++)
		before += outbox->letters.data[i].sender == letter->sender && !outbox->letters.data[i].dropped;
	if (!before || outbox->bytes + letter->batch.bytes.len <= outbox->limit)
		return NULL;
	return error_new("the disk has not taken the one before yet");
}

struct error *outbox_put(struct outbox *outbox, struct sender *sender, const struct window *window)
{
	struct letter letter = {.sender = sender};
	struct error *error = sender_encode(sender, window, &letter.batch);
	pthread_mutex_lock(&outbox->lock);
	error = error ? error : check_room(outbox, &letter);
	if (error) {
		sender_batch_deinit(&letter.batch);
		letter.dropped = true;
	}
	vec_push(&outbox->letters, letter);
	outbox->bytes += letter.batch.bytes.len;
	pthread_cond_broadcast(&outbox->changed);
	pthread_mutex_unlock(&outbox->lock);
	return error;
}

size_t outbox_waiting(struct outbox *outbox)
{
	size_t waiting = 0;
	if (!outbox)
		return 0;
	pthread_mutex_lock(&outbox->lock);
	for (size_t i = 0; i < outbox->letters.len; i++)
		waiting += !outbox->letters.data[i].dropped;
	pthread_mutex_unlock(&outbox->lock);
	return waiting;
}

bool outbox_is_empty(struct outbox *outbox)
{
	pthread_mutex_lock(&outbox->lock);
	bool empty = !outbox->letters.len;
	pthread_mutex_unlock(&outbox->lock);
	return empty;
}

void outbox_flush(struct outbox *outbox)
{
	pthread_mutex_lock(&outbox->lock);
	while (outbox->letters.len)
		pthread_cond_wait(&outbox->changed, &outbox->lock);
	pthread_mutex_unlock(&outbox->lock);
}

/* ---- life ---- */

static void release(struct outbox *outbox)
{
	vec_deinit(&outbox->letters);
	pthread_cond_destroy(&outbox->changed);
	pthread_mutex_destroy(&outbox->lock);
	free(outbox);
}

struct error *outbox_open(uint64_t limit, struct outbox **ret)
{
	struct outbox *outbox = mem_zalloc(sizeof(*outbox));
	outbox->limit = limit;
	pthread_mutex_init(&outbox->lock, NULL);
	pthread_cond_init(&outbox->changed, NULL);
	struct error *error = thread_start(&outbox->thread, run, outbox, "a thread that keeps windows");
	if (error)
		release(outbox);
	else
		*ret = outbox;
	return error;
}

void outbox_close(struct outbox *outbox)
{
	if (!outbox)
		return;
	pthread_mutex_lock(&outbox->lock);
	outbox->ends = true;
	pthread_cond_broadcast(&outbox->changed);
	pthread_mutex_unlock(&outbox->lock);
	pthread_join(outbox->thread, NULL);
	release(outbox);
}

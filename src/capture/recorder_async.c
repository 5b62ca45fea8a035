/* --aio: a thread of its own writes, so that a slow disk doesn't keep the recorder from emptying rings.
 *
 *	rings ──► recorder ──copy──► blocks, at most N wait ──► writing thread ──► writer
 *
 * Rings are given back to the kernel as soon as they are copied. Only the thread uses the writer while blocks wait: who else wants it calls
 * recorder_async_settle() first. */
#include "capture/recorder_internal.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct async_block {
	struct writer *writer; /* that is to write it: a switched output's blocks may still wait */
	uint8_t *data;
	size_t size, cap;
	enum block_kind { BLOCK_DATA, BLOCK_ROUND, BLOCK_FLUSH } kind;
};

struct async {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled, freed;
	struct async_block *blocks; /* a ring of its own: `first` is the oldest that waits, `count` wait */
	size_t block_count, first, count;
	struct error *error; /* the first one, until it is handed out; nothing is written afterwards */
	bool failed;
	uint64_t data_bytes; /* that the writer had put down after the last block */
	bool stop;
};

static struct error *write_block(const struct async_block *block)
{
	struct iovec piece = {block->data, block->size};
	switch (block->kind) {
	case BLOCK_ROUND:
		return writer_finish_round(block->writer);
	case BLOCK_FLUSH:
		return writer_flush(block->writer);
	default:
		return writer_append(block->writer, &piece, 1);
	}
}

static void *async_run(void *argument)
{
	struct async *async = argument;

	pthread_mutex_lock(&async->lock);
	for (;;) {
		while (!async->count && !async->stop)
			pthread_cond_wait(&async->filled, &async->lock);
		if (!async->count)
			break;
		const struct async_block *block = &async->blocks[async->first];
		if (!async->failed) {
			pthread_mutex_unlock(&async->lock);
			struct error *error = write_block(block);
			uint64_t bytes = writer_totals(block->writer).data_bytes;
			pthread_mutex_lock(&async->lock);
			async->error = error;
			async->failed = error != NULL;
			async->data_bytes = bytes;
		}
		async->first = (async->first + 1) % async->block_count;
		async->count--;
		pthread_cond_broadcast(&async->freed);
	}
	pthread_mutex_unlock(&async->lock);
	return NULL;
}

struct error *recorder_open_async(struct recorder *recorder)
{
	unsigned int blocks = recorder->options->async_blocks;
	if (!blocks)
		return NULL;
	struct async *async = mem_zalloc(sizeof(*async));
	async->block_count = blocks;
	async->blocks = mem_zalloc_array(blocks, sizeof(*async->blocks));
	pthread_mutex_init(&async->lock, NULL);
	pthread_cond_init(&async->filled, NULL);
	pthread_cond_init(&async->freed, NULL);
	int status = pthread_create(&async->thread, NULL, async_run, async);
	if (status) {
		free(async->blocks);
		free(async);
		return error_system(status, "--aio");
	}
	recorder->async = async;
	return NULL;
}

/* Waits for room; the block that is to be filled next. */
static struct async_block *next_block(struct async *async)
{
	while (async->count == async->block_count)
		pthread_cond_wait(&async->freed, &async->lock);
	return &async->blocks[(async->first + async->count) % async->block_count];
}

static void append(struct async_block *block, const struct iovec *pieces, int count)
{
	size_t size = 0;
	for (int i = 0; i < count; i++)
		size += pieces[i].iov_len;
	if (size > block->cap) {
		free(block->data);
		block->data = mem_alloc(size);
		block->cap = size;
	}
	block->size = 0;
	for (int i = 0; i < count; i++) {
		memcpy(block->data + block->size, pieces[i].iov_base, pieces[i].iov_len);
		block->size += pieces[i].iov_len;
	}
}

/* The thread looks at a block only after it is counted, so that it can be filled without the lock. */
static struct error *queue(struct recorder *recorder, const struct iovec *pieces, int count, enum block_kind kind)
{
	struct async *async = recorder->async;

	pthread_mutex_lock(&async->lock);
	struct async_block *block = next_block(async);
	struct error *error = take_pointer(async->error);
	pthread_mutex_unlock(&async->lock);
	if (error)
		return error;
	append(block, pieces, count);
	block->kind = kind;
	block->writer = recorder->writer;
	pthread_mutex_lock(&async->lock);
	async->count++;
	pthread_cond_signal(&async->filled);
	pthread_mutex_unlock(&async->lock);
	return NULL;
}

struct error *recorder_async_append(struct recorder *recorder, const struct iovec *pieces, int count)
{
	return queue(recorder, pieces, count, BLOCK_DATA);
}

struct error *recorder_async_finish(struct recorder *recorder, bool round)
{
	return queue(recorder, NULL, 0, round ? BLOCK_ROUND : BLOCK_FLUSH);
}

struct error *recorder_async_settle(struct recorder *recorder)
{
	struct async *async = recorder->async;
	if (!async)
		return NULL;
	pthread_mutex_lock(&async->lock);
	while (async->count)
		pthread_cond_wait(&async->freed, &async->lock);
	struct error *error = take_pointer(async->error);
	pthread_mutex_unlock(&async->lock);
	return error;
}

uint64_t recorder_data_bytes(struct recorder *recorder)
{
	struct async *async = recorder->async;
	if (!async)
		return writer_totals(recorder->writer).data_bytes + recorder_workers_written(recorder);
	pthread_mutex_lock(&async->lock);
	uint64_t bytes = async->data_bytes;
	pthread_mutex_unlock(&async->lock);
	return bytes;
}

void recorder_close_async(struct recorder *recorder)
{
	struct async *async = recorder->async;
	if (!async)
		return;
	error_free(recorder_async_settle(recorder));
	pthread_mutex_lock(&async->lock);
	async->stop = true;
	pthread_cond_signal(&async->filled);
	pthread_mutex_unlock(&async->lock);
	pthread_join(async->thread, NULL);
	for (size_t i = 0; i < async->block_count; i++)
		free(async->blocks[i].data);
	pthread_mutex_destroy(&async->lock);
	pthread_cond_destroy(&async->filled);
	pthread_cond_destroy(&async->freed);
	free(async->blocks);
	free(async);
	recorder->async = NULL;
}

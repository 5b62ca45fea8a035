/* The pages of a large recording, put into the process's page table by a thread of its own while pass 1 goes over the records: the faults
 * would cost pass 1 a fifth of its time, on one processor. It only hints: where it can't, pages come when they are touched. */
#include "session/page_ahead.h"

#include "base/files/mapping.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LARGE = 16 << 20, STEP = 2 << 20 };

struct page_ahead {
	pthread_t thread;
	const uint8_t *data;
	uint64_t size;
	_Atomic bool stop;
};

static void *map_pages(void *context)
{
	struct page_ahead *ahead = context;
	for (uint64_t at = 0; at < ahead->size && !atomic_load(&ahead->stop); at += STEP)
		if (!mapping_populate(ahead->data + at, ahead->size - at < STEP ? ahead->size - at : STEP))
			break;
	return NULL;
}

static bool is_large(const struct reader *reader)
{
	return reader->stable && reader->data_end - reader->data_offset >= LARGE;
}

struct page_ahead *page_ahead_start(const struct reader *reader, unsigned int jobs)
{
	if (!is_large(reader) || jobs < 2)
		return NULL;
	struct page_ahead *ahead = mem_zalloc(sizeof(*ahead));
	ahead->data = reader->records + reader->data_offset;
	ahead->size = reader->data_end - reader->data_offset;
	if (!pthread_create(&ahead->thread, NULL, map_pages, ahead))
		return ahead;
	free(ahead);
	return NULL;
}

void page_ahead_end(struct page_ahead *ahead)
{
	if (!ahead)
		return;
	atomic_store(&ahead->stop, true);
	pthread_join(ahead->thread, NULL);
	free(ahead);
}

/* Reading AUX areas without copying. The protocol is that of rings (ring.c), with bytes instead of records: the kernel moves aux_head when
 * they are there, we move aux_tail when we are done with them.
 *
 * In an area that is overwritten, drivers tell with aux_head either how much was traced altogether (CoreSight) or only where in the buffer
 * they are (Intel PT, BTS, SPE):
 *
 *	  0        position        head            size
 *	  ├─ read ────┤── new ───────┤ 0 0 0 0 0 0 … ┤        the kernel has not come to the end: the memory behind is as it was, zero
 *	  ├─ newer ──────────────────┤── older ──────┤        it has: all of it counts, from the head on */
#include "kernel/aux_area.h"

#include "kernel/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where it is to be mapped is written into the ring's page: behind the ring. A mapping for reading only is one that is overwritten. */
int aux_area_open(struct aux_area *area, const struct ring *ring, size_t pages, bool overwrite)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t offset = page_size + ring_size(ring), size = (uint64_t)pages * page_size;

	ring->page->aux_offset = offset;
	ring->page->aux_size = size;
	void *map = mmap(NULL, size, overwrite ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, (off_t)offset);
	if (map == MAP_FAILED)
		return -errno;
	*area = (struct aux_area){.page = ring->page, .data = map, .size = size, .overwrite = overwrite};
	return 0;
}

void aux_area_close(struct aux_area *area)
{
	if (area->data)
		munmap(area->data, area->size);
	*area = (struct aux_area){0};
}

static bool is_written(const struct aux_area *area, uint64_t from)
{
	static const uint8_t zeros[4096];

	for (uint64_t at = from; at < area->size;) {
		uint64_t left = area->size - at;
		size_t length = left < sizeof(zeros) ? left : sizeof(zeros);
		if (memcmp(area->data + at, zeros, length) != 0)
			return true;
		at += length;
	}
	return false;
}

/* Sets begin and end of what an area that is overwritten holds. */
static void find_newest(struct aux_area *area, uint64_t head)
{
	uint64_t kept = head > area->size ? head - area->size : 0;

	area->begin = area->position > kept ? area->position : kept;
	area->end = head;
	if (head > area->size) /* the driver counts */
		return;
	area->wrapped |= area->position > head || is_written(area, head);
	if (!area->wrapped)
		return;
	area->begin = head;
	area->end = head + area->size;
}

int aux_area_read(struct aux_area *area, uint64_t most, struct iovec pieces[2])
{
	uint64_t head = __atomic_load_n(&area->page->aux_head, __ATOMIC_ACQUIRE);

	area->begin = area->position;
	area->end = head;
	if (area->overwrite)
		find_newest(area, head);
	if (area->end - area->begin > most)
		area->begin = area->end - most;
	uint64_t size = area->end - area->begin, offset = area->begin & (area->size - 1), first = area->size - offset;
	if (!size)
		return 0;
	pieces[0] = (struct iovec){area->data + offset, size < first ? size : first};
	pieces[1] = (struct iovec){area->data, size < first ? 0 : size - first};
	return size <= first ? 1 : 2;
}

void aux_area_consume(struct aux_area *area)
{
	if (area->overwrite) {
		area->position = __atomic_load_n(&area->page->aux_head, __ATOMIC_RELAXED);
		return;
	}
	area->position = area->end;
	__atomic_store_n(&area->page->aux_tail, area->end, __ATOMIC_RELEASE);
}

/* Reading kernel rings without copying. The kernel moves data_head with release order after a record is complete; we move data_tail after
 * we are done with the bytes (include/uapi/linux/perf_event.h describes the protocol). */
#include "kernel/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* An overwrite ring is mapped for reading only: that is how the kernel tells them apart. */
int ring_open(struct ring *ring, int fd, int cpu, size_t pages, bool overwrite)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, (pages + 1) * page_size, overwrite ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	*ring = (struct ring){.fd = fd,
			      .cpu = cpu,
			      .page = map,
			      .data = (uint8_t *)map + page_size,
			      .mask = pages * page_size - 1,
			      .overwrite = overwrite};
	return 0;
}

void ring_close(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->mask + 1 + (size_t)sysconf(_SC_PAGESIZE));
	free(ring->members);
	*ring = (struct ring){.fd = -1};
}

int ring_pieces(const struct ring *ring, uint64_t begin, uint64_t end, struct iovec pieces[2])
{
	if (begin == end)
		return 0;
	uint64_t offset = begin & ring->mask, size = end - begin, first = ring->mask + 1 - offset;
	pieces[0].iov_base = ring->data + offset;
	pieces[0].iov_len = size < first ? size : first;
	if (size <= first)
		return 1;
	pieces[1].iov_base = ring->data;
	pieces[1].iov_len = size - first;
	return 2;
}

/* The end of what a backward ring holds: its records are walked from the newest until they meet unwritten memory or have gone round once,
 * where the oldest one is damaged and left out. */
static uint64_t overwrite_end(const struct ring *ring, uint64_t head)
{
	uint64_t at = head;

	for (;;) {
		/* Records are multiples of 8 bytes and rings of 4096: a header never straddles. */
		const struct perf_event_header *header = (const void *)(ring->data + (at & ring->mask));
		if (at - head >= ring->mask + 1 - sizeof(*header) || header->size < sizeof(*header))
			return at;
		if (at + header->size - head > ring->mask + 1)
			return at;
		at += header->size;
	}
}

/* An overwrite ring has to be paused. Reading it again gives only what has come since. */
int ring_read(struct ring *ring, struct iovec pieces[2])
{
	uint64_t head = ring_head(ring);

	if (!ring->overwrite) {
		ring->end = head;
		return ring_pieces(ring, ring->position, head, pieces);
	}
	/* Only what is newer than the last reading: the head moves down. */
	uint64_t begin = head, end = overwrite_end(ring, head);
	if (ring->position && end - begin > ring->position - begin)
		end = ring->position;
	ring->position = begin;
	ring->end = end;
	return ring_pieces(ring, begin, end, pieces);
}

int ring_read_again(const struct ring *ring, struct iovec pieces[2])
{
	return ring_pieces(ring, ring->position, ring->end, pieces);
}

void ring_consume(struct ring *ring)
{
	if (ring->overwrite)
		return;
	ring->position = ring->end;
	__atomic_store_n(&ring->page->data_tail, ring->end, __ATOMIC_RELEASE);
}

/* Returns 0 or -errno. */
int ring_pause(const struct ring *ring, bool pause)
{
	return ioctl(ring->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause ? 1 : 0) < 0 ? -errno : 0;
}

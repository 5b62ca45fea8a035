/* Reading a BPF ring buffer (BPF_MAP_TYPE_RINGBUF): one buffer for all CPUs, in the order in which room was reserved.
 *
 *	while ((record = bpf_ring_next(&ring, &size)))
 *		…                                  // valid until bpf_ring_release()
 *	bpf_ring_release(&ring);
 *
 * The layout is the kernel's (Documentation/bpf/ringbuf.rst): a page with the reader's position, a page with the writer's, then the data,
 * mapped twice in a row so that no record is torn. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct bpf_ring {
	uint64_t *reader; /* page of the reader's position; NULL = not open */
	const uint64_t *writer;
	const uint8_t *data;
	uint64_t mask; /* size of the data - 1 */
	uint64_t at;   /* where the next record begins */
	size_t page;
	int fd; /* of the map; not owned */
};

/* Maps the ring behind the map `fd`, whose size (a power of two) is `size`. */
struct error *bpf_ring_open(struct bpf_ring *ring, int fd, size_t size);
void bpf_ring_close(struct bpf_ring *ring);
/* The next record and its size; NULL when there is none (yet). */
const void *bpf_ring_next(struct bpf_ring *ring, uint32_t *ret_size);
/* Gives everything that was read back to the kernel. */
void bpf_ring_release(struct bpf_ring *ring);
/* Bytes that have been read, but not given back. */
static inline uint64_t bpf_ring_held(const struct bpf_ring *ring)
{
	return ring->at - *ring->reader;
}

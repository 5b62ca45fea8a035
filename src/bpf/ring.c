/* The reader's side of a BPF ring buffer (ring.h). */
#include "bpf/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

struct error *bpf_ring_open(struct bpf_ring *ring, int fd, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *reader = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (reader == MAP_FAILED)
		return error_system(errno, "cannot map the ring of a BPF program");
	void *writer = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (writer == MAP_FAILED) {
		struct error *error = error_system(errno, "cannot map the ring of a BPF program");
		munmap(reader, page);
		return error;
	}
	*ring = (struct bpf_ring){.reader = reader,
				  .writer = writer,
				  .data = (const uint8_t *)writer + page,
				  .mask = size - 1,
				  .at = *(uint64_t *)reader,
				  .page = page,
				  .fd = fd};
	return NULL;
}

void bpf_ring_close(struct bpf_ring *ring)
{
	if (!ring->reader)
		return;
	munmap(ring->reader, ring->page);
	munmap((void *)ring->writer, ring->page + 2 * (ring->mask + 1));
	ring->reader = NULL;
}

/* Each record has 8 bytes in front: size and two flags, and what the kernel needs to find the page. */
const void *bpf_ring_next(struct bpf_ring *ring, uint32_t *ret_size)
{
	while (ring->at < __atomic_load_n(ring->writer, __ATOMIC_ACQUIRE)) {
		const uint8_t *head = ring->data + (ring->at & ring->mask);
		uint32_t word = __atomic_load_n((const uint32_t *)head, __ATOMIC_ACQUIRE);
		if (word & BPF_RINGBUF_BUSY_BIT)
			return NULL; /* still being written */
		uint32_t size = word & ~BPF_RINGBUF_DISCARD_BIT;
		ring->at += (size + BPF_RINGBUF_HDR_SZ + 7u) & ~7u;
		if (word & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*ret_size = size;
		return head + BPF_RINGBUF_HDR_SZ;
	}
	return NULL;
}

void bpf_ring_release(struct bpf_ring *ring)
{
	__atomic_store_n(ring->reader, ring->at, __ATOMIC_RELEASE);
}

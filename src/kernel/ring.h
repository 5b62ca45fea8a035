/* A ring: one kernel buffer, mapped, that counters write their records into.
 *
 * Forward rings are read from `position` to the kernel's head, and what was read is given back by ring_consume(). Overwrite rings are
 * written backwards by the kernel and never given back: the newest record is first, and what is in them is read while they are paused. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct ring {
	int fd;	      /* of the counter that the ring was mapped on; not owned */
	int cpu;      /* -1 = of a thread */
	size_t place; /* in the target's list of CPUs, or of threads (ring_set.h) */
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t mask;	   /* size - 1 */
	uint64_t position; /* forward: where the next read begins; overwrite: where the last one began */
	uint64_t end;	   /* of the last read */
	bool overwrite;
	/* All counters that write into it, for polling: a descriptor hangs up when its thread ends, though others still write. */
	int *members;
	size_t member_count, member_watched;
	size_t tracer_count; /* the first ones of them trace into an AUX area, which goes with this ring (aux_area.h) */
};

/* Maps `pages` (a power of two) pages of data. Returns 0 or -errno. */
int ring_open(struct ring *ring, int fd, int cpu, size_t pages, bool overwrite);
/* Unmaps it. The descriptor stays open, since it is the counter's. An all-zero ring is fine. */
void ring_close(struct ring *ring);
/* Bytes of data. */
static inline size_t ring_size(const struct ring *ring)
{
	return ring->mask + 1;
}

/* Bytes that wait in a forward ring. */
static inline size_t ring_pending(const struct ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) - ring->position;
}

/* What is in the ring now: 0 to 2 pieces of memory that stay as they are until ring_consume(). A record may straddle the two. */
int ring_read(struct ring *ring, struct iovec pieces[2]);
/* Of a forward ring: what the last ring_read() returned, though more has come; and what lies between two positions that are still in the
 * ring. */
int ring_read_again(const struct ring *ring, struct iovec pieces[2]);
/* Returns how many pieces there are, 0 to 2. */
int ring_pieces(const struct ring *ring, uint64_t begin, uint64_t end, struct iovec pieces[2]);
/* Up to where the kernel has written. */
static inline uint64_t ring_head(const struct ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}
/* Gives what ring_read() returned back to the kernel. */
void ring_consume(struct ring *ring);
/* Stops and restarts the kernel's writing (overwrite rings are read while paused). */
int ring_pause(const struct ring *ring, bool pause);

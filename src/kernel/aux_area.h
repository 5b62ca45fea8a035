/* An AUX area: the buffer into which a PMU traces, beside the ring of its counter (linux/perf_event.h, struct
 * perf_event_mmap_page: aux_head, aux_tail, aux_offset, aux_size).
 *
 * A full trace is read from `position` to the kernel's head, and what was read is given back by aux_area_consume(); the kernel
 * stops tracing where there is no room. An area that is overwritten is never given back: the kernel goes round and round, and
 * what it holds is read while nothing is traced. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct ring;

struct aux_area {
	struct perf_event_mmap_page *page; /* of the ring that it goes with; not owned */
	uint8_t *data;
	uint64_t size;	     /* a power of two */
	uint64_t position;   /* what comes before has been read */
	uint64_t begin, end; /* of the last read; without regard to the size */
	bool overwrite;
	bool wrapped; /* overwritten: the kernel has come to its end once */
};

/* Maps `pages` (a power of two) pages behind those of a forward ring, which is mapped on a counter that traces. Returns 0 or -errno. */
int aux_area_open(struct aux_area *area, const struct ring *ring, size_t pages, bool overwrite);
/* An all-zero area is fine. Before the ring is closed. */
void aux_area_close(struct aux_area *area);

/* What has come since the last reading: 0 to 2 pieces of memory that stay as they are until aux_area_consume(). Of an area that is
 * overwritten the newest `most` bytes, while nothing is traced; what was read before may be in it once more, since where the kernel was
 * doesn't tell how often it has gone round. */
int aux_area_read(struct aux_area *area, uint64_t most, struct iovec pieces[2]);
/* Gives it back to the kernel. */
void aux_area_consume(struct aux_area *area);

/* Which block device a thread waits for. A request for one device becomes others for devices below it, until one has the data:
 *
 *	pread(/dev/md0) ─► bio of md0 ─► remapped to dm-1 ─► remapped to ram1
 *	                   30.0 ms       30.0 ms             0.1 ms
 *
 * Each is followed from block_bio_queue or block_bio_remap to block_bio_complete. Of those that end while the thread waits, the slowest
 * tells: of several that take as long, within a tenth, the one that was made last, which is the lowest. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

struct where_wait;

/* The values of the events' fields, in this order: dev, sector, nr_sector, and of a remap the old dev and sector. */
enum where_bio { WHERE_BIO_QUEUE, WHERE_BIO_REMAP, WHERE_BIO_COMPLETE };

/* All zero is empty. */
struct where_devices {
	VEC(struct where_open_bio) bios; /* under way, and free places */
	VEC(uint32_t) unused;		 /* places in `bios` */
	struct map64 by_start, by_end;	 /* device and sector → place in `bios` */
	VEC(struct where_waiting) waiting;
	struct map64 by_thread; /* → place in `waiting` */
};

void where_devices_deinit(struct where_devices *devices);
void where_devices_bio(struct where_devices *devices, enum where_bio what, const uint64_t *values, uint32_t tid, uint64_t time);
/* The thread begins to wait. */
void where_devices_wait(struct where_devices *devices, uint32_t tid);
/* It has ended: fills the wait's devices. */
void where_devices_name(const struct where_devices *devices, uint32_t tid, struct where_wait *wait);

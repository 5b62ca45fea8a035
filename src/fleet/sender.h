/* Batches on their way to a sink: kept on disk until the engine has them, sent in order, never twice.
 *
 *	sender_encode() ──► sender_keep() ──► spool (a folder) ──thread──► fleet_sink_send()
 *
 * A batch is in the spool when sender_keep() returns, and is sent by a thread of the sender's; after SINK_LATER the same batch is tried
 * again, at growing distances (1 s to 60 s, or as the engine says) with chance in them, so that a thousand agents don't come back at
 * once. The spool is bounded: the oldest batches are dropped for newer ones, and counted, but not the very first, of which the engine may
 * have a part, before many attempts have failed: where it and the newest one don't fit together, the spool has both, and is larger than its
 * limit. Who is killed at any moment finds the rest of the spool again.
 */
#pragma once

#include "base/error.h"
#include "fleet/sink.h"

#include <stdint.h>

struct sender_options {
	struct fleet_sink *sink; /* used by the sender's thread: encode() must be safe beside send() */
	const char *folder;	 /* of the spool, made when it isn't there (0700); NULL = none: batches wait in memory */
	uint64_t limit;		 /* bytes of the spool; 0 = 256 MiB */
	unsigned int delay_ms;	 /* the first distance between two attempts; the longest is 60 times that; 0 = 1,000 */
	unsigned int hopeless;	 /* after so many failed attempts in a row the very first batch is dropped for newer ones, too; 0 = 240 */
};

/* Since sender_open(), but for `ever`. What was put, and what was found in the folder, is sent, dropped or waits: nothing else happens to
 * it. */
struct sender_counts {
	uint64_t found_batches, found_samples;		     /* of an earlier process */
	uint64_t batches, samples;			     /* given to sender_keep() or sender_drop() */
	uint64_t sent_batches, sent_samples;		     /* taken by the engine */
	uint64_t dropped_batches, dropped_samples;	     /* for want of room, damaged, or refused by the engine */
	uint64_t ever_dropped_batches, ever_dropped_samples; /* since the folder was made */
	uint64_t waiting_batches, waiting_samples, waiting_bytes;
	uint64_t attempts_failed;
	char why[256]; /* the last attempt failed, or "" */
};

struct sender;

/* Batches of an earlier process in the folder are sent first. Another process that has the folder is an error. */
struct error *sender_open(const struct sender_options *options, struct sender **ret);
/* Waits at most so long for what is on its way; what isn't sent then stays in the folder. */
void sender_close(struct sender *sender, unsigned int wait_ms);
/* The sink's, as the configuration calls it. */
const char *sender_name(const struct sender *sender);

/* A window in the form of the sink. */
struct sender_batch {
	uint8_t id[16]; /* the window's */
	uint64_t samples;
	struct strbuf bytes;
};

/* Waits for nothing. To be deinitialized also after an error, when it has no bytes; then it is to be given to sender_drop(). */
struct error *sender_encode(const struct sender *sender, const struct window *window, struct sender_batch *ret);
void sender_batch_deinit(struct sender_batch *batch);
/* Puts it into the spool: waits for the disk. An error: it is dropped, and counted so. */
struct error *sender_keep(struct sender *sender, const struct sender_batch *batch);
/* It won't be kept, and is counted so: waits for the disk, too. */
void sender_drop(struct sender *sender, const struct sender_batch *batch);
/* Waits for nothing. */
void sender_counts(struct sender *sender, struct sender_counts *ret);

/* Batches on their way to a sink: kept on disk until the engine has them, sent in order, never twice.
 *
 *	sender_put() ──► spool (a folder) ──thread──► fleet_sink_send()
 *
 * A batch is in the spool when sender_put() returns, and is sent by a thread of the sender's; after SINK_LATER the same batch is tried
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
	uint64_t batches, samples;			     /* put */
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
/* Encodes the window and puts it into the spool. An error: the window is dropped, and counted so. */
struct error *sender_put(struct sender *sender, const struct window *window);
void sender_counts(struct sender *sender, struct sender_counts *ret);

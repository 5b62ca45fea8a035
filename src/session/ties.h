/* Samples that have the very time of a side-band record. The finished model is asked with a time alone, and would answer as if the record
 * had come first: a sample of the old name of a thread that gets a new one in the same nanosecond would be credited to the new one. Among
 * equal times the file's order decides (session.h), so the model is asked with the time before, where all such records lie behind the
 * sample.
 *
 *	file:	sample (17)   COMM (17)   sample (17)
 *	asked:	       16                        17
 */
#pragma once

#include "session/order.h"

#include <stddef.h>
#include <stdint.h>

/* All zero is none. */
struct ties {
	order_items records; /* of side-band, ascending */
};

void ties_deinit(struct ties *ties);
/* Takes over the list of side-band records, in the order of time, then of the file. */
void ties_take(struct ties *ties, order_items *records);
/* Moves `*near` to the first record that isn't older than `time`. */
void ties_seek(const struct ties *ties, uint64_t time, size_t *near);

/* What to ask the model with for the sample at `offset`. `*near`, 0 at first, is where the records lay that the caller's last sample came
 * before: they are sought from there on, since samples that follow one another in the file are rarely far from one another in time. */
static inline uint64_t ties_time(const struct ties *ties, uint64_t time, uint64_t offset, size_t *near)
{
	const struct order_item *records = ties->records.data;
	size_t count = ties->records.len, at = *near;

	if ((at && records[at - 1].time >= time) || (at < count && records[at].time < time)) {
		ties_seek(ties, time, near);
		at = *near;
	}
	return at < count && records[at].time == time && records[at].offset > offset ? time - 1 : time;
}

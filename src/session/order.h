/* The round sorter: records in the order of their time, from a stream that is ordered only roughly, in bounded memory.
 *
 * The contract that the recorder keeps: it drains the rings of all CPUs one after the other, and writes FINISHED_ROUND when it has been
 * through all of them, but not sooner after the last one than a record may be late (rounds.h). A record with a time before the end of round
 * N is drained in round N + 1 at the latest: rounds N and N + 2 do not overlap in time.
 *
 *	round 1            round 2            round 3
 *	cpu 0: 1 2 3       cpu 0: 4 6 8       cpu 0: 9 12
 *	cpu 1: 2           cpu 1: 3 5 7       cpu 1: 8 11
 *	         │                  │                  │
 *	newest = 3         out: 1 2 2 3 3     out: 4 5 6 7 8 8
 *	                   newest = 8         newest = 12          end: 9 11 12
 *
 * So after round N everything not newer than the newest record of round N - 1 can go. A stream that breaks the contract isn't refused: what
 * comes late goes out with the next round, out of order, as in the kernel's perf. A stream without rounds is sorted as a whole at its end.
 *
 * Held are pairs (time, offset), 16 bytes for each record, never the records.
 */
#pragma once

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct order_item {
	uint64_t time;
	uint64_t offset; /* in the stream: tells the record, and decides between equal times */
};

typedef VEC(struct order_item) order_items;

/* Sorted items from `at` on. */
struct order_run {
	order_items items;
	size_t at;
};

/* All zero is an empty one. */
struct order {
	order_items incoming; /* since the last round, as they came */
	order_items scratch;
	order_items spare;	    /* of a run that is gone: the memory */
	VEC(size_t) bounds;	    /* of ascending stretches, while sorting */
	VEC(struct order_run) runs; /* of earlier rounds; each at least twice as long as the next */
	struct order_run ready[2];  /* what may go: two runs, merged on the way out */
	size_t held;		    /* items in incoming and runs */
	uint64_t newest;	    /* time of the newest held one */
	uint64_t limit;		    /* `newest` at the end of the last round */
	uint64_t released;	    /* … of the round before: nothing that isn't newer is held any more */
	bool passed;		    /* an item that order_pass() took would still be held: the newest such has the time … */
	uint64_t newest_passed;
};

/* Of items that follow one another. */
struct order_times {
	uint64_t newest;
	bool passed; /* some are passed over, as by order_pass(); the newest of them has the time … */
	uint64_t newest_passed;
};

void order_deinit(struct order *order);
/* Offsets must grow. */
void order_push(struct order *order, uint64_t time, uint64_t offset);
/* Instead of order_push(), for what nobody asks for: the others come as if it were there. */
void order_pass(struct order *order, uint64_t time);
static inline void order_times_pass(struct order_times *times, uint64_t time)
{
	if (!times->passed || time > times->newest_passed)
		times->newest_passed = time;
	times->passed = true;
}
/* Many at once: order_push() for each of them, and order_pass() for those that `times` tells of as well. */
void order_push_all(struct order *order, const struct order_item *items, size_t count, const struct order_times *times);
/* A round is finished: what may go becomes ready. Nothing must be ready any more. */
void order_finish_round(struct order *order);
/* The stream is finished: all becomes ready. */
void order_finish(struct order *order);

/* Takes up to `room` of those that may go; returns how many. */
size_t order_take(struct order *order, struct order_item *ret, size_t room);
/* The same, all of them, where they lie: valid until the next round is finished. */
const struct order_item *order_take_all(struct order *order, size_t *ret_count);
/* The next one that may go; false when there is none. */
static inline bool order_pop(struct order *order, struct order_item *ret)
{
	return order_take(order, ret, 1);
}

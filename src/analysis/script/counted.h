/* Counts of a recording of `perf stat record`, round by round: what `perf script` shows of them, and hands to scripts.
 *
 * The rows of a round have, as the kernel tool gives them, what was counted since the round before, scaled up where a counter shared its
 * hardware; where the recording adds everything up (no --per-… and no -A): the counts since the beginning when each cell is shown, and one
 * row of an event with the round's sum when `sums` is set.
 */
#pragma once

#include "perfdata/reader.h"

#include <stdbool.h>
#include <stdint.h>

struct counted;

struct counted_row {
	const struct event *event;
	int32_t cpu, thread; /* -1 = any, or all of them */
	uint64_t time_ns;    /* since counting began */
	uint64_t value, enabled_ns, running_ns;
};

/* The reader must outlive it. */
struct counted *counted_create(const struct reader *reader, bool sums);
void counted_destroy(struct counted *counted);
/* Looks at a record, of any type, in the order of the file. True when it ended a round: its rows can be taken, and *ret_time_ns is when
 * that was. */
bool counted_take(struct counted *counted, const struct record_header *header, uint64_t *ret_time_ns);
/* The next row of the round: by event, thread and CPU. False after the last one. */
bool counted_next(struct counted *counted, struct counted_row *ret);

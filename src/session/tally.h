/* A tally: how many records of each kind a recording has. Nothing but record headers is read, and of samples the id where there are several
 * events. */
#pragma once

#include "session/session.h"

struct tally {
	uint64_t records[256]; /* by type; 0 = all types above 255; those that were unpacked and the records that they were packed in */
	struct event_counts *events; /* by event index; only samples and lost_samples are filled */
};

/* Counts all records behind the reader's place; afterwards a pipe is at its end. */
struct error *tally_records(struct reader *reader, struct tally *ret);
void tally_deinit(struct tally *tally);

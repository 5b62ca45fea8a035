/* The records in the pieces of a ring, one after the other. */
#pragma once

#include "perfdata/records.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct ring_records {
	const struct iovec *pieces;
	size_t at, first, end; /* bytes: the next record, those of the first piece, all */
	uint64_t straddling[(1 << 16) / sizeof(uint64_t)];
};

void ring_records_init(struct ring_records *records, const struct iovec *pieces, int count);
/* Valid until the next call; NULL = that was the last one. */
const struct record_header *ring_records_next(struct ring_records *records);

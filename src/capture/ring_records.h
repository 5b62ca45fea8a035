/* The records in the pieces of a ring, one after the other. */
#pragma once

#include "base/strbuf.h"
#include "perfdata/records.h"

#include <stdbool.h>
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

/* Whether the kernel has made one of the records too long (record_excess()), so that its trailer isn't where others look for it: at the
 * end. They give up a recording whose ids they don't know. `trailer`: bytes. */
bool ring_records_too_long(const struct iovec *pieces, int count, size_t trailer);
/* Appends the records with what is too much cut off. */
void ring_records_cut(const struct iovec *pieces, int count, size_t trailer, struct strbuf *out);

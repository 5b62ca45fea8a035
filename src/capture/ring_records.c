/* Records lie as they are in the ring, but for the one that straddles its end: that one is put together. Headers lie at multiples of 8
 * bytes, so that none straddles (kernel/ring.c). */
#include "capture/ring_records.h"

#include "perfdata/layout.h"

#include <string.h>

void ring_records_init(struct ring_records *records, const struct iovec *pieces, int count)
{
	records->pieces = pieces;
	records->at = 0;
	records->first = count ? pieces[0].iov_len : 0;
	records->end = count > 1 ? records->first + pieces[1].iov_len : records->first;
}

const struct record_header *ring_records_next(struct ring_records *records)
{
	size_t at = records->at, first = records->first;

	if (at >= records->end)
		return NULL;
	const char *from =
		at < first ? (const char *)records->pieces[0].iov_base + at : (const char *)records->pieces[1].iov_base + (at - first);
	const struct record_header *header = (const void *)from;
	size_t size = header->size;
	if (size < sizeof(*header) || size > records->end - at) /* the kernel writes no such record */
		return NULL;
	records->at += size;
	if (at >= first || size <= first - at)
		return header;
	memcpy(records->straddling, from, first - at);
	memcpy((char *)records->straddling + (first - at), records->pieces[1].iov_base, size - (first - at));
	return (const void *)records->straddling;
}

bool ring_records_too_long(const struct iovec *pieces, int count, size_t trailer)
{
	struct ring_records records;
	const struct record_header *header;
	ring_records_init(&records, pieces, count);
	while ((header = ring_records_next(&records)))
		if (record_excess(header, trailer))
			return true;
	return false;
}

void ring_records_cut(const struct iovec *pieces, int count, size_t trailer, struct strbuf *out)
{
	struct ring_records records;
	const struct record_header *header;
	ring_records_init(&records, pieces, count);
	while ((header = ring_records_next(&records))) {
		size_t at = out->len, size = header->size - record_excess(header, trailer);
		strbuf_add(out, header, size);
		((struct record_header *)(out->data + at))->size = (uint16_t)size;
	}
}

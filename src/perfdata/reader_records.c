/* Handing out the records of a recording that is open: those that lie in a mapping one by one, those of a stream by chunks. */
#include "perfdata/reader.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "perfdata/reader_internal.h"
#include "perfdata/record_fields.h"
#include "perfdata/stream.h"
#include "perfdata/swap.h"

#include <stdlib.h>
#include <string.h>

/* No recorder makes files in which many records are misaligned: they are rare, or somebody wants to fill our memory. */
enum { COPIES_MAX = 1 << 20 };

static struct record_header *copy_record(struct arena *arena, const void *record, uint16_t size)
{
	struct record_header *copy = arena_copy(arena, record, size);
	copy->size = size; /* whatever it has become */
	return copy;
}

/* A record that doesn't begin at a multiple of 8: its aligned copy, the same one each time. NULL: there are too many. */
static const struct record_header *aligned_copy(struct reader *reader, uint64_t offset, uint16_t size)
{
	struct reader_private *private = reader->private;
	pthread_mutex_lock(&private->copies_lock);
	bool fresh;
	uint64_t *slot = map64_insert(&private->copies, offset, &fresh);
	if (fresh && private->copies.count <= COPIES_MAX)
		*slot = (uintptr_t)copy_record(&private->copies_arena, reader->records + offset, size);
	const void *copy = (const void *)(uintptr_t)*slot;
	pthread_mutex_unlock(&private->copies_lock);
	return copy;
}

/* … in the mapping, which is native; spooling took formats out. */
static uint64_t payload_size(const struct reader *reader, const struct record_header *header)
{
	bool has_some =
		header->type == RECORD_AUXTRACE || (header->type == RECORD_HEADER_TRACING_DATA && !reader->private->formats_removed);
	return !has_some ? 0 : reader_payload_size(reader, header, header + 1, false);
}

const void *reader_trace(const struct reader *reader, const struct record_header *header, uint64_t offset, uint64_t *ret_size)
{
	if (!reader->stable || header->type != RECORD_AUXTRACE || offset > reader->data_end || header->size > reader->data_end - offset)
		return NULL;
	uint64_t size = payload_size(reader, header), left = reader->data_end - offset - header->size;
	*ret_size = size < left ? size : left;
	return size <= left ? reader->records + offset + header->size : NULL;
}

/* Nothing is written on later passes: several threads make them. */
static void note_truncated(struct reader *reader, bool note)
{
	if (note)
		reader->diagnostics.truncated = true;
}

/* Whether a record is handed out; what is wrong with it is noted. `at` is where it begins. */
static bool accept_record(struct reader *reader, const struct record_header *header, uint64_t at, bool note)
{
	const struct record_kind *kind = record_kind(header->type);
	if (!kind) {
		if (note)
			reader->diagnostics.unknown_records++;
		return false;
	}
	const char *broken = record_check(kind, header);
	if (broken && note)
		reader_diagnostics_note(&reader->diagnostics, at, broken);
	return !broken;
}

void reader_apply_record(struct reader *reader, const struct record_header *header, uint64_t end)
{
	if (header->type == RECORD_HEADER_TRACING_DATA) {
		uint64_t size = payload_size(reader, header);
		if (size && size <= end - reader->data_offset)
			reader_load_formats(reader, reader->records + end - size, size);
		return;
	}
	uint16_t size = mapping_u16(&header->size);
	if (size < sizeof(*header))
		return;
	struct record_header *copy = mem_alloc(size);
	memcpy(copy, header, size);
	copy->size = size;
	/* What it is may have changed since it was accepted. */
	const struct record_kind *kind = record_kind(copy->type);
	if (kind && !record_check(kind, copy))
		reader_apply_header(reader, copy, false);
	free(copy);
}

bool reader_changed(const struct reader *reader)
{
	const struct reader_private *private = reader->private;
	bool changed = reader->diagnostics.changed || mapping_lost_pages(&private->file);
	for (size_t i = 0; i < private->directory_files.len; i++)
		changed |= mapping_lost_pages(&private->directory_files.data[i]);
	return changed;
}

const struct record_header *reader_record_copy(const struct reader *reader, uint64_t offset, void *copy)
{
	struct record_header *header = copy;
	if (offset >= reader->data_end || reader->data_end - offset < sizeof(*header))
		return NULL;
	memcpy(header, reader->records + offset, sizeof(*header));
	uint16_t size = header->size;
	const struct record_kind *kind = record_kind(header->type);
	if (!kind || size < sizeof(*header) || size > reader->data_end - offset)
		return NULL;
	memcpy(header + 1, reader->records + offset + sizeof(*header), size - sizeof(*header));
	return record_check(kind, header) ? NULL : header;
}

/* Records of the recorder's that describe no events: they are handed out, and that is all. Recordings that were put together of several
 * have such in their midst. */
static bool describes_nothing(const struct reader *reader, const struct record_header *header)
{
	const uint32_t type = mapping_u32(&header->type);
	switch (type) {
	case RECORD_ID_INDEX:
		return !reader_is_vendor_feature(reader, type) && !reader_tells_guests(header);
	case RECORD_FINISHED_ROUND:
	case RECORD_FINISHED_INIT:
	case RECORD_THREAD_MAP:
	case RECORD_CPU_MAP:
	case RECORD_TIME_CONV:
		return !reader_is_vendor_feature(reader, type);
	}
	return false;
}

bool reader_is_plain(const struct reader *reader, uint64_t offset)
{
	if (offset & 7 || offset >= reader->data_end || reader->data_end - offset < sizeof(struct record_header))
		return false;
	const struct record_header *header = (const struct record_header *)(reader->records + offset);
	if (header->size < sizeof(*header) || header->size > reader->data_end - offset)
		return false;
	uint32_t type = mapping_u32(&header->type);
	const struct record_kind *kind = type < RECORD_USER_START || describes_nothing(reader, header) ? record_kind(type) : NULL;
	return kind && !record_check(kind, header);
}

const struct record_header *reader_record(struct reader *reader, uint64_t *offset, bool note)
{
	for (;;) {
		uint64_t at = *offset;
		struct record_header head;
		if (at >= reader->data_end || reader->data_end - at < sizeof(head)) {
			note_truncated(reader, note && at < reader->data_end);
			return NULL;
		}
		memcpy(&head, reader->records + at, sizeof(head));
		if (head.size < sizeof(head) || head.size > reader->data_end - at) {
			note_truncated(reader, note);
			return NULL;
		}
		const struct record_header *header = (const struct record_header *)(reader->records + at);
		if (at & 7 && !(header = aligned_copy(reader, at, head.size))) {
			note_truncated(reader, note);
			return NULL;
		}
		uint64_t payload = payload_size(reader, header);
		uint64_t left = reader->data_end - at - head.size;
		if (payload > left) {
			payload = left;
			note_truncated(reader, note);
		}
		*offset = at + head.size + payload;
		if (note && head.type == RECORD_AUXTRACE)
			reader->diagnostics.auxtrace_bytes += payload;
		if (!accept_record(reader, header, at, note))
			continue;
		/* Events are known before the first record that describes none: whoever reads has tables of their number by then. */
		if (note && head.type >= RECORD_USER_START && head.type != RECORD_HEADER_ATTR && at >= reader->private->headers_done &&
		    reader_is_header_record(reader, head.type) && !describes_nothing(reader, header)) {
			reader->private->headers_done = *offset;
			reader_apply_record(reader, header, *offset);
			reader_settle_headers(reader);
		}
		return header;
	}
}

/* ── Streaming ── */

struct error *reader_next_chunk(struct reader *reader, struct reader_chunk **ret)
{
	struct reader_private *private = reader->private;
	if (private->feed.next)
		return reader_next_fed(reader, ret);
	if (private->first_chunk) {
		*ret = take_pointer(private->first_chunk);
		return NULL;
	}
	*ret = NULL;
	return private->stream ? stream_fill(private->stream, false, ret) : NULL;
}

void reader_chunk_release(struct reader_chunk *chunk)
{
	stream_chunk_free(chunk);
}

void reader_forget(const struct reader *reader, uint64_t from, uint64_t to)
{
	if (reader->stable && from < to && to <= reader->data_end)
		mapping_forget(reader->records + from, to - from);
}

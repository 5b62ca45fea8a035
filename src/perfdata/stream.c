/* The way of every input that isn't plain:
 *
 *	pipe, memory ─► raw record ─► COMPRESSED? ─► inflate ─► record ─┐
 *	                     └───────────────────────────────► record ─┴─► swap ─► apply headers ─► chunk
 *
 * Memory is bounded whatever the input says: a raw record has at most 64 KB, inflating stops whenever the chunk is full and goes on with
 * the next one, and payloads are passed over in pieces.
 *
 * Not done here: where chunks go (reader.c: to a temporary file, or to the caller). */
#include "perfdata/stream.h"
#include "perfdata/compress.h"
#include "perfdata/record_fields.h"
#include "perfdata/swap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CHUNK_TARGET = 1 << 20,	   /* a chunk is given out when it is as long */
	HEADERS_MAX = 64 << 20,	   /* … or as long without a record that isn't of the headers: those of all tracepoints are some MB */
	INFLATE_BLOCK = 128 << 10, /* room for each step of inflating */
	READ_SIZE = 256 << 10,
	TRACING_DATA_MAX = 256 << 20,
	INFLATE_FACTOR = 1000, /* no honest recording shrinks more than that */
};

struct piece {
	const uint8_t *data;
	size_t size;
};

struct stream {
	struct reader *reader;
	int fd;			  /* -1: memory */
	VEC(struct piece) pieces; /* memory that is still to come, newest last */
	size_t next_piece;
	const uint8_t *at; /* what was read and not used yet */
	size_t left;
	uint8_t *buffer; /* fd: where that lies */
	bool ended;
	uint64_t position;
	bool keeps_traces;
	uint64_t trace; /* bytes to copy before the next record */
	uint64_t skip;	/* bytes to pass over before it */

	struct decompressor *decompressor;
	uint8_t packed_copy[UINT16_MAX]; /* of the record being inflated: nobody writes to it meanwhile */
	struct compress_input packed;
	bool inflating;
	size_t packed_record; /* its size: used up when done */
	VEC(uint8_t) inflated;
	size_t inflated_at;
	uint64_t inflated_total, packed_total;

	struct reader_chunk *chunk;
	size_t chunk_room;
	bool past_headers;
};

static struct stream *create(struct reader *reader)
{
	struct stream *stream = mem_zalloc(sizeof(*stream));
	stream->reader = reader;
	stream->fd = -1;
	return stream;
}

struct stream *stream_create_fd(struct reader *reader, int fd, const void *begun, size_t begun_size)
{
	struct stream *stream = create(reader);
	stream->fd = fd;
	stream->buffer = mem_alloc(READ_SIZE);
	memcpy(stream->buffer, begun, begun_size);
	stream->at = stream->buffer;
	stream->left = begun_size;
	return stream;
}

struct stream *stream_create_memory(struct reader *reader, const void *data, size_t size)
{
	struct stream *stream = create(reader);
	stream->at = data;
	stream->left = size;
	return stream;
}

void stream_add_memory(struct stream *stream, const void *data, size_t size)
{
	vec_push(&stream->pieces, (struct piece){data, size});
}

void stream_keep_traces(struct stream *stream, bool kept)
{
	stream->keeps_traces = kept;
}

void stream_destroy(struct stream *stream)
{
	if (!stream)
		return;
	if (stream->fd >= 0)
		close(stream->fd);
	decompressor_destroy(stream->decompressor);
	stream_chunk_free(stream->chunk);
	vec_deinit(&stream->pieces);
	vec_deinit(&stream->inflated);
	free(stream->buffer);
	free(stream);
}

void stream_chunk_free(struct reader_chunk *chunk)
{
	if (!chunk)
		return;
	free((void *)chunk->data);
	free(chunk);
}

uint64_t stream_position(const struct stream *stream)
{
	return stream->position;
}

/* ── Input ── */

/* Reads once; *ret_any says whether something came. */
static struct error *read_more(struct stream *stream)
{
	memmove(stream->buffer, stream->at, stream->left);
	stream->at = stream->buffer;
	for (;;) {
		ssize_t got = read(stream->fd, stream->buffer + stream->left, READ_SIZE - stream->left);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_system(errno, "reading %s", stream->reader->path);
		stream->ended = !got;
		stream->left += (size_t)got;
		return NULL;
	}
}

static bool have_something(const struct stream *stream)
{
	return stream->chunk && stream->chunk->size && stream->past_headers;
}

enum peeked { PEEKED, PEEK_LATER, PEEK_END, PEEK_ERROR };

/* Makes at least `size` bytes (at most READ_SIZE) lie at stream->at. Rather gives what there is so far than wait for more. */
static enum peeked peek(struct stream *stream, size_t size, struct error **ret_error)
{
	while (stream->left < size) {
		if (stream->fd < 0 || stream->ended)
			return PEEK_END;
		if (have_something(stream))
			return PEEK_LATER;
		if ((*ret_error = read_more(stream)))
			return PEEK_ERROR;
	}
	return PEEKED;
}

static void use_up(struct stream *stream, size_t size)
{
	stream->at += size;
	stream->left -= size;
	stream->position += size;
}

/* The next file of a directory, when this one is at its end. */
static bool next_piece(struct stream *stream)
{
	if (stream->next_piece == stream->pieces.len)
		return false;
	const struct piece *piece = &stream->pieces.data[stream->next_piece++];
	stream->at = piece->data;
	stream->left = piece->size;
	stream->inflated.len = stream->inflated_at = 0;
	if (stream->decompressor)
		decompressor_reset(stream->decompressor);
	return true;
}

/* ── Output ── */

static void note_broken(struct stream *stream, const char *what)
{
	reader_diagnostics_note(&stream->reader->diagnostics, stream->position, what);
}

static struct record_header *chunk_add(struct stream *stream, const void *record, size_t size)
{
	size_t padded = (size + 7) & ~(size_t)7;
	if (!stream->chunk) {
		stream->chunk = mem_zalloc(sizeof(*stream->chunk));
		stream->chunk->offset = stream->position;
		stream->chunk_room = 0;
	}
	struct reader_chunk *chunk = stream->chunk;
	if (stream->chunk_room - chunk->size < padded) {
		stream->chunk_room = stream->chunk_room ? 2 * stream->chunk_room : 2 * UINT16_MAX + 2;
		chunk->data = mem_resize((void *)chunk->data, stream->chunk_room);
	}
	uint8_t *at = (uint8_t *)chunk->data + chunk->size;
	memcpy(at, record, size);
	memset(at + size, 0, padded - size);
	chunk->size += padded;
	return (struct record_header *)at;
}

/* Hardware trace, in multiples of 8 bytes: it goes behind its record as it is. False: not possible now, `*ret` says why. */
static bool copy_trace(struct stream *stream, enum peeked *ret, struct error **ret_error)
{
	enum { PART_MAX = UINT16_MAX & ~7 };
	while (stream->trace && (!stream->chunk || stream->chunk->size < CHUNK_TARGET)) {
		*ret = peek(stream, 8, ret_error);
		if (*ret != PEEKED) {
			stream->reader->diagnostics.truncated |= *ret == PEEK_END;
			return false;
		}
		size_t size = stream->trace < stream->left ? stream->trace : stream->left & ~(size_t)7;
		if (size > PART_MAX)
			size = PART_MAX;
		chunk_add(stream, stream->at, size);
		use_up(stream, size);
		stream->trace -= size;
	}
	return true;
}

/* What follows the AUXTRACE record that was added last, if it was. It is passed over where nothing describes it, and where its size is no
 * multiple of 8, so that what comes then would lie askew: its record says that there is none. */
static void note_trace(struct stream *stream, const struct record_header *head, uint64_t size)
{
	struct reader_chunk *chunk = stream->chunk;
	struct record_auxtrace *record = chunk && chunk->size >= head->size ? (void *)(chunk->data + chunk->size - head->size) : NULL;
	bool is_there = record && head->size % 8 == 0 && memcmp(&record->header, head, sizeof(*head)) == 0;
	if (is_there && size % 8 == 0 && stream->reader->private->traced) {
		stream->trace = size;
		return;
	}
	stream->skip = size;
	if (is_there)
		record->size = 0;
}

/* One whole record, header native, the rest as it came: checks it, makes it native, and adds it to the chunk. */
static void take_record(struct stream *stream, const struct record_header *head, const uint8_t *record)
{
	struct reader *reader = stream->reader;
	const struct record_kind *kind = reader_is_vendor_feature(reader, head->type) ? NULL : record_kind(head->type);
	bool describes = reader_is_header_record(reader, head->type);
	if (!kind && !describes) {
		reader->diagnostics.unknown_records++;
		return;
	}
	size_t padded = (head->size + 7u) & ~7u;
	if (padded > UINT16_MAX) {
		note_broken(stream, "size is not a multiple of 8");
		return;
	}
	if (!describes)
		reader_settle_headers(reader);
	struct record_header *header = chunk_add(stream, record, head->size);
	*header = *head;
	const char *broken = kind ? record_check(kind, header) : NULL;
	if (broken) {
		note_broken(stream, broken);
		stream->chunk->size -= padded;
		return;
	}
	if (describes)
		reader_apply_header(reader, header, reader->swapped);
	if (reader->swapped)
		swap_record(reader, header);
	header->size = (uint16_t)padded;
	stream->past_headers |= !describes;
}

/* ── Inflating ── */

static bool read_head(const struct stream *stream, const uint8_t *at, struct record_header *ret)
{
	memcpy(ret, at, sizeof(*ret));
	if (stream->reader->swapped)
		swap_header(ret);
	return ret->size >= sizeof(*ret);
}

/* Gives out the whole records among the inflated bytes. False when these aren't records any more. */
static bool take_inflated(struct stream *stream)
{
	struct record_header head;
	for (;;) {
		size_t left = stream->inflated.len - stream->inflated_at;
		const uint8_t *at = stream->inflated.data + stream->inflated_at;
		if (left < sizeof(head))
			break;
		if (!read_head(stream, at, &head))
			return false;
		if (head.size > left)
			break;
		if (head.type != RECORD_COMPRESSED && head.type != RECORD_COMPRESSED2)
			take_record(stream, &head, at);
		stream->inflated_at += head.size;
	}
	if (!stream->inflated_at)
		return true;
	stream->inflated.len -= stream->inflated_at;
	memmove(stream->inflated.data, stream->inflated.data + stream->inflated_at, stream->inflated.len);
	stream->inflated_at = 0;
	return true;
}

static void begin_inflating(struct stream *stream, const struct record_header *head)
{
	memcpy(stream->packed_copy, stream->at + sizeof(*head), head->size - sizeof(*head));
	const uint8_t *data = stream->packed_copy;
	size_t size = head->size - sizeof(*head);
	stream->reader->unpacked[head->type == RECORD_COMPRESSED2]++;
	if (head->type == RECORD_COMPRESSED2) {
		uint64_t given;
		if (size < sizeof(given)) {
			note_broken(stream, "record too short for its type");
			use_up(stream, head->size);
			return;
		}
		memcpy(&given, data, sizeof(given));
		given = stream->reader->swapped ? __builtin_bswap64(given) : given;
		data += sizeof(given);
		size -= sizeof(given);
		size = given < size ? given : size;
	}
	if (!stream->decompressor)
		stream->decompressor = decompressor_create();
	stream->packed = (struct compress_input){data, size};
	stream->packed_record = head->size;
	stream->packed_total += size;
	stream->inflating = true;
}

static void end_inflating(struct stream *stream)
{
	stream->inflating = false;
	use_up(stream, stream->packed_record);
}

/* One step: up to a block of bytes, and the records in them. Damaged data ends the stream, since all that follows builds on it. */
static void inflate(struct stream *stream)
{
	bool more = false;
	vec_reserve(&stream->inflated, stream->inflated.len + INFLATE_BLOCK);
	ssize_t got = decompressor_step(stream->decompressor, &stream->packed, stream->inflated.data + stream->inflated.len, INFLATE_BLOCK,
					&more);
	if (got > 0) {
		stream->inflated.len += (size_t)got;
		stream->inflated_total += (uint64_t)got;
	}
	bool too_much = stream->inflated_total / INFLATE_FACTOR > stream->packed_total + (64 << 10);
	if (got < 0 || too_much || !take_inflated(stream)) {
		note_broken(stream, "damaged compressed data");
		end_inflating(stream);
		stream->left = 0;
		stream->ended = true;
		stream->inflated.len = stream->inflated_at = 0;
		return;
	}
	if (!more)
		end_inflating(stream);
}

/* ── Raw records ── */

/* Passes over what is left to skip. False: not possible now, `*ret` says why. */
static bool skip(struct stream *stream, enum peeked *ret, struct error **ret_error)
{
	while (stream->skip) {
		enum peeked peeked = peek(stream, 1, ret_error);
		if (peeked != PEEKED) {
			stream->reader->diagnostics.truncated |= peeked == PEEK_END;
			*ret = peeked;
			return false;
		}
		size_t size = stream->skip < stream->left ? stream->skip : stream->left;
		use_up(stream, size);
		stream->skip -= size;
		stream->reader->diagnostics.auxtrace_bytes += size;
	}
	return true;
}

/* Formats of tracepoints follow their record without being counted in its size. They are kept and parsed when complete. */
static struct error *take_tracing_data(struct stream *stream, uint64_t size)
{
	struct reader *reader = stream->reader;
	struct error *error = NULL;
	if (size > TRACING_DATA_MAX || reader->formats) {
		stream->skip = size;
		return NULL;
	}
	reader->private->tracing_data.len = 0;
	while (size) {
		bool before = stream->past_headers;
		stream->past_headers = false; /* wait for all of it */
		enum peeked peeked = peek(stream, 1, &error);
		stream->past_headers = before;
		if (peeked != PEEKED)
			break;
		size_t part = size < stream->left ? size : stream->left;
		vec_reserve(&reader->private->tracing_data, reader->private->tracing_data.len + part);
		memcpy(reader->private->tracing_data.data + reader->private->tracing_data.len, stream->at, part);
		reader->private->tracing_data.len += part;
		use_up(stream, part);
		size -= part;
	}
	reader->diagnostics.truncated |= size && !error;
	reader_load_formats(reader, reader->private->tracing_data.data, reader->private->tracing_data.len);
	return error;
}

/* The next raw record: into the chunk, or the start of inflating. */
static enum peeked step(struct stream *stream, struct error **ret_error)
{
	struct record_header head;
	enum peeked peeked = PEEKED;
	if (!skip(stream, &peeked, ret_error) || !copy_trace(stream, &peeked, ret_error))
		return peeked;
	if (stream->trace)
		return PEEKED;
	peeked = peek(stream, sizeof(head), ret_error);
	if (peeked == PEEKED && !read_head(stream, stream->at, &head)) {
		stream->reader->diagnostics.truncated = true;
		return PEEK_END;
	}
	if (peeked == PEEKED)
		peeked = peek(stream, head.size, ret_error);
	if (peeked != PEEKED) {
		stream->reader->diagnostics.truncated |= peeked == PEEK_END && stream->left;
		return peeked;
	}
	if ((head.type == RECORD_COMPRESSED || head.type == RECORD_COMPRESSED2) && !reader_is_vendor_feature(stream->reader, head.type)) {
		begin_inflating(stream, &head);
		return PEEKED;
	}
	uint64_t following = reader_payload_size(stream->reader, &head, stream->at + sizeof(head), stream->reader->swapped);
	take_record(stream, &head, stream->at);
	use_up(stream, head.size);
	if (head.type == RECORD_HEADER_TRACING_DATA && following) {
		*ret_error = take_tracing_data(stream, following);
		return *ret_error ? PEEK_ERROR : PEEKED;
	}
	if (stream->keeps_traces && head.type == RECORD_AUXTRACE && following)
		note_trace(stream, &head, following);
	else
		stream->skip = following;
	return PEEKED;
}

struct error *stream_fill(struct stream *stream, bool past_headers, struct reader_chunk **ret)
{
	struct error *error = NULL;
	stream->past_headers = !past_headers;
	while (!stream->chunk || stream->chunk->size < (stream->past_headers ? CHUNK_TARGET : HEADERS_MAX)) {
		if (stream->inflating) {
			inflate(stream);
			continue;
		}
		enum peeked peeked = step(stream, &error);
		if (peeked == PEEK_END && next_piece(stream))
			continue;
		if (peeked != PEEKED)
			break;
	}
	reader_settle_headers(stream->reader);
	if (!error) {
		*ret = stream->chunk;
		stream->chunk = NULL;
	}
	return error;
}

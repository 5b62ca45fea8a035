/* The records of a recording in the order of the file, from a stable mapping or from the chunks of a stream.
 *
 * A stream's chunks are given back as soon as no record in them waits for its turn any more. Chunks are found by binary search over their
 * offsets; there are few of them at a time: about two rounds' worth.
 */
#include "base/search.h"
#include "session/session_internal.h"

#include <string.h>

void source_init(struct source *source, struct reader *reader, bool note)
{
	*source = (struct source){.reader = reader, .note = note, .offset = reader->data_offset};
}

void source_deinit(struct source *source)
{
	for (size_t i = source->released; i < source->chunks.len; i++)
		if (source->chunks.data[i].chunk)
			reader_chunk_release(source->chunks.data[i].chunk);
	vec_deinit(&source->chunks);
}

static void give_back(struct source *source, struct held_chunk *held)
{
	if (!held->chunk || held->waiting || !held->read)
		return;
	reader_chunk_release(held->chunk);
	held->chunk = NULL;
	while (source->released < source->chunks.len && !source->chunks.data[source->released].chunk)
		source->released++;
	if (source->released < 64 || source->released < source->chunks.len / 2)
		return;
	source->chunks.len -= source->released;
	memmove(source->chunks.data, source->chunks.data + source->released, source->chunks.len * sizeof(*source->chunks.data));
	source->released = 0;
}

static bool next_chunk(struct source *source, struct error **ret_error)
{
	if (source->chunks.len) {
		struct held_chunk *newest = vec_last(&source->chunks);
		newest->read = true;
		give_back(source, newest);
	}
	struct reader_chunk *chunk;
	*ret_error = reader_next_chunk(source->reader, &chunk);
	if (*ret_error || !chunk)
		return false;
	vec_push(&source->chunks, (struct held_chunk){.chunk = chunk, .offset = chunk->offset});
	source->at = 0;
	return true;
}

/* Whole records are promised; a size that isn't possible ends the chunk. */
static const struct record_header *next_in_chunk(struct source *source)
{
	struct held_chunk *newest = source->chunks.len ? vec_last(&source->chunks) : NULL;
	if (!newest || newest->read)
		return NULL;
	const struct reader_chunk *chunk = newest->chunk;
	if (chunk->size - source->at < sizeof(struct record_header))
		return NULL;
	const struct record_header *header = (const struct record_header *)(chunk->data + source->at);
	if (header->size < sizeof(*header) || header->size > chunk->size - source->at)
		return NULL;
	source->offset = chunk->offset + source->at;
	source->at += header->size;
	return header;
}

/* Where the record is that was just read. A misaligned one is a copy that lies elsewhere; but nothing lies between its end and the next
 * one. */
static uint64_t stable_offset(const struct source *source, const struct record_header *header)
{
	const struct reader *reader = source->reader;
	uintptr_t distance = (uintptr_t)header - (uintptr_t)reader->records;
	return distance < reader->data_end ? distance : source->offset - header->size;
}

const struct record_header *source_next(struct source *source, uint64_t *ret_offset, struct error **ret_error)
{
	*ret_error = NULL;
	const struct record_header *header;
	if (source->reader->stable) {
		if (source->offset < source->reader->data_end)
			source->asked = reader_ask_ahead(source->reader, source->offset, source->asked);
		header = reader_record(source->reader, &source->offset, source->note);
		*ret_offset = header ? stable_offset(source, header) : source->offset;
		return header;
	}
	while (!(header = next_in_chunk(source)))
		if (!next_chunk(source, ret_error))
			return NULL;
	*ret_offset = source->offset;
	return header;
}

static struct held_chunk *chunk_of(struct source *source, uint64_t offset)
{
	struct held_chunk *chunks = source->chunks.data + source->released;
	size_t after = partition_point(i, source->chunks.len - source->released, chunks[i].offset <= offset);
	return &chunks[after ? after - 1 : 0];
}

void source_hold(struct source *source, uint64_t offset)
{
	if (!source->reader->stable)
		chunk_of(source, offset)->waiting++;
}

void source_let_go(struct source *source, uint64_t offset)
{
	if (source->reader->stable)
		return;
	struct held_chunk *held = chunk_of(source, offset);
	held->waiting--;
	give_back(source, held);
}

const struct record_header *source_at(struct source *source, uint64_t offset)
{
	if (source->reader->stable)
		return reader_record(source->reader, &offset, false);
	const struct reader_chunk *chunk = chunk_of(source, offset)->chunk;
	return (const struct record_header *)(chunk->data + (offset - chunk->offset));
}

/* A stream makes plain records of any input: it reads from a pipe or from memory, inflates compressed records, swaps foreign ones, aligns
 * all to 8 bytes, applies what describes the recording, and gives whole records in chunks. Within perfdata. */
#pragma once

#include "perfdata/reader_internal.h"

#include <stddef.h>

struct stream;

/* Reads from `fd`, which is taken over; `begun` bytes were read from it already. */
struct stream *stream_create_fd(struct reader *reader, int fd, const void *begun, size_t begun_size);
/* Reads from memory, which stays the caller's. More pieces can follow, each a stream of its own for decompression. */
struct stream *stream_create_memory(struct reader *reader, const void *data, size_t size);
void stream_add_memory(struct stream *stream, const void *data, size_t size);
/* Whether hardware trace of a recording that describes it isn't passed over: chunks have it behind its records, which only spooling
 * takes; of what is passed over all the same the records say that there is none. */
void stream_keep_traces(struct stream *stream, bool kept);
void stream_destroy(struct stream *stream);

/* Fills a chunk: returns with at least one record as soon as the input has no more at hand. `past_headers`: not before there is a record
 * that describes no recording, unless what describes it doesn't end. An empty chunk is the end. The chunk's memory belongs to the caller
 * (stream_chunk_free). */
struct error *stream_fill(struct stream *stream, bool past_headers, struct reader_chunk **ret);
void stream_chunk_free(struct reader_chunk *chunk);
/* Bytes of the input that were used up, for progress. */
uint64_t stream_position(const struct stream *stream);

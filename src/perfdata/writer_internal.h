/* Within perfdata: what the two forms of the writer share. */
#pragma once

#include "perfdata/header.h"
#include "perfdata/writer.h"

#include "base/strbuf.h"

enum {
	PIECES_MAX = 62,
	COPIED_MAX = 16 << 10, /* pieces up to this size go through the buffer */
	COMPRESSED_RECORD_MAX = UINT16_MAX & ~7,
	CHUNK_MIN = 64 << 10,
	CHUNK_DEFAULT = 4 << 20,
	CHUNK_MAX = 16 << 20,
};

struct writer {
	const struct event_list *events;
	char *path;
	int fd;
	bool pipe;
	bool bare;
	int failed; /* errno of the write that failed, 0 = none */
	uint32_t attr_size;
	struct compressor *compressor;
	int compression_level;
	size_t chunk_size; /* most bytes that one COMPRESSED record stands for */
	struct writer_totals totals;
	VEC(struct feature_trace) traces; /* where AUXTRACE records are */
	void *standby; /* an empty record and the table of features, put behind every piece of data (writer_standby.c); NULL = none */
	size_t standby_size;
	uint64_t standby_bits[4];
	uint64_t data_offset;
	bool round_open;      /* something was added since the last FINISHED_ROUND */
	bool round_unwritten; /* of what was appended since then, something is in the buffer */
	size_t buffered;
	uint8_t buffer[256 << 10] __attribute__((aligned(8)));
};

/* Writes all pieces, at most PIECES_MAX + 1; `data`: they belong to the data section. */
struct error *writer_write(struct writer *writer, const struct iovec *pieces, int count, bool data);
/* Adds the bytes of a feature, completed by what the writer knows. */
bool writer_encode_feature(const struct writer *writer, const struct features *features, unsigned int feature, struct strbuf *out);

/* Encodes the features that are known at the start to `out`, which will be at `at` in the file, and makes the table. */
void writer_standby_prepare(struct writer *writer, const struct features *features, const uint64_t bits[4], uint64_t at,
			    struct strbuf *out);
/* Makes the table at `table_at` part of the record before it, since more data follows. */
void writer_standby_absorb(struct writer *writer, uint64_t table_at);

/* The head of the pipe form: `bits` are the features to send. */
struct error *writer_pipe_head(struct writer *writer, const struct features *features, const uint64_t bits[4]);
/* Build-ids, which are known only now. */
struct error *writer_pipe_tail(struct writer *writer, const struct features *features);

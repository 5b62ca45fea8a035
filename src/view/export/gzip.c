/* Gzip, by zlib. */
#include "view/export/gzip.h"

#include "base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

enum { LEVEL = 3, WITH_GZIP_HEADER = 15 + 16, MEMORY = 8, BLOCK = 1 << 16 };

struct gzip {
	z_stream stream;
	const struct sink *out;
	unsigned char block[BLOCK];
};

static void compress_bytes(struct gzip *gzip, const void *data, size_t size, int flush)
{
	gzip->stream.next_in = (unsigned char *)(uintptr_t)data; /* which zlib only reads */
	gzip->stream.avail_in = (uInt)size;
	do {
		gzip->stream.next_out = gzip->block;
		gzip->stream.avail_out = BLOCK;
		int status = deflate(&gzip->stream, flush);
		assert(status != Z_STREAM_ERROR);
		(void)status;
		sink_write(gzip->out, gzip->block, BLOCK - gzip->stream.avail_out);
	} while (!gzip->stream.avail_out);
}

static void write_gzip(void *context, const void *data, size_t size)
{
	enum { MOST = 1 << 30 };
	const char *at = data;
	for (; size > MOST; size -= MOST, at += MOST)
		compress_bytes(context, at, MOST, Z_NO_FLUSH);
	if (size)
		compress_bytes(context, at, size, Z_NO_FLUSH);
}

static int flush_gzip(void *context)
{
	const struct gzip *gzip = context;
	return sink_flush(gzip->out);
}

struct gzip *gzip_begin(const struct sink *out, struct sink *ret)
{
	struct gzip *gzip = mem_zalloc(sizeof(*gzip));
	gzip->out = out;
	if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, WITH_GZIP_HEADER, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		mem_exhausted();
	*ret = (struct sink){.write = write_gzip, .flush = flush_gzip, .context = gzip};
	return gzip;
}

void gzip_end(struct gzip *gzip)
{
	compress_bytes(gzip, NULL, 0, Z_FINISH);
	deflateEnd(&gzip->stream);
	free(gzip);
}

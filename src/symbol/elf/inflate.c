/* Unpacking of whole buffers. The libraries' streaming interfaces fill a buffer that doubles until the stream ends or the limit is reached.
 */
#include "symbol/elf/inflate.h"

#include "base/mem.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { RATIO_MAX = 32, ALWAYS = 1 << 20 };
static const size_t most = (size_t)2 << 30;

size_t inflate_limit(size_t size)
{
	return size < (most - ALWAYS) / RATIO_MAX ? size * RATIO_MAX + ALWAYS : most;
}

enum inflate_kind inflate_detect(const uint8_t *data, size_t size)
{
	if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b)
		return INFLATE_GZIP;
	if (size >= 6 && !memcmp(data, "\3757zXZ\0", 6))
		return INFLATE_XZ;
	if (size >= 4 && !memcmp(data, "\x28\xb5\x2f\xfd", 4))
		return INFLATE_ZSTD;
	return INFLATE_NONE;
}

struct inflated {
	uint8_t *data;
	size_t len, cap, limit;
};

/* Room for more output; false at the limit. */
static bool output_grow(struct inflated *out)
{
	if (out->len < out->cap)
		return true;
	if (out->cap >= out->limit)
		return false;
	size_t cap = out->cap ? out->cap * 2 : (size_t)1 << 16;
	out->cap = cap < out->limit ? cap : out->limit;
	out->data = mem_resize(out->data, out->cap);
	return true;
}

static bool inflate_zlib(const uint8_t *data, size_t size, struct inflated *out)
{
	z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)size};
	if (size > UINT32_MAX || inflateInit2(&stream, 15 + 32) != Z_OK)
		return false;
	int status = Z_OK;
	while (status == Z_OK && output_grow(out)) {
		size_t room = out->cap - out->len;
		stream.next_out = out->data + out->len;
		stream.avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
		uInt before = stream.avail_out;
		status = inflate(&stream, Z_NO_FLUSH);
		out->len += before - stream.avail_out;
	}
	inflateEnd(&stream);
	return status == Z_STREAM_END;
}

static bool inflate_xz(const uint8_t *data, size_t size, struct inflated *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&stream, (uint64_t)256 << 20, LZMA_CONCATENATED) != LZMA_OK)
		return false;
	stream.next_in = data;
	stream.avail_in = size;
	lzma_ret status = LZMA_OK;
	while (status == LZMA_OK && output_grow(out)) {
		stream.next_out = out->data + out->len;
		stream.avail_out = out->cap - out->len;
		status = lzma_code(&stream, LZMA_FINISH);
		out->len = out->cap - stream.avail_out;
	}
	lzma_end(&stream);
	return status == LZMA_STREAM_END;
}

static bool inflate_zstd(const uint8_t *data, size_t size, struct inflated *out)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	if (!stream)
		return false;
	ZSTD_inBuffer input = {data, size, 0};
	size_t status = 1;
	bool stuck = false;
	while (status && !ZSTD_isError(status) && !stuck && output_grow(out)) {
		ZSTD_outBuffer output = {out->data, out->cap, out->len};
		size_t before = input.pos;
		status = ZSTD_decompressStream(stream, &output, &input);
		stuck = input.pos == before && output.pos == out->len;
		out->len = output.pos;
	}
	ZSTD_freeDStream(stream);
	return !status;
}

void *inflate_buffer(enum inflate_kind kind, const uint8_t *data, size_t size, size_t limit, size_t *ret_size)
{
	struct inflated out = {.limit = limit};
	bool good = (kind == INFLATE_GZIP && inflate_zlib(data, size, &out)) || (kind == INFLATE_XZ && inflate_xz(data, size, &out)) ||
		    (kind == INFLATE_ZSTD && inflate_zstd(data, size, &out));
	if (!good) {
		free(out.data);
		return NULL;
	}
	*ret_size = out.len;
	return out.data ? out.data : mem_zalloc(1);
}

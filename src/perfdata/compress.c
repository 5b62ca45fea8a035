/* A thin layer over libzstd: the only file that includes it. */
#include "perfdata/compress.h"
#include "base/mem.h"
#include "base/strbuf.h"

#include <stdlib.h>
#include <zstd.h>

struct compressor {
	ZSTD_CCtx *context;
};

struct decompressor {
	ZSTD_DCtx *context;
};

struct error *compressor_create(int level, struct compressor **ret)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	if (!context)
		mem_exhausted();
	size_t status = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	if (ZSTD_isError(status)) {
		ZSTD_freeCCtx(context);
		return error_new_kind(ERROR_USAGE, "invalid compression level %d: %s (expected 1 to %d)", level, ZSTD_getErrorName(status),
				      ZSTD_maxCLevel());
	}
	*ret = mem_alloc(sizeof(**ret));
	(*ret)->context = context;
	return NULL;
}

void compressor_destroy(struct compressor *compressor)
{
	if (!compressor)
		return;
	ZSTD_freeCCtx(compressor->context);
	free(compressor);
}

size_t compressor_step(struct compressor *compressor, struct compress_input *input, void *output, size_t size, bool *ret_more)
{
	ZSTD_inBuffer in = {input->at, input->left, 0};
	ZSTD_outBuffer out = {output, size, 0};
	size_t left = ZSTD_compressStream2(compressor->context, &out, &in, ZSTD_e_flush);
	if (ZSTD_isError(left)) /* only for want of memory: levels and buffers are right */
		mem_exhausted();
	input->at += in.pos;
	input->left -= in.pos;
	*ret_more = input->left || left;
	return out.pos;
}

struct decompressor *decompressor_create(void)
{
	struct decompressor *decompressor = mem_alloc(sizeof(*decompressor));
	decompressor->context = ZSTD_createDCtx();
	if (!decompressor->context)
		mem_exhausted();
	return decompressor;
}

void decompressor_destroy(struct decompressor *decompressor)
{
	if (!decompressor)
		return;
	ZSTD_freeDCtx(decompressor->context);
	free(decompressor);
}

void decompressor_reset(struct decompressor *decompressor)
{
	ZSTD_DCtx_reset(decompressor->context, ZSTD_reset_session_only);
}

ssize_t decompressor_step(struct decompressor *decompressor, struct compress_input *input, void *output, size_t size, bool *ret_more)
{
	ZSTD_inBuffer in = {input->at, input->left, 0};
	ZSTD_outBuffer out = {output, size, 0};
	size_t status = ZSTD_decompressStream(decompressor->context, &out, &in);
	if (ZSTD_isError(status))
		return -1;
	input->at += in.pos;
	input->left -= in.pos;
	bool moved = in.pos || out.pos;
	*ret_more = moved && (input->left || out.pos == size);
	return (ssize_t)out.pos;
}

void compress_all(const void *data, size_t size, struct strbuf *out)
{
	enum { LEVEL = 9 };
	size_t most = ZSTD_compressBound(size);
	size_t done = ZSTD_compress(strbuf_reserve(out, most), most, data, size, LEVEL);
	if (ZSTD_isError(done))
		mem_exhausted();
	strbuf_advance(out, done);
}

bool decompress_all(const void *data, size_t data_size, void *output, size_t size)
{
	size_t done = ZSTD_decompress(output, size, data, data_size);
	return !ZSTD_isError(done) && done == size;
}

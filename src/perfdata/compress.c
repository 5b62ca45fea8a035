/* A thin layer over libzstd: the only file that includes it. */
#include "perfdata/compress.h"
#include "base/mem.h"

#include <stdlib.h>
#include <zstd.h>

enum { BLOCK_SIZE = 128 << 10 };

struct compressor {
	ZSTD_CCtx *context;
};

struct decompressor {
	ZSTD_DCtx *context;
	uint8_t block[BLOCK_SIZE];
};

struct error *compressor_create(int level, struct compressor **ret)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	if (!context)
		mem_exhausted();
	size_t status = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	if (ZSTD_isError(status)) {
		ZSTD_freeCCtx(context);
		return error_new_kind(ERROR_USAGE, "compression level %d: %s (1 to %d are possible)", level, ZSTD_getErrorName(status),
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

size_t compressor_step(struct compressor *compressor, struct compress_input *input, bool flush, void *output, size_t size, bool *ret_more)
{
	ZSTD_inBuffer in = {input->at, input->left, 0};
	ZSTD_outBuffer out = {output, size, 0};
	size_t left = ZSTD_compressStream2(compressor->context, &out, &in, flush ? ZSTD_e_flush : ZSTD_e_continue);
	if (ZSTD_isError(left)) /* only for want of memory: levels and buffers are right */
		mem_exhausted();
	input->at += in.pos;
	input->left -= in.pos;
	*ret_more = input->left || (flush && left);
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

bool decompressor_feed(struct decompressor *decompressor, const void *data, size_t size,
		       void (*take)(void *context, const uint8_t *bytes, size_t size), void *context)
{
	ZSTD_inBuffer in = {data, size, 0};
	bool full = false;
	while (in.pos < in.size || full) {
		ZSTD_outBuffer out = {decompressor->block, BLOCK_SIZE, 0};
		size_t before = in.pos;
		size_t status = ZSTD_decompressStream(decompressor->context, &out, &in);
		if (ZSTD_isError(status))
			return false;
		if (out.pos)
			take(context, decompressor->block, out.pos);
		full = out.pos == BLOCK_SIZE;
		if (in.pos == before && !out.pos)
			return true;
	}
	return true;
}

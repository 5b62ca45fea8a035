/* zstd streams as perf.data uses them: one endless frame a stream, flushed where a record has to stand alone. Within perfdata. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compressor;

struct error *compressor_create(int level, struct compressor **ret);
void compressor_destroy(struct compressor *compressor);

struct compress_input {
	const uint8_t *at;
	size_t left;
};

/* Takes from `input` (which moves on) and gives up to `size` bytes. With `flush`, once the input is used up, everything taken so far comes
 * out; *ret_more says that there was no room for all of it: call again. Returns the bytes given. */
size_t compressor_step(struct compressor *compressor, struct compress_input *input, bool flush, void *output, size_t size, bool *ret_more);

struct decompressor;

struct decompressor *decompressor_create(void);
void decompressor_destroy(struct decompressor *decompressor);
/* Forgets the stream: the next bytes begin another one. */
void decompressor_reset(struct decompressor *decompressor);

/* Inflates the next piece of a stream in steps, so that memory doesn't depend on what it grows to: calls take(context, bytes, size) for
 * each block. False when the data is damaged; what came out before it was handed out. */
bool decompressor_feed(struct decompressor *decompressor, const void *data, size_t size,
		       void (*take)(void *context, const uint8_t *bytes, size_t size), void *context);

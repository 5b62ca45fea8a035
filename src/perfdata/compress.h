/* zstd streams as perf.data uses them: one endless frame a stream, flushed where a record has to stand alone. Within perfdata. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct compressor;

struct error *compressor_create(int level, struct compressor **ret);
void compressor_destroy(struct compressor *compressor);

struct compress_input {
	const uint8_t *at;
	size_t left;
};

/* Takes from `input` (which moves on) and gives up to `size` bytes. Once the input is used up, everything taken so far comes
 * out; *ret_more says that there was no room for all of it: call again. Returns the bytes given. */
size_t compressor_step(struct compressor *compressor, struct compress_input *input, void *output, size_t size, bool *ret_more);

struct decompressor;

struct decompressor *decompressor_create(void);
void decompressor_destroy(struct decompressor *decompressor);
/* Forgets the stream: the next bytes begin another one. */
void decompressor_reset(struct decompressor *decompressor);

/* Takes from `input` (which moves on) and gives up to `size` bytes. Call until *ret_more is false: then the input is used up and nothing is
 * held back. Returns the bytes given, or -1 when the data is damaged. */
ssize_t decompressor_step(struct decompressor *decompressor, struct compress_input *input, void *output, size_t size, bool *ret_more);

struct strbuf;
/* Adds a stream of the bytes alone. */
void compress_all(const void *data, size_t size, struct strbuf *out);
/* The opposite; false when that isn't exactly `size` bytes. */
bool decompress_all(const void *data, size_t data_size, void *output, size_t size);

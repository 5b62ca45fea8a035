/* Unpacking of whole buffers: gzip/zlib, xz, zstd. Bounded, because a small hostile file can unpack to a huge one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How large something may become that takes `size` bytes compressed: 32 times that and 1 MB, at most 2 GB. Debug information is compressed
 * to a quarter or a tenth. */
size_t inflate_limit(size_t size);

enum inflate_kind { INFLATE_NONE, INFLATE_GZIP, INFLATE_XZ, INFLATE_ZSTD };

/* By the magic bytes at the start. */
enum inflate_kind inflate_detect(const uint8_t *data, size_t size);
/* The unpacked bytes, freed by the caller; NULL when they are broken or more than `limit`. INFLATE_GZIP also takes bare zlib streams. */
void *inflate_buffer(enum inflate_kind kind, const uint8_t *data, size_t size, size_t limit, size_t *ret_size);

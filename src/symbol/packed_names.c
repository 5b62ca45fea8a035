/* Packed names: 122,000 of a kernel are 3 MB, in blocks of 8 KB 0.65 MB. Packing takes 17 ms, a look into a block 10 µs: the one that was
 * unpacked last stays, since names are asked for in bunches.
 *
 *	place     ├─ block number ─┤├─ where in it ─┤
 *
 * No name lies in two blocks. */
#include "symbol/packed_names.h"

#include "base/mem.h"
#include "base/vec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { BLOCK_BITS = 13, BLOCK = 1 << BLOCK_BITS, LEVEL = 1, NO_BLOCK = -1 };

struct packed_block {
	size_t size;
	uint8_t *bytes;
};

struct packed_names {
	VEC(struct packed_block) blocks;
	size_t bytes;
	ZSTD_CCtx *packer;   /* until the end */
	ZSTD_DCtx *unpacker; /* from the first look on */
	pthread_mutex_t lock;
	int64_t unpacked; /* number of the block that is in `text` */
	size_t used;	  /* bytes of `text`, while names are added */
	char text[BLOCK];
};

struct packed_names *packed_names_create(void)
{
	struct packed_names *names = mem_zalloc(sizeof(*names));
	pthread_mutex_init(&names->lock, NULL);
	names->unpacked = NO_BLOCK;
	names->packer = ZSTD_createCCtx();
	if (!names->packer)
		mem_exhausted();
	return names;
}

static void pack(struct packed_names *names)
{
	uint8_t packed[ZSTD_COMPRESSBOUND(BLOCK)];
	size_t size = ZSTD_compressCCtx(names->packer, packed, sizeof(packed), names->text, names->used, LEVEL);
	if (ZSTD_isError(size)) /* only for want of memory: there is room */
		mem_exhausted();
	uint8_t *bytes = mem_alloc(size);
	memcpy(bytes, packed, size);
	vec_push(&names->blocks, (struct packed_block){size, bytes});
	names->bytes += size;
	names->used = 0;
}

uint32_t packed_names_add(struct packed_names *names, const char *name)
{
	size_t len = strnlen(name, BLOCK - 1);
	if (len + 1 > BLOCK - names->used)
		pack(names);
	uint32_t place = (uint32_t)(names->blocks.len << BLOCK_BITS | names->used);
	memcpy(names->text + names->used, name, len);
	names->text[names->used + len] = '\0';
	names->used += len + 1;
	return place;
}

void packed_names_end(struct packed_names *names)
{
	if (names->used)
		pack(names);
	ZSTD_freeCCtx(names->packer);
	names->packer = NULL;
}

char *packed_names_get(struct packed_names *names, uint32_t place)
{
	size_t number = place >> BLOCK_BITS;
	pthread_mutex_lock(&names->lock);
	if (names->unpacked != (int64_t)number) {
		const struct packed_block *block = &names->blocks.data[number];
		if (!names->unpacker && !(names->unpacker = ZSTD_createDCtx()))
			mem_exhausted();
		size_t size = ZSTD_decompressDCtx(names->unpacker, names->text, BLOCK, block->bytes, block->size);
		if (ZSTD_isError(size))
			mem_exhausted();
		names->unpacked = (int64_t)number;
	}
	char *name = mem_strdup(names->text + place % BLOCK);
	pthread_mutex_unlock(&names->lock);
	return name;
}

size_t packed_names_bytes(const struct packed_names *names)
{
	return sizeof(*names) + names->bytes + names->blocks.len * sizeof(*names->blocks.data);
}

void packed_names_destroy(struct packed_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->blocks.len; i++)
		free(names->blocks.data[i].bytes);
	vec_deinit(&names->blocks);
	ZSTD_freeCCtx(names->packer);
	ZSTD_freeDCtx(names->unpacker);
	pthread_mutex_destroy(&names->lock);
	free(names);
}

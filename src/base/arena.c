/* Arena: blocks that double from 4 KiB to 1 MiB, each handed out from front to back; larger wishes get a block of their own behind the
 * newest one. Where much is wanted, blocks become as large as a large page, which costs one fault instead of 512. */
#include "base/arena.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, USUAL_BLOCK = 1 << 20, LARGE_PAGE = 2 << 20, MUCH = 8 << 20, ALIGNMENT = 8 };

struct arena_block {
	struct arena_block *older;
	size_t size;
	uint8_t data[] __attribute__((aligned(ALIGNMENT)));
};

void arena_deinit(struct arena *arena)
{
	for (struct arena_block *block = arena->block, *older; block; block = older) {
		older = block->older;
		free(block);
	}
	*arena = (struct arena){0};
}

static struct arena_block *block_create(size_t size)
{
	if (size > SIZE_MAX - sizeof(struct arena_block))
		mem_exhausted();
	struct arena_block *block =
		sizeof(*block) + size < LARGE_PAGE ? mem_alloc(sizeof(*block) + size) : mem_zalloc_table(1, sizeof(*block) + size);
	block->size = size;
	return block;
}

static void *alloc_slow(struct arena *arena, size_t size)
{
	size_t usual = arena->block ? arena->block->size * 2 : FIRST_BLOCK;
	if (arena->used > MUCH)
		usual = LARGE_PAGE - sizeof(struct arena_block);
	else if (usual > USUAL_BLOCK)
		usual = USUAL_BLOCK;
	struct arena_block *block = block_create(size > usual ? size : usual);
	if (size > usual / 4 && arena->block) {
		/* A large one: the rest of the newest block stays in use. */
		block->size = size;
		block->older = arena->block->older;
		arena->block->older = block;
		return block->data;
	}
	block->older = arena->block;
	arena->block = block;
	arena->next = block->data + size;
	arena->end = block->data + block->size;
	return block->data;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	if (size > SIZE_MAX - ALIGNMENT)
		mem_exhausted();
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	arena->used += size;
	if (arena->next && size <= (size_t)(arena->end - arena->next)) {
		void *pointer = arena->next;
		arena->next += size;
		return pointer;
	}
	return alloc_slow(arena, size);
}

void *arena_zalloc(struct arena *arena, size_t size)
{
	return memset(arena_alloc(arena, size), 0, size);
}

void *arena_copy(struct arena *arena, const void *data, size_t size)
{
	void *copy = arena_alloc(arena, size);
	return size ? memcpy(copy, data, size) : copy;
}

char *arena_strndup(struct arena *arena, const char *string, size_t length)
{
	length = strnlen(string, length);
	char *copy = arena_alloc(arena, length + 1);
	memcpy(copy, string, length);
	copy[length] = '\0';
	return copy;
}

char *arena_strdup(struct arena *arena, const char *string)
{
	return arena_copy(arena, string, strlen(string) + 1);
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = mem_vprintf(format, args);
	va_end(args);
	char *copy = arena_strdup(arena, text);
	free(text);
	return copy;
}

void arena_combine(struct arena *to, struct arena *from)
{
	if (!from->block)
		return;
	if (!to->block) {
		*to = *from;
	} else {
		struct arena_block *oldest = from->block;
		while (oldest->older)
			oldest = oldest->older;
		oldest->older = to->block->older;
		to->block->older = from->block;
		to->used += from->used;
	}
	*from = (struct arena){0};
}

/* Arena: many small allocations with one owner, freed together. Pointers stay valid until arena_deinit(). Not thread-safe: one owner each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* All zero is a valid empty one. */
struct arena {
	struct arena_block *block; /* newest block, linked to the older ones */
	uint8_t *next;		   /* first free byte of it */
	uint8_t *end;
	size_t used; /* bytes handed out, for statistics */
};

void arena_deinit(struct arena *arena);

/* 8-byte aligned, uninitialised. `size` may be 0. */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_zalloc(struct arena *arena, size_t size);
void *arena_copy(struct arena *arena, const void *data, size_t size);
char *arena_strdup(struct arena *arena, const char *string);
char *arena_strndup(struct arena *arena, const char *string, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Moves all blocks of `from` into `to`: what was allocated from `from` now lives as long as `to`. `from` is empty afterwards. */
void arena_combine(struct arena *to, struct arena *from);

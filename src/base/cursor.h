/* Checked reading of foreign bytes: every bound is tested, any alignment is fine, values are swapped when the data is of the other byte
 * order.
 *
 * A read past the end sets `failed`, returns 0 or NULL and moves nothing; so a parser can read a whole structure and test `failed` once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool swap;
	bool failed;
};

static inline struct cursor cursor_init(const void *data, size_t size, bool swap)
{
	return (struct cursor){.at = data, .end = data ? (const uint8_t *)data + size : NULL, .swap = swap};
}

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* The next `size` bytes as they are, or NULL. */
static inline const void *cursor_bytes(struct cursor *cursor, size_t size)
{
	if (cursor->failed || size > cursor_left(cursor)) {
		cursor->failed = true;
		return NULL;
	}
	const void *bytes = cursor->at;
	cursor->at += size;
	return bytes;
}

static inline uint8_t cursor_u8(struct cursor *cursor)
{
	const uint8_t *p = cursor_bytes(cursor, 1);
	return p ? *p : 0;
}

#define CURSOR_READ(bits)                                                   \
	static inline uint##bits##_t cursor_u##bits(struct cursor *cursor)  \
	{                                                                   \
		uint##bits##_t value = 0;                                   \
		const void *p = cursor_bytes(cursor, sizeof(value));        \
		if (p)                                                      \
			memcpy(&value, p, sizeof(value));                   \
		return cursor->swap ? __builtin_bswap##bits(value) : value; \
	}
CURSOR_READ(16)
CURSOR_READ(32)
CURSOR_READ(64)
#undef CURSOR_READ

/* A NUL-terminated string inside the data, or NULL when no NUL comes before the end. */
static inline const char *cursor_string(struct cursor *cursor)
{
	const uint8_t *nul = cursor->failed ? NULL : memchr(cursor->at, 0, cursor_left(cursor));
	if (!nul) {
		cursor->failed = true;
		return NULL;
	}
	const char *string = (const char *)cursor->at;
	cursor->at = nul + 1;
	return string;
}

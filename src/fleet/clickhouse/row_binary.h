/* RowBinary, ClickHouse's own format of rows: values one behind the other, little-endian; lengths as LEB128. */
#pragma once

#include "base/cursor.h"
#include "base/strbuf.h"

#include <stdint.h>
#include <string.h>

static inline void row_add_length(struct strbuf *row, uint64_t length)
{
	for (; length >= 0x80; length >>= 7)
		strbuf_add_char(row, (char)(length | 0x80));
	strbuf_add_char(row, (char)length);
}

static inline void row_add_bytes(struct strbuf *row, const void *data, size_t size)
{
	row_add_length(row, size);
	strbuf_add(row, data, size);
}

/* NULL is "". */
static inline void row_add_text(struct strbuf *row, const char *text)
{
	row_add_bytes(row, text ? text : "", text ? strlen(text) : 0);
}

static inline void row_add_u8(struct strbuf *row, uint8_t value)
{
	strbuf_add_char(row, (char)value);
}

static inline void row_add_u16(struct strbuf *row, uint16_t value)
{
	strbuf_add(row, &value, sizeof(value));
}

static inline void row_add_u32(struct strbuf *row, uint32_t value)
{
	strbuf_add(row, &value, sizeof(value));
}

static inline void row_add_u64(struct strbuf *row, uint64_t value)
{
	strbuf_add(row, &value, sizeof(value));
}

static inline uint64_t row_length(struct cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_u8(cursor);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->failed = true;
	return 0;
}

/* In the cursor's data, not terminated; "" where it fails. */
static inline const char *row_text(struct cursor *cursor, size_t *ret_length)
{
	uint64_t length = row_length(cursor);
	const char *text = cursor_bytes(cursor, length);
	*ret_length = text ? (size_t)length : 0;
	return text ? text : "";
}

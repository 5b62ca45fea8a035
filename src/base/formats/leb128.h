/* Variable-length numbers of DWARF, 7 bits a byte. Bits that do not fit are dropped; a number without an end makes the cursor fail. */
#pragma once

#include "base/cursor.h"

static inline uint64_t leb128_unsigned(struct cursor *at)
{
	uint64_t value = 0;
	for (unsigned int shift = 0;; shift += 7) {
		uint8_t byte = cursor_u8(at);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t leb128_signed(struct cursor *at)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;
	do {
		byte = cursor_u8(at);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

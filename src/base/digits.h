/* Numbers as text, for what is printed millions of times: straight into memory that has room for DIGITS_ROOM bytes more than the width
 * asked for, some of which are written beyond the end that is returned. Nothing is terminated. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DIGITS_ROOM = 32 };

/* Decimal, and lower-case hexadecimal: right-aligned in `width` columns (filled with spaces), longer where they must. Both return the
 * end. */
char *digits_put_u64(char *to, uint64_t value, unsigned int width);
char *digits_put_hex(char *to, uint64_t value, unsigned int width);
/* The same of a number that needs 8 digits at most, as long as needed; and in 16 columns, as addresses are shown. */
static inline char *digits_put_short_hex(char *to, uint32_t value);
static inline char *digits_put_address(char *to, uint64_t value);
/* The last `count` decimal digits, zeros in front: fractions. Returns the end. */
char *digits_put_fraction(char *to, uint32_t value, unsigned int count);
/* The same for three digits and for six, of numbers that have no more: quicker. */
static inline char *digits_put_three(char *to, uint32_t value);
static inline char *digits_put_six(char *to, uint32_t value);
/* digits_put_u64() for numbers most of which have up to three digits, or up to six in as many columns; of these there are from 3 to 11. */
static inline char *digits_put_column(char *to, uint64_t value, unsigned int width);
/* As printf's %.*f, for up to 9 digits behind the point; where that would round the decimal value of the number otherwise than the number
 * itself, the last digit may differ. NULL, and nothing is written: the number is negative or too large, 10^15 with its digits. */
static inline char *digits_put_fixed(char *to, double value, unsigned int digits);

/* Private: "000" to "999", each with a byte that means nothing. */
enum { DIGITS_THREE_END = 1000 };
extern const char digits_threes[DIGITS_THREE_END][4];

static inline char *digits_put_three(char *to, uint32_t value)
{
	memcpy(to, digits_threes[value], sizeof(digits_threes[value]));
	return to + 3;
}

static inline char *digits_put_six(char *to, uint32_t value)
{
	to = digits_put_three(to, value / DIGITS_THREE_END);
	return digits_put_three(to, value % DIGITS_THREE_END);
}

/* Private: the same with spaces in front. */
static inline void digits_put_blanked_three(char *to, uint32_t value)
{
	uint32_t word;
	memcpy(&word, digits_threes[value], sizeof(word));
	word ^= value < 10 ? 0x1010 : value < 100 ? 0x10 : 0; /* '0' to ' ' */
	memcpy(to, &word, sizeof(word));
}

static inline char *digits_put_column(char *to, uint64_t value, unsigned int width)
{
	const uint64_t spaces = 0x2020202020202020;
	char *end = to + width;
	if (value >= (width < 6 ? DIGITS_THREE_END : DIGITS_THREE_END * DIGITS_THREE_END))
		return digits_put_u64(to, value, width);
	memcpy(to, &spaces, sizeof(spaces));
	if (value < DIGITS_THREE_END) {
		digits_put_blanked_three(end - 3, (uint32_t)value);
	} else {
		digits_put_blanked_three(end - 6, (uint32_t)value / DIGITS_THREE_END);
		digits_put_three(end - 3, (uint32_t)value % DIGITS_THREE_END);
	}
	return end;
}

/* Private: eight hexadecimal digits in a word, as they stand in memory of a little-endian machine: the first one is its lowest byte. */
static inline uint64_t digits_hex_word(uint32_t value)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t nibbles = value;
	nibbles = (nibbles | nibbles << 16) & 0x0000ffff0000ffff;
	nibbles = (nibbles | nibbles << 8) & 0x00ff00ff00ff00ff;
	nibbles = (nibbles | nibbles << 4) & 0x0f0f0f0f0f0f0f0f;
	uint64_t letters = (nibbles + 6 * ones) >> 4 & ones;
	return __builtin_bswap64(nibbles + '0' * ones + letters * ('a' - '0' - 10));
}

/* Private: how many digits a number has that needs 8 at most. */
static inline unsigned int digits_hex_count(uint32_t value)
{
	return (35 - (unsigned int)__builtin_clz(value | 1)) / 4;
}

static inline char *digits_put_short_hex(char *to, uint32_t value)
{
	unsigned int count = digits_hex_count(value);
	uint64_t word = digits_hex_word(value) >> 8 * (8 - count);
	memcpy(to, &word, sizeof(word));
	return to + count;
}

static inline char *digits_put_address(char *to, uint64_t value)
{
	const uint64_t spaces = 0x2020202020202020;
	if (value >> 32)
		return digits_put_hex(to, value, 16);
	/* The spaces in front go over the digits that the number hasn't. */
	uint64_t word = digits_hex_word((uint32_t)value);
	memcpy(to + 8, &word, sizeof(word));
	memcpy(to, &spaces, sizeof(spaces));
	memcpy(to + 8 - digits_hex_count((uint32_t)value), &spaces, sizeof(spaces));
	return to + 16;
}

/* Inlined, so that a number of digits that is known makes the divisions cheap. */
static inline char *digits_put_fixed(char *to, double value, unsigned int digits)
{
	static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
	const double most = 1e15; /* every whole number up to here is a double, and there is room for rounding */
	if (digits >= sizeof(powers) / sizeof(*powers) || !(value >= 0 && value * (double)powers[digits] < most))
		return NULL;
	uint64_t scaled = (uint64_t)(value * (double)powers[digits] + 0.5);
	to = digits_put_u64(to, scaled / powers[digits], 0);
	if (!digits)
		return to;
	*to++ = '.';
	return digits_put_fraction(to, (uint32_t)(scaled % powers[digits]), digits);
}

#include "base/digits.h"

#include <string.h>

static const char pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566"
	"676869707172737475767778798081828384858687888990919293949596979899";

#define ONES(a, b) a b "0", a b "1", a b "2", a b "3", a b "4", a b "5", a b "6", a b "7", a b "8", a b "9"
#define TENS(a)                                                                                                                       \
	ONES(a, "0"), ONES(a, "1"), ONES(a, "2"), ONES(a, "3"), ONES(a, "4"), ONES(a, "5"), ONES(a, "6"), ONES(a, "7"), ONES(a, "8"), \
		ONES(a, "9")
const char digits_threes[DIGITS_THREE_END][4] = {TENS("0"), TENS("1"), TENS("2"), TENS("3"), TENS("4"),
						 TENS("5"), TENS("6"), TENS("7"), TENS("8"), TENS("9")};

static unsigned int decimal_count(uint64_t value)
{
	static const uint64_t powers[] = {0,
					  10,
					  100,
					  1000,
					  10000,
					  100000,
					  1000000,
					  10000000,
					  100000000,
					  1000000000,
					  10000000000,
					  100000000000,
					  1000000000000,
					  10000000000000,
					  100000000000000,
					  1000000000000000,
					  10000000000000000,
					  100000000000000000,
					  1000000000000000000,
					  10000000000000000000u};
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(value | 1);
	unsigned int guess = bits * 1233 >> 12; /* log10(2) = 1233 / 4096, never too much */
	return guess + (value >= powers[guess]);
}

/* Eight at a time: what is too much lies where there is room. */
static char *put_spaces(char *to, unsigned int count)
{
	const uint64_t spaces = 0x2020202020202020;
	for (unsigned int i = 0; i < count; i += sizeof(spaces))
		memcpy(to + i, &spaces, sizeof(spaces));
	return to + count;
}

char *digits_put_u64(char *to, uint64_t value, unsigned int width)
{
	if (value < 100 && !width) { /* most numbers */
		if (value < 10) {
			*to = (char)('0' + value);
			return to + 1;
		}
		memcpy(to, &pairs[value * 2], 2);
		return to + 2;
	}
	unsigned int count = value ? decimal_count(value) : 1;
	to = put_spaces(to, width > count ? width - count : 0);
	char *end = to + count, *at = end;
	for (; value >= 100; value /= 100)
		memcpy(at -= 2, &pairs[value % 100 * 2], 2);
	if (value >= 10)
		memcpy(at - 2, &pairs[value * 2], 2);
	else
		at[-1] = (char)('0' + value);
	return end;
}

char *digits_put_fraction(char *to, uint32_t value, unsigned int count)
{
	char *at = to + count;
	for (; at - to >= 2; value /= 100)
		memcpy(at -= 2, &pairs[value % 100 * 2], 2);
	if (at > to)
		*to = (char)('0' + value % 10);
	return to + count;
}

/* The first `count` digits, at most 7, become spaces. */
static uint64_t blanked(uint64_t word, unsigned int count)
{
	uint64_t mask = ((uint64_t)1 << 8 * count) - 1;
	return (word & ~mask) | (0x2020202020202020 & mask);
}

char *digits_put_hex(char *to, uint64_t value, unsigned int width)
{
	unsigned int count = (67 - (unsigned int)__builtin_clzll(value | 1)) / 4, size = count > width ? count : width;
	if (size <= 8) {
		uint64_t word = blanked(digits_hex_word((uint32_t)value) >> 8 * (8 - size), size - count);
		memcpy(to, &word, sizeof(word));
		return to + size;
	}
	to = put_spaces(to, size > 16 ? size - 16 : 0);
	size = size > 16 ? 16 : size;
	uint64_t words[4] = {digits_hex_word((uint32_t)(value >> 32)), digits_hex_word((uint32_t)value)};
	unsigned int blank = 16 - count;
	words[0] = blank < 8 ? blanked(words[0], blank) : 0x2020202020202020;
	words[1] = blank < 8 ? words[1] : blanked(words[1], blank - 8);
	if (size == 16) {
		/* Two copies: one would read two fresh stores at once, for which the processor waits. */
		memcpy(to, &words[0], 8);
		memcpy(to + 8, &words[1], 8);
		return to + 16;
	}
	memcpy(to, (const char *)words + 16 - size, 16);
	return to + size;
}

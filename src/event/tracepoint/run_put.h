/* Putting small pieces of text into a run without calls: the primitives of running print formats. */
#pragma once

#include "base/text.h"
#include "event/tracepoint/tracepoint_program.h"

#include <string.h>

static inline void run_need_room(struct print_run *run, size_t need)
{
	if (__builtin_expect((size_t)(run->end - run->at) < need, 0))
		run_grow(run, need);
}

static void run_put_bytes_raw(struct print_run *run, const void *text, size_t len)
{
	run_need_room(run, len);
	memcpy(run->at, text, len);
	run->at += len;
}

static void run_put_chars(struct print_run *run, char c, size_t count)
{
	run_need_room(run, count);
	memset(run->at, c, count);
	run->at += count;
}

static void run_put_string(struct print_run *run, const char *text)
{
	run_put_bytes_raw(run, text, strlen(text));
}

/* Bytes of the record or a name from elsewhere: what could control a terminal is escaped. */
static void run_put_safe(struct print_run *run, const char *text, size_t len)
{
	if (__builtin_expect(text_is_safe(text, len), 1)) {
		run_put_bytes_raw(run, text, len);
		return;
	}
	run_close(run);
	text_add_safe(run->out, text, len);
	run_open(run, 0);
}

/* Pads `len` bytes to the width. */
static void run_put_padded(struct print_run *run, const char *text, size_t len, int width, bool minus)
{
	size_t pad = width > 0 && (size_t)width > len ? (size_t)width - len : 0;

	if (pad && !minus)
		run_put_chars(run, ' ', pad);
	run_put_safe(run, text, len);
	if (pad && minus)
		run_put_chars(run, ' ', pad);
}

static const char run_digit_pairs[] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static inline char *decimal_digits(char *end, uint64_t value)
{
	while (value >= 100) {
		end -= 2;
		memcpy(end, run_digit_pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, run_digit_pairs + value * 2, 2);
		return end;
	}
	*--end = (char)('0' + value);
	return end;
}

/* Digits of `value`, written backwards from `end`; returns their start. */
static inline char *digits_of(char *end, uint64_t value, char letter)
{
	const char *digits = letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	unsigned int shift = letter == 'o' ? 3 : 4;

	if (letter == 'd' || letter == 'u')
		return decimal_digits(end, value);
	do
		*--end = digits[value & ((1u << shift) - 1)];
	while (value >>= shift);
	return end;
}

static void run_put_hex_number(struct print_run *run, uint64_t value)
{
	unsigned int digits = value ? (67 - (unsigned int)__builtin_clzll(value)) / 4 : 1;

	run_need_room(run, 16);
	for (unsigned int i = digits; i-- > 0; value >>= 4)
		run->at[i] = "0123456789abcdef"[value & 15];
	run->at += digits;
}

static void run_put_address(struct print_run *run, uint64_t value)
{
	run_put_bytes_raw(run, "0x", 2);
	run_put_hex_number(run, value);
}

static void run_put_decimal(struct print_run *run, uint64_t value, bool negative)
{
	char buffer[24], *end = buffer + sizeof(buffer), *start = decimal_digits(end, negative ? 0 - value : value);

	if (negative)
		*--start = '-';
	run_need_room(run, sizeof(buffer));
	size_t len = (size_t)(end - start);
	memcpy(run->at, start, len);
	run->at += len;
}

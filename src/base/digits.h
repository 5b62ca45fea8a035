/* Numbers as text, for what is printed millions of times: straight into memory that has room for DIGITS_ROOM bytes more than the width
 * asked for, some of which are written beyond the end that is returned. Nothing is terminated. */
#pragma once

#include <stdint.h>

enum { DIGITS_ROOM = 32 };

/* Decimal, and lower-case hexadecimal: right-aligned in `width` columns (filled with spaces), longer where they must. Both return the
 * end. */
char *digits_put_u64(char *to, uint64_t value, unsigned int width);
char *digits_put_hex(char *to, uint64_t value, unsigned int width);
/* The last `count` decimal digits, zeros in front: fractions. Returns the end. */
char *digits_put_fraction(char *to, uint32_t value, unsigned int count);

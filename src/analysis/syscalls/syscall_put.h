/* Numbers as text, as arguments of system calls show them; quick, for a trace has millions of lines. */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

void put_decimal(struct strbuf *out, int64_t value);
/* "0x1f"; 0 is "0". */
void put_hex(struct strbuf *out, uint64_t value);
/* "0644": a zero, then at least `digits` octal digits. */
void put_octal(struct strbuf *out, uint64_t value, unsigned int digits);
/* Milliseconds of a time in nanoseconds with three decimals, right-aligned in `width` columns. */
void put_milliseconds(struct strbuf *out, uint64_t nanoseconds, unsigned int width);

/* Numbers as text (syscall_put.h). */
#include "analysis/syscalls/syscall_put.h"

void put_decimal(struct strbuf *out, int64_t value)
{
	if (value < 0)
		strbuf_add_char(out, '-');
	strbuf_add_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value, 0);
}

void put_hex(struct strbuf *out, uint64_t value)
{
	if (value)
		strbuf_add(out, "0x", 2);
	strbuf_add_hex(out, value, 0);
}

void put_octal(struct strbuf *out, uint64_t value, unsigned int digits)
{
	char text[24];
	unsigned int at = sizeof(text);

	for (; value || digits; value >>= 3, digits -= digits != 0)
		text[--at] = (char)('0' + (value & 7));
	text[--at] = '0';
	strbuf_add(out, text + at, sizeof(text) - at);
}

void put_milliseconds(struct strbuf *out, uint64_t nanoseconds, unsigned int width)
{
	char text[40];
	unsigned int at = sizeof(text);
	uint64_t value = (nanoseconds + 500) / 1000;

	if (nanoseconds % 1000 == 500) { /* in the middle: as printf() rounds, which the kernel's tool calls */
		strbuf_printf(out, "%*.3f", (int)width, (double)nanoseconds / 1e6);
		return;
	}
	for (unsigned int i = 0; i < 3; i++, value /= 10)
		text[--at] = (char)('0' + value % 10);
	text[--at] = '.';
	do
		text[--at] = (char)('0' + value % 10);
	while (value /= 10);
	while (sizeof(text) - at < width && at)
		text[--at] = ' ';
	strbuf_add(out, text + at, sizeof(text) - at);
}

/* Growing strings. The number writers go digit by digit into the reserved room: no format string is read. */
#include "base/strbuf.h"

#include "base/digits.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void strbuf_deinit(struct strbuf *buf)
{
	free(buf->data);
	*buf = (struct strbuf){0};
}

void strbuf_clear(struct strbuf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

char *strbuf_grow(struct strbuf *buf, size_t extra)
{
	size_t need = buf->len + extra + 1;
	if (need < extra)
		mem_exhausted();
	if (need > buf->cap) {
		size_t cap = buf->cap * 2;
		buf->cap = cap > need ? cap : need < 64 ? 64 : need;
		buf->data = mem_resize(buf->data, buf->cap);
	}
	return buf->data + buf->len;
}

void strbuf_add(struct strbuf *buf, const void *data, size_t len)
{
	char *to = strbuf_reserve(buf, len);
	if (len)
		memcpy(to, data, len);
	strbuf_advance(buf, len);
}

void strbuf_add_str(struct strbuf *buf, const char *string)
{
	strbuf_add(buf, string, strlen(string));
}

void strbuf_add_chars(struct strbuf *buf, char c, size_t count)
{
	memset(strbuf_reserve(buf, count), c, count);
	strbuf_advance(buf, count);
}

void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	size_t room = buf->cap > buf->len ? buf->cap - buf->len : 0;
	int len = vsnprintf(room ? buf->data + buf->len : NULL, room, format, args);
	if (len >= 0 && (size_t)len >= room)
		vsnprintf(strbuf_reserve(buf, (size_t)len), (size_t)len + 1, format, again);
	va_end(again);
	if (len > 0)
		strbuf_advance(buf, (size_t)len);
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	strbuf_vprintf(buf, format, args);
	va_end(args);
}

void strbuf_add_u64(struct strbuf *buf, uint64_t value, unsigned int width)
{
	char *to = strbuf_reserve(buf, width + DIGITS_ROOM);
	strbuf_advance(buf, (size_t)(digits_put_u64(to, value, width) - to));
}

void strbuf_add_hex(struct strbuf *buf, uint64_t value, unsigned int width)
{
	char *to = strbuf_reserve(buf, width + DIGITS_ROOM);
	strbuf_advance(buf, (size_t)(digits_put_hex(to, value, width) - to));
}

void strbuf_add_fixed(struct strbuf *buf, double value, unsigned int digits)
{
	char *to = strbuf_reserve(buf, DIGITS_ROOM), *end = digits_put_fixed(to, value, digits);
	if (end)
		strbuf_advance(buf, (size_t)(end - to));
	else
		strbuf_printf(buf, "%.*f", (int)digits, value);
}

char *strbuf_detach(struct strbuf *buf)
{
	char *text = buf->data ? buf->data : mem_zalloc(1);
	*buf = (struct strbuf){0};
	return text;
}

/* Large reads: a file of /proc changes between them. */
int strbuf_read(struct strbuf *buf, int fd, size_t most)
{
	size_t begun = buf->len;
	for (;;) {
		size_t have = buf->len - begun, want = !have ? 4096 : have < 1 << 20 ? 1 << 16 : 1 << 20;
		ssize_t length = read(fd, strbuf_reserve(buf, want), want);
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return length < 0 ? -errno : 0;
		strbuf_advance(buf, (size_t)length);
		if (buf->len - begun > most)
			return -EFBIG;
	}
}

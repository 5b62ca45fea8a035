/* A growing byte string: what text is put together in. Always terminated by a NUL, which `len` does not count. All zero is empty. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct strbuf {
	char *data; /* NULL until something is added; strbuf_str() is never NULL */
	size_t len;
	size_t cap;
};

void strbuf_deinit(struct strbuf *buf);
/* Empties it and keeps the memory. */
void strbuf_clear(struct strbuf *buf);
/* Makes room for `extra` more bytes and the NUL, and returns where they go; after writing n of them call strbuf_advance(buf, n). */
static inline char *strbuf_reserve(struct strbuf *buf, size_t extra);
static inline void strbuf_advance(struct strbuf *buf, size_t n)
{
	buf->len += n;
	buf->data[buf->len] = '\0';
}

/* Private: strbuf_reserve() where there is no room yet. */
char *strbuf_grow(struct strbuf *buf, size_t extra);
static inline char *strbuf_reserve(struct strbuf *buf, size_t extra)
{
	return extra < buf->cap - buf->len ? buf->data + buf->len : strbuf_grow(buf, extra);
}

void strbuf_add(struct strbuf *buf, const void *data, size_t len);
void strbuf_add_str(struct strbuf *buf, const char *string);
/* The same of a literal, whose length is known. */
#define strbuf_add_literal(buf, literal) strbuf_add_known(buf, "" literal, sizeof(literal) - 1)
static inline void strbuf_add_known(struct strbuf *buf, const char *text, size_t len)
{
	memcpy(strbuf_reserve(buf, len), text, len);
	strbuf_advance(buf, len);
}
static inline void strbuf_add_char(struct strbuf *buf, char c)
{
	*strbuf_reserve(buf, 1) = c;
	strbuf_advance(buf, 1);
}
void strbuf_add_chars(struct strbuf *buf, char c, size_t count);
/* Blanks up to `width` bytes behind `start`, if what was added since is shorter. */
static inline void strbuf_pad(struct strbuf *buf, size_t start, size_t width)
{
	if (buf->len - start < width)
		strbuf_add_chars(buf, ' ', width - (buf->len - start));
}
void strbuf_printf(struct strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Decimal and lower-case hexadecimal, right-aligned in `width` (filled with spaces); width 0 = as long as needed. Much faster than printf.
 */
void strbuf_add_u64(struct strbuf *buf, uint64_t value, unsigned int width);
void strbuf_add_hex(struct strbuf *buf, uint64_t value, unsigned int width);
/* As printf's %.*f, for up to 9 digits behind the point; where that would round the decimal value of the number otherwise than the number
 * itself, the last digit may differ. */
void strbuf_add_fixed(struct strbuf *buf, double value, unsigned int digits);

/* The text as a C string, "" when nothing was added. */
static inline const char *strbuf_str(const struct strbuf *buf)
{
	return buf->data ? buf->data : "";
}

/* Adds what the descriptor has from where it stands to its end, but no more than `most` bytes; it may be a file of /proc, whose size nobody
 * tells. Interrupted reads go on. Returns 0 or -errno, -EFBIG when there is more. */
int strbuf_read(struct strbuf *buf, int fd, size_t most);

/* Hands the text over: the caller frees it; the buffer is empty afterwards. Never NULL. */
char *strbuf_detach(struct strbuf *buf);

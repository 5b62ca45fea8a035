/* Numbers and texts packed for scripts of pages (packed.h). */
#include "view/packed.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void packed_add_number(struct strbuf *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		strbuf_add_char(out, (char)(value | 0x80));
	strbuf_add_char(out, (char)value);
}

void packed_add_text(struct strbuf *out, const char *name)
{
	text_add_safe(out, name, strlen(name));
	strbuf_add_char(out, '\0');
}

bool packed_write(struct strbuf *out, const struct strbuf *plain)
{
	uLongf size = compressBound(plain->len);
	unsigned char *packed = mem_alloc(size);
	if (compress2(packed, &size, (const unsigned char *)plain->data, plain->len, 6) != Z_OK) {
		free(packed);
		return false;
	}
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	strbuf_reserve(out, size / 3 * 4 + 4);
	for (size_t i = 0; i < size; i += 3) {
		uint32_t bits =
			(uint32_t)packed[i] << 16 | (uint32_t)(i + 1 < size ? packed[i + 1] : 0) << 8 | (i + 2 < size ? packed[i + 2] : 0);
		char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63], digits[bits & 63]};
		memset(four + (i + 2 < size ? 4 : i + 1 < size ? 3 : 2), '=', i + 2 < size ? 0 : i + 1 < size ? 1 : 2);
		strbuf_add(out, four, 4);
	}
	free(packed);
	return true;
}

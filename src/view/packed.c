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
	text_add_base64(out, packed, size);
	free(packed);
	return true;
}

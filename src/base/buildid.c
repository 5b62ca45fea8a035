/* Build-ids as bytes and as hexadecimal text. */
#include "base/buildid.h"

#include <string.h>

bool buildid_equal(const struct buildid *a, const struct buildid *b)
{
	return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

const char *buildid_format(const struct buildid *id, char buffer[41])
{
	char *to = buffer;
	for (unsigned int i = 0; i < id->size && i < sizeof(id->data); i++) {
		*to++ = "0123456789abcdef"[id->data[i] >> 4];
		*to++ = "0123456789abcdef"[id->data[i] & 15];
	}
	*to = '\0';
	return buffer;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool buildid_parse(const char *text, struct buildid *ret)
{
	struct buildid id = {0};
	while (*text) {
		int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);
		if (low < 0 || id.size == sizeof(id.data))
			return false;
		id.data[id.size++] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	*ret = id;
	return true;
}

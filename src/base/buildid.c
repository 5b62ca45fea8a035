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
	const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
	return found ? (int)(found - digits) : -1;
}

bool buildid_parse(const char *text, size_t length, struct buildid *ret)
{
	struct buildid id = {.size = (uint8_t)(length / 2)};
	if (!length || length % 2 || length > 2 * sizeof(id.data))
		return false;
	for (size_t i = 0; i < length; i++) {
		int digit = hex_digit(text[i]);
		if (digit < 0)
			return false;
		id.data[i / 2] = (uint8_t)(id.data[i / 2] << 4 | digit);
	}
	*ret = id;
	return true;
}

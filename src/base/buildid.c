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

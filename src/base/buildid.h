/* Build-ids: the content's name of an ELF file (NT_GNU_BUILD_ID note), up to 20 bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buildid {
	uint8_t data[20];
	uint8_t size; /* 0 = none */
};

bool buildid_equal(const struct buildid *a, const struct buildid *b);
/* Lower-case hexadecimal digits with a NUL; "" when there is none. Returns `buffer`. */
const char *buildid_format(const struct buildid *id, char buffer[41]);
/* The opposite, of the first `length` characters: false when they aren't 2 to 40 hexadecimal digits, two for each byte. */
bool buildid_parse(const char *text, size_t length, struct buildid *ret);

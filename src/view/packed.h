/* Data for the script of a page: numbers (LEB128) and texts, compressed by zlib, in base64. packed.js reads them. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

void packed_add_number(struct strbuf *out, uint64_t value);
/* Made harmless (text_add_safe), in UTF-8, ended by a NUL. */
void packed_add_text(struct strbuf *out, const char *text);
/* Adds the base64 text of what `plain` packs. Returns false when zlib has no memory. */
bool packed_write(struct strbuf *out, const struct strbuf *plain);

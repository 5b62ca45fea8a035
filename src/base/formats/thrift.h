/* Thrift's compact protocol (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md), written piece by piece: what the metadata of
 * Parquet is in. Fields of a structure come in ascending order.
 *
 *	struct thrift thrift = {.out = &out};
 *	thrift_add_int(&thrift, 1, THRIFT_I32, 2);
 *	thrift_begin_list(&thrift, 2, THRIFT_STRUCT, 1);
 *	thrift_begin_element(&thrift);
 *	thrift_add_text(&thrift, 4, "name");
 *	thrift_end(&thrift);
 *	thrift_end(&thrift);				the outermost structure
 */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_TEXT = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };
enum { THRIFT_DEPTH = 8 };

struct thrift {
	struct strbuf *out;
	uint32_t last[THRIFT_DEPTH]; /* private: the last field of each structure around */
	unsigned int depth;
};

void thrift_add_int(struct thrift *thrift, uint32_t field, enum thrift_type type, int64_t value);
void thrift_add_text(struct thrift *thrift, uint32_t field, const char *text);
/* A structure as a field, or as an element of a list; thrift_end() ends it. */
void thrift_begin(struct thrift *thrift, uint32_t field);
void thrift_begin_element(struct thrift *thrift);
void thrift_end(struct thrift *thrift);
/* A list, whose elements follow. */
void thrift_begin_list(struct thrift *thrift, uint32_t field, enum thrift_type type, size_t count);
void thrift_add_int_element(struct thrift *thrift, int64_t value);
void thrift_add_text_element(struct thrift *thrift, const char *text);

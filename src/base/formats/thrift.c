/* Thrift's compact protocol: a field is its distance from the one before and its type in one byte, a number is a zigzag varint. */
#include "base/formats/thrift.h"

#include "base/formats/protobuf.h"

#include <assert.h>
#include <string.h>

static void add_header(struct thrift *thrift, uint32_t field, enum thrift_type type)
{
	uint32_t distance = field - thrift->last[thrift->depth];
	assert(distance && distance < 16);
	strbuf_add_char(thrift->out, (char)(distance << 4 | type));
	thrift->last[thrift->depth] = field;
}

void thrift_add_int_element(struct thrift *thrift, int64_t value)
{
	protobuf_varint(thrift->out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

void thrift_add_text_element(struct thrift *thrift, const char *text)
{
	size_t length = strlen(text);
	protobuf_varint(thrift->out, length);
	strbuf_add(thrift->out, text, length);
}

void thrift_add_int(struct thrift *thrift, uint32_t field, enum thrift_type type, int64_t value)
{
	add_header(thrift, field, type);
	thrift_add_int_element(thrift, value);
}

void thrift_add_text(struct thrift *thrift, uint32_t field, const char *text)
{
	add_header(thrift, field, THRIFT_TEXT);
	thrift_add_text_element(thrift, text);
}

void thrift_begin_element(struct thrift *thrift)
{
	thrift->depth++;
	assert(thrift->depth < THRIFT_DEPTH);
	thrift->last[thrift->depth] = 0;
}

void thrift_begin(struct thrift *thrift, uint32_t field)
{
	add_header(thrift, field, THRIFT_STRUCT);
	thrift_begin_element(thrift);
}

void thrift_end(struct thrift *thrift)
{
	strbuf_add_char(thrift->out, '\0');
	if (thrift->depth)
		thrift->depth--;
}

void thrift_begin_list(struct thrift *thrift, uint32_t field, enum thrift_type type, size_t count)
{
	enum { SHORT = 15 };
	add_header(thrift, field, THRIFT_LIST);
	strbuf_add_char(thrift->out, (char)((count < SHORT ? count : SHORT) << 4 | type));
	if (count >= SHORT)
		protobuf_varint(thrift->out, count);
}

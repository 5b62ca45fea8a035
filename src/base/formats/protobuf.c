/* Protocol buffers: varints, and the other kinds of fields that are in use. */
#include "base/formats/protobuf.h"

#include "base/formats/leb128.h"
#include "base/text.h"

#include <string.h>

enum wire_type { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

void protobuf_varint(struct strbuf *out, uint64_t value)
{
	enum { LONGEST = 10 };
	char *at = strbuf_reserve(out, LONGEST);
	size_t count = 0;
	while (value >= 0x80) {
		at[count++] = (char)(value | 0x80);
		value >>= 7;
	}
	at[count++] = (char)value;
	strbuf_advance(out, count);
}

static void add_key(struct strbuf *out, uint32_t field, enum wire_type type)
{
	protobuf_varint(out, (uint64_t)field << 3 | type);
}

void protobuf_add_present(struct strbuf *out, uint32_t field, uint64_t value)
{
	add_key(out, field, WIRE_VARINT);
	protobuf_varint(out, value);
}

void protobuf_add_u64(struct strbuf *out, uint32_t field, uint64_t value)
{
	if (value)
		protobuf_add_present(out, field, value);
}

void protobuf_add_fixed64(struct strbuf *out, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	add_key(out, field, WIRE_64);
	for (int i = 0; i < 8; i++)
		strbuf_add_char(out, (char)(value >> 8 * i));
}

void protobuf_add_bytes(struct strbuf *out, uint32_t field, const void *data, size_t size)
{
	add_key(out, field, WIRE_BYTES);
	protobuf_varint(out, size);
	strbuf_add(out, data, size);
}

void protobuf_add_string(struct strbuf *out, uint32_t field, const char *text)
{
	struct strbuf safe = {0};
	text_add_safe(&safe, text, strlen(text));
	protobuf_add_bytes(out, field, strbuf_str(&safe), safe.len);
	strbuf_deinit(&safe);
}

void protobuf_add_message(struct strbuf *out, uint32_t field, struct strbuf *message)
{
	protobuf_add_bytes(out, field, strbuf_str(message), message->len);
	strbuf_clear(message);
}

bool protobuf_next(struct cursor *message, struct protobuf_field *ret)
{
	if (message->failed || !cursor_left(message))
		return false;
	uint64_t key = leb128_unsigned(message), length;
	*ret = (struct protobuf_field){.number = (uint32_t)(key >> 3)};
	switch (key & 7) {
	case WIRE_VARINT:
		ret->value = leb128_unsigned(message);
		break;
	case WIRE_64:
		ret->value = cursor_u64(message);
		break;
	case WIRE_32:
		ret->value = cursor_u32(message);
		break;
	case WIRE_BYTES:
		length = leb128_unsigned(message);
		ret->message = cursor_init(cursor_bytes(message, length), message->failed ? 0 : length, false);
		ret->is_piece = true;
		break;
	default:
		message->failed = true;
	}
	return !message->failed;
}

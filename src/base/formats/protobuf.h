/* Protocol buffers, written and read piece by piece (https://protobuf.dev/programming-guides/encoding). Fields with the default value, 0
 * or nothing, are left out, as proto3 has it; a message may be added in any order of its fields.
 *
 *	struct strbuf line = {0};
 *	protobuf_add_u64(&line, 1, function);
 *	protobuf_add_message(&location, 4, &line);      empties `line`
 */
#pragma once

#include "base/cursor.h"
#include "base/strbuf.h"

#include <stdint.h>

/* A number as it is in packed fields and in front of pieces. */
void protobuf_varint(struct strbuf *out, uint64_t value);
/* uint64, int64 (negative ones as the 64 bits that they are), uint32, int32, bool, enumerations. */
void protobuf_add_u64(struct strbuf *out, uint32_t field, uint64_t value);
/* The same, also for 0: elements of lists that aren't packed, optional fields that are there. */
void protobuf_add_present(struct strbuf *out, uint32_t field, uint64_t value);
void protobuf_add_fixed64(struct strbuf *out, uint32_t field, uint64_t value);
/* `bytes`, also when there are none; and `string`, made valid UTF-8 without control characters. */
void protobuf_add_bytes(struct strbuf *out, uint32_t field, const void *data, size_t size);
void protobuf_add_string(struct strbuf *out, uint32_t field, const char *text);
/* A message, or a packed list, which is empty afterwards and keeps its memory. */
void protobuf_add_message(struct strbuf *out, uint32_t field, struct strbuf *message);

/* Reading, of what may be hostile. */
struct protobuf_field {
	uint32_t number;
	uint64_t value;	       /* of a number */
	struct cursor message; /* of a piece of bytes; else empty */
	bool is_piece;
};
/* The next field; false at the end, or where the message is damaged (message->failed). */
bool protobuf_next(struct cursor *message, struct protobuf_field *ret);

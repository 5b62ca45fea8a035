/* Protocol buffers, beside the bytes that the specification of the encoding gives. */
#include "base/formats/protobuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(struct strbuf *out, const char *bytes, size_t size)
{
	assert_int_equal(out->len, size);
	assert_memory_equal(strbuf_str(out), bytes, size);
	strbuf_deinit(out);
}

#define CHECK(out, bytes) check(out, bytes, sizeof(bytes) - 1)

static void numbers(void **state)
{
	struct strbuf out = {0};
	(void)state;
	protobuf_add_u64(&out, 1, 150);
	CHECK(&out, "\x08\x96\x01");
	protobuf_add_u64(&out, 16, UINT64_MAX);
	CHECK(&out, "\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_add_u64(&out, 1, 0);
	CHECK(&out, "");
	protobuf_add_present(&out, 1, 0);
	CHECK(&out, "\x08\x00");
	protobuf_add_fixed64(&out, 2, 0x0102030405060708);
	CHECK(&out, "\x11\x08\x07\x06\x05\x04\x03\x02\x01");
}

/* Strings are valid UTF-8 whatever comes in; a message is empty once it was added. */
static void pieces(void **state)
{
	struct strbuf out = {0}, message = {0};
	(void)state;
	protobuf_add_string(&out, 2, "testing");
	CHECK(&out, "\x12\x07testing");
	protobuf_add_string(&out, 2, "a\xff\x1b");
	CHECK(&out, "\x12\x09"
		    "a\\xff\\x1b");
	protobuf_add_u64(&message, 1, 150);
	protobuf_add_message(&out, 3, &message);
	protobuf_add_message(&out, 3, &message);
	CHECK(&out, "\x1a\x03\x08\x96\x01\x1a\x00");
	protobuf_varint(&message, 3);
	protobuf_varint(&message, 270);
	protobuf_add_message(&out, 6, &message);
	CHECK(&out, "\x32\x03\x03\x8e\x02");
	strbuf_deinit(&message);
}

int base_protobuf_tests(void);
int base_protobuf_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(pieces),
	};
	return cmocka_run_group_tests_name("base/protobuf", tests, NULL, NULL);
}

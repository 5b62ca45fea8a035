/* JSON as it is written: commas, escapes, layouts. */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(struct strbuf *text, const char *expected)
{
	assert_string_equal(strbuf_str(text), expected);
	strbuf_deinit(text);
}

/* One of everything, nested and empty ones too. */
static void write_all(struct json *json)
{
	json_begin_object(json);
	json_add_string(json, "a", "x");
	json_name(json, "list");
	json_begin_array(json);
	json_u64(json, 1);
	json_begin_object(json);
	json_end_object(json);
	json_begin_array(json);
	json_end_array(json);
	json_string(json, "s");
	json_value(json, "%.1f", -0.5);
	json_end_array(json);
	json_name(json, "in");
	json_begin_object(json);
	json_add_u64(json, "max", UINT64_MAX);
	json_add_hex(json, "hex", UINT64_MAX);
	json_end_object(json);
	json_name(json, "yes");
	json_bool(json, true);
	json_add_text(json, "part", "abc", 2);
	json_end_object(json);
}

static void commas_stand_between(void **state)
{
	struct strbuf text = {0};
	struct json json = {.out = &text};
	write_all(&json);
	check(&text, "{\"a\":\"x\",\"list\":[1,{},[],\"s\",-0.5],\"in\":{\"max\":18446744073709551615,\"hex\":\"0xffffffffffffffff\"},"
		     "\"yes\":true,\"part\":\"ab\"}");
}

static void layouts_differ(void **state)
{
	struct strbuf text = {0};
	struct json json = {.out = &text, .comma = ", ", .colon = " : ", .indent = "\n\t"};
	json_begin_object(&json);
	json_add_u64(&json, "a", 1);
	json_add_u64(&json, "b", 2);
	json_end_object(&json);
	check(&text, "{\n\t\"a\" : 1, \n\t\"b\" : 2}");
}

/* Whatever bytes names have: quotes, control characters, what is no UTF-8. */
static void strings_are_escaped(void **state)
{
	struct strbuf text = {0};
	struct json json = {.out = &text};
	json_begin_array(&json);
	json_string(&json, "\"\\");
	json_text(&json, "a\0b", 3);
	json_string(&json, "\x1b[31m");
	json_end_array(&json);
	assert_null(memchr(text.data, '\x1b', text.len));
	assert_null(memchr(text.data, '\0', text.len));
	assert_non_null(strstr(strbuf_str(&text), "[\"\\\"\\\\\",\"a\\u0000b\","));
	strbuf_deinit(&text);
}

int base_json_tests(void);
int base_json_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between),
		cmocka_unit_test(layouts_differ),
		cmocka_unit_test(strings_are_escaped),
	};
	return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}

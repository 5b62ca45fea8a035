/* JSON, read: values of all kinds, escapes, what is skipped, and what is no JSON. */
#include "base/formats/json_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct json_reader reader_of(const char *text)
{
	return json_reader_init(text, strlen(text));
}

static void values(void **state)
{
	struct json_reader json = reader_of(" { \"a\" : [1, -2.5e1, \"x\", true, null, {}, []] , \"b\":{\"c\":[[\"]\\\"}\"]]},\"d\":7}");
	struct strbuf text = {0};
	assert_true(json_enter(&json, '{'));
	assert_true(json_next_member(&json, &text));
	assert_string_equal(strbuf_str(&text), "a");
	assert_true(json_enter(&json, '['));
	assert_true(json_next_item(&json) && json_read_number(&json) == 1);
	assert_true(json_next_item(&json) && json_read_number(&json) == -25);
	assert_true(json_next_item(&json) && json_read_number(&json) == 0); /* a string */
	assert_true(json_next_item(&json) && json_peek(&json) == 't');
	json_read_string(&json, &text);
	assert_string_equal(strbuf_str(&text), "");
	for (int i = 0; i < 3; i++) {
		assert_true(json_next_item(&json));
		json_skip(&json);
	}
	assert_false(json_next_item(&json));
	assert_true(json_next_member(&json, &text));
	assert_false(json_enter(&json, '[')); /* an object, which is skipped */
	assert_true(json_next_member(&json, &text));
	assert_string_equal(strbuf_str(&text), "d");
	assert_true(json_read_number(&json) == 7);
	assert_false(json_next_member(&json, &text));
	assert_false(json.failed);
	assert_int_equal(json_peek(&json), 0);
	strbuf_deinit(&text);
}

static void escapes(void **state)
{
	struct json_reader json = reader_of("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00 \\ud83d.\"");
	struct strbuf text = {0};
	json_read_string(&json, &text);
	assert_string_equal(strbuf_str(&text), "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \xed\xa0\xbd.");
	assert_false(json.failed);
	strbuf_deinit(&text);
}

static bool is_whole(const char *start, size_t size)
{
	struct json_reader json = json_reader_init(start, size);
	json_skip(&json);
	return !json.failed && !json_peek(&json);
}

static void no_json(void **state)
{
	static const char text[] = "{\"a\":[1,{\"b\":\"c\\\"\"},[[]]],\"d\":null}";
	static const char *const others[] = {"", "\"", "\"\\", "[", "{\"a", "]", "\"\\u12", "[1", ":"};
	assert_true(is_whole(text, strlen(text)));
	for (size_t size = 0; size < strlen(text); size++)
		assert_false(is_whole(text, size));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(is_whole(others[i], strlen(others[i])));
	struct json_reader json = reader_of("[1 2]");
	assert_true(json_enter(&json, '[') && json_next_item(&json) && json_read_number(&json) == 1);
	assert_false(json_next_item(&json));
	assert_true(json.failed);
}

int base_json_reader_tests(void);
int base_json_reader_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(escapes), cmocka_unit_test(no_json)};
	return cmocka_run_group_tests_name("base/json_reader", tests, NULL, NULL);
}

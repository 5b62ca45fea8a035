/* Foreign text made harmless, globs, nearest names. */
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct row {
	const char *input;
	size_t len; /* 0 = strlen */
	const char *expected;
};

static void check(const struct row *rows, size_t count, void (*add)(struct strbuf *, const char *, size_t))
{
	for (size_t i = 0; i < count; i++) {
		struct strbuf text = {0};
		size_t len = rows[i].len ? rows[i].len : strlen(rows[i].input);
		add(&text, rows[i].input, len);
		assert_string_equal(strbuf_str(&text), rows[i].expected);
		strbuf_deinit(&text);
	}
}

static void safe_text(void **state)
{
	static const struct row rows[] = {
		{"plain [a] \\ ~", 0, "plain [a] \\ ~"},
		{"\x1b[31mred\n\t\x7f", 0, "\\x1b[31mred\\x0a\\x09\\x7f"},
		{"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 0, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
		{"\xc2\x9b", 0, "\\xc2\\x9b"},				  /* C1 control: CSI */
		{"\xe2\x80\xae", 0, "\\xe2\\x80\\xae"},			  /* right-to-left override */
		{"\xc0\xaf\xed\xa0\x80", 0, "\\xc0\\xaf\\xed\\xa0\\x80"}, /* overlong, surrogate */
		{"\xf4\x90\x80\x80", 0, "\\xf4\\x90\\x80\\x80"},	  /* above U+10FFFF */
		{"\xe2\x82", 0, "\\xe2\\x82"},				  /* cut short */
		{"a\0b", 3, "a\\x00b"},
	};
	check(rows, sizeof(rows) / sizeof(*rows), text_add_safe);
	assert_true(text_is_safe("caf\xc3\xa9", 5));
	assert_false(text_is_safe("a\033", 2));
	assert_true(text_is_safe("", 0));
}

static void html_and_json(void **state)
{
	static const struct row html[] = {{"<a href=\"x\">&'</a>\n", 0, "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;\\x0a"}};
	static const struct row json[] = {{"a\"b\\c\n\xff\xc3\xa9", 0, "\"a\\\"b\\\\c\\u000a\\u00ff\xc3\xa9\""}};
	check(html, 1, text_add_html);
	check(json, 1, text_add_json);
}

static void csv(void **state)
{
	struct strbuf text = {0};
	text_add_csv(&text, "plain", 5, ",");
	text_add_csv(&text, ",a\"b", 4, ",");
	text_add_csv(&text, "a,b", 3, ";");
	text_add_csv(&text, "a,b", 3, "");
	assert_string_equal(strbuf_str(&text), "plain\",a\"\"b\"a,ba,b");
	strbuf_deinit(&text);
}

static void globs(void **state)
{
	assert_true(str_glob_match("sched:*", "sched:sched_switch"));
	assert_true(str_glob_match("sys_[er]*t_?pen", "sys_exit_open"));
	assert_false(str_glob_match("sched", "sched:x"));
	assert_true(str_has_glob("a?") && str_has_glob("[a]") && !str_has_glob("a.b"));
	assert_true(str_starts_with("abc", "ab") && !str_starts_with("a", "ab"));
	assert_true(str_ends_with("abc", "bc") && !str_ends_with("c", "bc"));
}

static void nearest(void **state)
{
	static const char *const names[] = {"record", "report", "script", "version"};
	assert_int_equal(str_distance("", "abc"), 3);
	assert_int_equal(str_distance("record", "reocrd"), 1);
	assert_int_equal(str_distance("kitten", "sitting"), 3);
	assert_string_equal(str_nearest("reprot", names, 4), "report");
	assert_string_equal(str_nearest("vers", names, 4), "version");
	assert_null(str_nearest("zzzzzz", names, 4));
	assert_null(str_nearest("x", names, 0));
}

int base_text_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(safe_text), cmocka_unit_test(html_and_json), cmocka_unit_test(csv),
		cmocka_unit_test(globs),     cmocka_unit_test(nearest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

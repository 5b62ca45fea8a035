/* Probe definitions: every part of the grammar, names, patterns, lines; and what is refused. */
#include "event/probe_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct probe_spec parse(const char *text)
{
	struct probe_spec spec;
	struct error *error = probe_spec_parse(text, &spec);

	if (error)
		fail_msg("%s", error_message(error));
	return spec;
}

static void places(void **state)
{
	struct probe_spec spec = parse("group:name=main@src/a.c+0x10");
	assert_string_equal(spec.group, "group");
	assert_string_equal(spec.event, "name");
	assert_string_equal(spec.function, "main");
	assert_string_equal(spec.file, "src/a.c");
	assert_int_equal(spec.offset, 16);
	probe_spec_deinit(&spec);

	spec = parse("prog.c:20");
	assert_null(spec.function);
	assert_string_equal(spec.file, "prog.c");
	assert_true(spec.has_line);
	assert_int_equal(spec.line, 20);
	probe_spec_deinit(&spec);

	spec = parse("foo.constprop.0%return");
	assert_string_equal(spec.function, "foo.constprop.0");
	assert_true(spec.is_return);
	probe_spec_deinit(&spec);

	spec = parse("run;a=b:c* x");
	assert_string_equal(spec.pattern, "a=b:c*");
	assert_int_equal(spec.arguments.len, 1);
	probe_spec_deinit(&spec);

	spec = parse("=x=0x4000 %di");
	assert_null(spec.group);
	probe_spec_deinit(&spec);
}

static void names_with_colons(void **state)
{
	struct probe_spec spec = parse("e=shop::basket<std::pair<int,int>>::add:3");
	assert_string_equal(spec.event, "e");
	assert_string_equal(spec.function, "shop::basket<std::pair<int,int>>::add");
	assert_int_equal(spec.line, 3);
	probe_spec_deinit(&spec);

	spec = parse("'operator+=' x");
	assert_string_equal(spec.function, "operator+=");
	assert_int_equal(spec.arguments.len, 1);
	probe_spec_deinit(&spec);

	spec = parse("operator\\=\\=");
	assert_string_equal(spec.function, "operator==");
	assert_null(spec.event);
	probe_spec_deinit(&spec);
}

static void static_tracepoints(void **state)
{
	struct probe_spec spec = parse("%sdt_libc:setjmp");
	assert_string_equal(spec.provider, "libc");
	assert_string_equal(spec.function, "setjmp");
	probe_spec_deinit(&spec);
	spec = parse("mine=sdt_libc:*");
	assert_string_equal(spec.event, "mine");
	assert_string_equal(spec.provider, "libc");
	probe_spec_deinit(&spec);
}

static void arguments(void **state)
{
	struct probe_spec spec = parse("f n=item->list[2].name:string %di:x64 +8(%si) $vars \\\"a b\" flags");
	assert_int_equal(spec.arguments.len, 6);
	const struct probe_argument *first = &spec.arguments.data[0];
	assert_int_equal(first->kind, PROBE_ARGUMENT_VARIABLE);
	assert_string_equal(first->name, "n");
	assert_string_equal(first->value, "item");
	assert_string_equal(first->cast, "string");
	assert_int_equal(first->steps.len, 3);
	assert_string_equal(first->steps.data[0].member, "list");
	assert_true(first->steps.data[0].arrow);
	assert_null(first->steps.data[1].member);
	assert_int_equal(first->steps.data[1].index, 2);
	assert_string_equal(first->steps.data[2].member, "name");
	assert_false(first->steps.data[2].arrow);
	assert_int_equal(spec.arguments.data[1].kind, PROBE_ARGUMENT_KERNEL);
	assert_string_equal(spec.arguments.data[1].text, "%di:x64");
	assert_int_equal(spec.arguments.data[3].kind, PROBE_ARGUMENT_VARS);
	assert_string_equal(spec.arguments.data[4].text, "\\\"a b\"");
	assert_string_equal(spec.arguments.data[5].value, "flags");
	probe_spec_deinit(&spec);
}

static void refused(void **state)
{
	static const char *const texts[] = {"",		  " ",	       "f+x",	       "f:y",	     "f%retur", "f+1:2",  "f%return+2",
					    "f%return:3", "f:",	       "1a=f",	       "a-b=f",	     "f a..b",	"f a[x]", "f a[1",
					    "f a:u7",	  "f a:",      "f $retval",    "f%return a", "f ?x",	"0xzz",	  "a.c;",
					    "f a->",	  "f a->b c-", "a.c:1%return", "f 1x=a"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct probe_spec spec;
		struct error *error = probe_spec_parse(texts[i], &spec);
		if (!error)
			fail_msg("'%s' was taken", texts[i]);
		assert_int_equal(error_kind(error), ERROR_USAGE);
		error_free(error);
	}
}

static void event_names(void **state)
{
	static const char *const pairs[][2] = {{"shop::twice<std::x>", "twice"},
					       {"main", "main"},
					       {"foo.constprop.0", "foo_constprop_0"},
					       {"a::operator+", "operator_"},
					       {"<impl X for Y>::go", "go"},
					       {"9lives", "_9lives"},
					       {"", "_"}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char *name = probe_name_of(pairs[i][0]);
		assert_string_equal(name, pairs[i][1]);
		assert_true(probe_name_is_valid(name));
		free(name);
	}
	assert_false(probe_name_is_valid("a-b"));
}

static void patterns(void **state)
{
	assert_true(probe_pattern_match("sum+=*", "\tsum += 3;", 10));
	assert_true(probe_pattern_match(" c ++ ;", "c++;", 4));
	assert_false(probe_pattern_match("c++", "c++;", 4));
	assert_false(probe_pattern_match("", "", 0));
}

static void check_lines(const char *text, const char *function, const char *file, uint32_t first, uint32_t last)
{
	struct probe_lines lines;

	assert_null(probe_lines_parse(text, &lines));
	if (function)
		assert_string_equal(lines.function, function);
	else
		assert_null(lines.function);
	if (file)
		assert_string_equal(lines.file, file);
	assert_int_equal(lines.first, first);
	assert_int_equal(lines.last, last);
	arena_deinit(&lines.arena);
}

static void line_ranges(void **state)
{
	struct probe_lines lines;

	check_lines("main", "main", NULL, 0, UINT32_MAX);
	check_lines("main:2-5", "main", NULL, 2, 5);
	check_lines("main:2+3", "main", NULL, 2, 4);
	check_lines("a::b@x.cc:7", "a::b", "x.cc", 7, UINT32_MAX);
	check_lines("dir/x.c:10", NULL, "dir/x.c", 10, UINT32_MAX);
	for (size_t i = 0; i < 4; i++) {
		struct error *error = probe_lines_parse((const char *[]){"main:x", "main:5-2", ":3", "f@"}[i], &lines);
		assert_non_null(error);
		error_free(error);
	}
}

static void casts(void **state)
{
	assert_true(probe_cast_is_known("u8"));
	assert_true(probe_cast_is_known("b3@4/32"));
	assert_true(probe_cast_is_known("u32[4]"));
	assert_true(probe_cast_is_known("ustring"));
	assert_false(probe_cast_is_known("u9"));
	assert_false(probe_cast_is_known("b3@4"));
	assert_false(probe_cast_is_known(""));
}

int event_probe_spec_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),    cmocka_unit_test(names_with_colons), cmocka_unit_test(static_tracepoints),
		cmocka_unit_test(arguments), cmocka_unit_test(refused),		  cmocka_unit_test(event_names),
		cmocka_unit_test(patterns),  cmocka_unit_test(line_ranges),	  cmocka_unit_test(casts)};

	return cmocka_run_group_tests_name("event/probe_spec", tests, NULL, NULL);
}

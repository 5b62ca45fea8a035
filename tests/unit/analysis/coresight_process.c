/* Text of a process of its own: what doesn't fit is counted, and closed standard descriptors mix nothing up. */
#include "analysis/itrace/coresight_process.h"

#include "base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES = 1000, LINE = 10 };

static bool write_lines(void *context, int to)
{
	bool good = *(bool *)context;
	for (int i = 0; i < LINES; i++)
		good &= coresight_write(to, "123456789\n", LINE);
	return good;
}

static void test_all(void **state)
{
	struct strbuf out = {0};
	size_t left_out;
	bool good = true;
	assert_true(coresight_process_collect(write_lines, &good, LINES * LINE, &out, &left_out));
	assert_int_equal(out.len, LINES * LINE);
	assert_int_equal(left_out, 0);
	good = false;
	assert_false(coresight_process_collect(write_lines, &good, LINES * LINE, &out, &left_out));
	strbuf_deinit(&out);
}

static void test_too_much(void **state)
{
	struct strbuf out = {0};
	size_t left_out;
	bool good = true;
	strbuf_add_str(&out, "head\n");
	assert_true(coresight_process_collect(write_lines, &good, 4 * LINE + 5, &out, &left_out));
	assert_string_equal(strbuf_str(&out), "head\n123456789\n123456789\n123456789\n123456789\n");
	assert_int_equal(left_out, (LINES - 4) * LINE);
	strbuf_deinit(&out);
}

static void test_closed_descriptors(void **state)
{
	struct strbuf out = {0};
	size_t left_out;
	bool good = true;
	int old = dup(STDIN_FILENO), old_out = dup(STDOUT_FILENO);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	bool collected = coresight_process_collect(write_lines, &good, LINES * LINE, &out, &left_out);
	if (old >= 0)
		dup2(old, STDIN_FILENO);
	dup2(old_out, STDOUT_FILENO);
	assert_true(collected);
	assert_int_equal(out.len, LINES * LINE);
	strbuf_deinit(&out);
}

int analysis_coresight_process_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_closed_descriptors),
	};
	return cmocka_run_group_tests_name("coresight_process", tests, NULL, NULL);
}

/* Names of errors and signals against the C library's. */
#include "kernel/capability/capability.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_errors(void **state)
{
	int named = 0;
	for (int error = -1; error < 600; error++) {
		const char *name = capability_errno_name(error);
		if (!strcmp(name, "an unknown errno") || error == 524)
			continue;
		assert_string_equal(name, strerrorname_np(error));
		named++;
	}
	assert_int_equal(named, 43);
	assert_string_equal(capability_errno_name(524), "ENOTSUPP");
}

static void test_signals(void **state)
{
	int named = 0;
	for (int number = -1; number < 70; number++) {
		const char *name = capability_signal_name(number);
		char expected[16];
		if (!strcmp(name, "a signal"))
			continue;
		snprintf(expected, sizeof(expected), "SIG%s", sigabbrev_np(number));
		assert_string_equal(name, expected);
		named++;
	}
	assert_int_equal(named, 17);
}

int kernel_answer_names_tests(void);
int kernel_answer_names_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_signals)};
	return cmocka_run_group_tests_name("kernel/answer_names", tests, NULL, NULL);
}

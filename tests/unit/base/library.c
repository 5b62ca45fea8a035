/* Libraries that are loaded when they are needed. */
#include "base/library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void functions_are_set(void **state)
{
	double (*root)(double number) = NULL, (*power)(double base, double exponent) = NULL;
	const struct library_function functions[] = {{"sqrt", &root}, {"pow", &power}};
	assert_null(library_load("libm.so.6", functions, 2));
	assert_true(root(16) == 4 && power(2, 10) == 1024);
}

static void what_is_missing_is_named(void **state)
{
	double (*root)(double number) = NULL, (*nothing)(double number) = NULL;
	const struct library_function functions[] = {{"sqrt", &root}, {"no_such_function", &nothing}};
	struct error *error = library_load("libm.so.6", functions, 2);
	assert_non_null(strstr(error_message(error), "libm.so.6 has no no_such_function"));
	assert_true(!root && !nothing);
	error_free(error);
	error = library_load("libnothing-of-this-name.so.1", functions, 1);
	assert_non_null(strstr(error_message(error), "cannot load libnothing-of-this-name.so.1"));
	error_free(error);
}

int base_library_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_set),
		cmocka_unit_test(what_is_missing_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

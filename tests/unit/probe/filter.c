/* Conditions on names, against the same condition written in C. */
#include "probe/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void conditions(void **state)
{
	static const struct {
		const char *filter, *name;
		bool matches;
	} cases[] = {
		{"main", "main", true},		  {"main", "main2", false},	    {"ma*", "main", true},
		{"m?in", "main", true},		  {"!ma*", "main", false},	    {"!!ma*", "main", true},
		{"a* | b*", "beta", true},	  {"a* & *b", "ab", true},	    {"a* & *b", "ac", false},
		{"a* | b* & *c", "ax", true}, /* & binds closer */
		{"(a* | b*) & *c", "ax", false},  {" ( a* | b* )&*c ", "bc", true}, {"!(a* | b*) & *c", "dc", true},
		{"!(a* | b*) & *c", "bc", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_null(probe_filter_check(cases[i].filter));
		assert_int_equal(probe_filter_matches(cases[i].filter, cases[i].name), cases[i].matches);
	}
}

static void mistakes(void **state)
{
	static const char *const wrong[] = {"", "a &", "| a", "(a", "a)", "!", "a b", "a && b", "()"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error *error = probe_filter_check(wrong[i]);
		assert_non_null(error);
		assert_int_equal(error_kind(error), ERROR_USAGE);
		error_free(error);
	}
}

int probe_filter_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(conditions), cmocka_unit_test(mistakes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

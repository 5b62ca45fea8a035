/* How much of a recording what it carries may be. */
#include "analysis/carry/carry.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Compressed to half, an eighth of a recording of more than 50 MB; as much as can be read back, at most. */
static void room(void **state)
{
	enum { MB = 1 << 20, SMALL = 8 * MB };
	assert_int_equal(carry_options_for(0).wanted, SMALL);
	assert_int_equal(carry_options_for(SMALL).wanted, SMALL);
	assert_int_equal(carry_options_for(100 * MB).wanted, 25 * MB);
	assert_int_equal(carry_options_for((uint64_t)1 << 40).wanted, FEATURE_CARRIED_MAX);
	assert_int_equal(carry_options_for((uint64_t)1 << 40).most, FEATURE_CARRIED_MAX);
}

int analysis_carry_tests(void);
int analysis_carry_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(room)};
	return cmocka_run_group_tests_name("analysis/carry", tests, NULL, NULL);
}

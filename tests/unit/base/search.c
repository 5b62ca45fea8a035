/* Binary search. */
#include "base/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How many of 0, 2, 4 … are at most `limit`, for every length and every limit around. */
static void counts_what_comes_before(void **state)
{
	int evens[40];
	for (int i = 0; i < 40; i++)
		evens[i] = 2 * i;
	for (size_t count = 0; count <= 40; count++)
		for (int limit = -1; limit <= 80; limit++) {
			size_t expected = limit < 0 ? 0 : (size_t)limit / 2 + 1;
			assert_int_equal(partition_point(i, count, evens[i] <= limit), expected < count ? expected : count);
		}
}

/* The first of equal ones, and what is behind the last. */
static void equal_ones(void **state)
{
	static const int values[] = {1, 3, 3, 3, 9};
	assert_int_equal(partition_point(i, 5, values[i] < 3), 1);
	assert_int_equal(partition_point(i, 5, values[i] <= 3), 4);
}

int base_search_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(counts_what_comes_before), cmocka_unit_test(equal_ones)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

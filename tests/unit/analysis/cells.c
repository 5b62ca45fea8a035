/* Cells of counters: an interval begins where the last one ended, and new cells are at 0. */
#include "analysis/counting/cells.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_intervals(void **state)
{
	struct counter_cells cells = {0};
	counter_cells_allocate(&cells, 2, 3, 2);
	*counter_cell(&cells, 1, 0, 1) = (struct counter_value){.value = 5, .enabled_ns = 20, .running_ns = 10};
	*counter_cell(&cells, 1, 2, 0) = (struct counter_value){.value = 7, .enabled_ns = 30, .running_ns = 30};
	struct counter_value sum = counter_cells_sum(&cells, 1);
	assert_true(sum.value == 12 && sum.enabled_ns == 50 && sum.running_ns == 40);
	assert_int_equal(counter_cells_sum(&cells, 0).value, 0);
	assert_int_equal(cells.before[1][1].value, 0);
	counter_cells_keep(&cells);
	assert_int_equal(cells.before[1][1].value, 5);
	assert_int_equal(cells.before[1][4].value, 7);
	counter_cell(&cells, 1, 0, 1)->value = 9;
	assert_int_equal(cells.before[1][1].value, 5);
	counter_cells_allocate(&cells, 1, 1, 1);
	assert_int_equal(counter_cells_sum(&cells, 0).value, 0);
	counter_cells_deinit(&cells);
	counter_cells_deinit(&cells);
}

int analysis_cells_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals),
	};
	return cmocka_run_group_tests_name("cells", tests, NULL, NULL);
}

/* CPU time of a process for each second of its life: that of one that computes is some, of one that isn't there none. */
#include "kernel/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void of_what_computes(void **state)
{
	while (!proc_load(getpid())) /* until it was noticed once */
		;
	assert_in_range(proc_load(getpid()), 1, 1000000ULL * 1000);
}

static void of_nobody(void **state)
{
	assert_int_equal(proc_load(INT32_MAX), 0);
}

int kernel_proc_load_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_what_computes), cmocka_unit_test(of_nobody)};
	return cmocka_run_group_tests_name("kernel/proc_load", tests, NULL, NULL);
}

/* Who was told of files of Python's names: once, until a process becomes another program. */
#include "capture/python/python_told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PID = 77, FILE_NUMBER = 3 };

static void told_once(void **state)
{
	struct python_told told = {0};
	python_told_begin(&told, PID, 5);
	assert_false(python_told_know(&told, PID, FILE_NUMBER, 10));
	assert_true(python_told_know(&told, PID, FILE_NUMBER, 20));
	assert_false(python_told_know(&told, PID, FILE_NUMBER + 1, 20));
	assert_false(python_told_know(&told, PID + 1, FILE_NUMBER, 20));
	assert_false(python_told_know(&told, PID, FILE_NUMBER, 9)); /* a sample that comes late */
	python_told_deinit(&told);
}

static void told_again_after_execve(void **state)
{
	struct python_told told = {0};
	assert_false(python_told_know(&told, PID, FILE_NUMBER, 10));
	python_told_begin(&told, PID, 20);
	assert_false(python_told_know(&told, PID, FILE_NUMBER, 15));
	assert_false(python_told_know(&told, PID, FILE_NUMBER, 25));
	assert_true(python_told_know(&told, PID, FILE_NUMBER, 30));
	python_told_deinit(&told);
}

/* Of processes that began long ago only those matter that were told of something. */
static void the_others_are_forgotten(void **state)
{
	enum { PROCESSES = 1000000, KEPT = 10000 };
	struct python_told told = {0};
	assert_false(python_told_know(&told, PID, FILE_NUMBER, 1));
	for (uint32_t i = 0; i < PROCESSES; i++) {
		python_told_begin(&told, PID + i, 2 + i);
		python_told_forget(&told, i);
		assert_true(told.begun.count < KEPT);
	}
	assert_false(python_told_know(&told, PID, FILE_NUMBER, PROCESSES));
	assert_true(python_told_know(&told, PID, FILE_NUMBER, PROCESSES + 1));
	python_told_deinit(&told);
}

int capture_python_told_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_once),
		cmocka_unit_test(told_again_after_execve),
		cmocka_unit_test(the_others_are_forgotten),
	};
	return cmocka_run_group_tests_name("python_told", tests, NULL, NULL);
}

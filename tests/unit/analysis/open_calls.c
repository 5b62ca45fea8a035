/* System calls under way: joined with their ends, told when they last, and forgotten. */
#include "analysis/syscalls/open_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { READ = 3, WRITE = 4, FIRST = 7, SECOND = 8 };

static const struct syscall_description description = {.name = "read"};

static void entries_and_exits_are_joined(void **state)
{
	struct open_calls calls = {0};
	struct calling_thread *thread = open_calls_thread(&calls, FIRST);
	struct syscall call;

	assert_ptr_equal(open_calls_thread(&calls, FIRST), thread);
	assert_ptr_equal(open_calls_find(&calls, FIRST), thread);
	assert_null(open_calls_find(&calls, SECOND));
	thread->pid = FIRST;
	thread->arguments[1] = 42;
	open_calls_begin(&calls, thread, READ, 100, true);
	assert_true(open_calls_end(thread, READ, &description, 130, -5, &call));
	assert_ptr_equal(call.description, &description);
	assert_int_equal(call.time, 100);
	assert_int_equal(call.duration, 30);
	assert_int_equal(call.result, -5);
	assert_int_equal(call.arguments[1], 42);
	assert_int_equal(call.tid, FIRST);
	assert_false(open_calls_end(thread, READ, &description, 150, 0, &call)); /* of no entry */
	open_calls_begin(&calls, thread, READ, 160, true);
	assert_false(open_calls_end(thread, WRITE, &description, 170, 0, &call)); /* of another call */
	assert_int_equal(call.time, 0);
	assert_int_equal(call.duration, 0);
	assert_false(thread->in_call);
	open_calls_deinit(&calls);
}

static void lasting_calls_are_told_once(void **state)
{
	struct open_calls calls = {0};
	struct calling_thread *first = open_calls_thread(&calls, FIRST), *second = open_calls_thread(&calls, SECOND);
	struct syscall call;

	for (uint64_t time = 1; time < 3000; time++) { /* all of them over */
		open_calls_begin(&calls, first, READ, time, true);
		open_calls_end(first, READ, &description, time, 0, &call);
	}
	open_calls_begin(&calls, first, READ, 5000, true);
	open_calls_begin(&calls, second, READ, 5001, true);
	assert_null(open_calls_next_lasting(&calls, 5000 + OPEN_CALL_LASTS_NS - 1));
	assert_ptr_equal(open_calls_next_lasting(&calls, 5000 + OPEN_CALL_LASTS_NS), first);
	assert_null(open_calls_next_lasting(&calls, 5000 + OPEN_CALL_LASTS_NS));
	assert_ptr_equal(open_calls_next_lasting(&calls, UINT64_MAX), second);
	assert_null(open_calls_next_lasting(&calls, UINT64_MAX));
	open_calls_begin(&calls, first, WRITE, 6000, false);
	assert_null(open_calls_next_lasting(&calls, UINT64_MAX));
	open_calls_deinit(&calls);
}

static bool is_gone(void *context, const struct calling_thread *thread)
{
	++*(int *)context;
	return thread->tid == FIRST;
}

static void threads_are_forgotten_outside_of_calls(void **state)
{
	struct open_calls calls = {0};
	struct calling_thread *first = open_calls_thread(&calls, FIRST);
	struct syscall call;
	int asked = 0;

	open_calls_thread(&calls, SECOND)->comm = (const struct untrusted *)"second";
	open_calls_begin(&calls, first, READ, 10, true);
	open_calls_forget(&calls, is_gone, &asked);
	assert_int_equal(asked, 1);
	assert_ptr_equal(open_calls_find(&calls, FIRST), first);
	assert_ptr_equal(open_calls_next_lasting(&calls, UINT64_MAX), first);
	open_calls_end(first, READ, &description, 20, 0, &call);
	open_calls_forget(&calls, is_gone, &asked);
	assert_null(open_calls_find(&calls, FIRST));
	assert_null(open_calls_find(&calls, SECOND)->comm);
	open_calls_deinit(&calls);
}

int analysis_open_calls_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_and_exits_are_joined),
		cmocka_unit_test(lasting_calls_are_told_once),
		cmocka_unit_test(threads_are_forgotten_outside_of_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What ends threads: calls and signals, by thread and by process. */
#include "analysis/syscalls/thread_ends.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PROCESS = 10, THREAD = 11, NOBODY = 99 };

static uint32_t status_of(const struct thread_ends *ends, uint32_t tid)
{
	uint32_t status = NOBODY;

	assert_true(thread_ends_status(ends, PROCESS, tid, &status));
	return status;
}

static void threads_end_on_their_own(void **state)
{
	struct thread_ends ends = {0};
	uint32_t status;

	assert_false(thread_ends_status(&ends, PROCESS, THREAD, &status));
	thread_ends_take_exit(&ends, PROCESS, THREAD, false, 0x103);
	assert_int_equal(status_of(&ends, THREAD), 3 << 8);
	assert_false(thread_ends_status(&ends, PROCESS, PROCESS, &status));
	thread_ends_take_exit(&ends, PROCESS, PROCESS, true, 4);
	thread_ends_take_signal(&ends, PROCESS, PROCESS, SIGTERM, false); /* too late */
	assert_int_equal(status_of(&ends, PROCESS), 4 << 8);
	assert_int_equal(status_of(&ends, THREAD), 3 << 8);
	thread_ends_deinit(&ends);
}

static void signals_end_processes(void **state)
{
	struct thread_ends ends = {0};
	uint32_t status;

	thread_ends_take_signal(&ends, PROCESS, THREAD, SIGUSR1, true);
	thread_ends_take_signal(&ends, PROCESS, THREAD, SIGCHLD, false);
	assert_false(thread_ends_status(&ends, PROCESS, THREAD, &status));
	thread_ends_take_signal(&ends, PROCESS, THREAD, SIGUSR1, false);
	assert_int_equal(status_of(&ends, THREAD), SIGUSR1);
	assert_int_equal(status_of(&ends, PROCESS), SIGUSR1);
	thread_ends_deinit(&ends);
}

/* The kernel's own SIGKILL stands for what was sent. */
static void kills_are_what_was_sent(void **state)
{
	struct thread_ends sent = {0}, plain = {0};

	thread_ends_take_sent(&sent, PROCESS, SIGINT);
	thread_ends_take_sent(&sent, PROCESS, SIGTERM);
	thread_ends_take_signal(&sent, PROCESS, THREAD, SIGKILL, false);
	assert_int_equal(status_of(&sent, PROCESS), SIGTERM);
	thread_ends_take_signal(&plain, PROCESS, THREAD, SIGKILL, false);
	assert_int_equal(status_of(&plain, PROCESS), SIGKILL);
	thread_ends_deinit(&sent);
	thread_ends_deinit(&plain);
}

int analysis_thread_ends_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_end_on_their_own),
		cmocka_unit_test(signals_end_processes),
		cmocka_unit_test(kills_are_what_was_sent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

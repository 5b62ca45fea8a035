/* Exit statuses of commands that run a program: what perf 6.1 was seen to end with. */
#include "app/ending.h"
#include "app/command.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Statuses as of waitpid(). */
enum { NONE = -1, EXIT_7 = 7 << 8, BY_TERM = SIGTERM, BY_SEGV_WITH_CORE = SIGSEGV | 0x80 };
enum { BY = COMMAND_ENDS_BY_SIGNAL };

static const struct {
	int status, signal, record, stat, trace;
} cases[] = {
	{NONE, 0, 0, 0, 0},
	{0, 0, 0, 0, 0},
	{EXIT_7, 0, 7, 7, 0},
	{BY_TERM, 0, BY + SIGTERM, 0, 0},
	{BY_SEGV_WITH_CORE, 0, BY + SIGSEGV, 0, 0},
	{NONE, SIGINT, BY + SIGINT, BY + SIGINT, 0},
	{NONE, SIGTERM, BY + SIGTERM, BY + SIGTERM, BY + SIGTERM},
	{BY_TERM, SIGINT, BY + SIGTERM, BY + SIGINT, 0},
	{BY_TERM, SIGHUP, BY + SIGHUP, BY + SIGHUP, BY + SIGHUP},
	{EXIT_7, SIGINT, BY + SIGINT, 7, 0},
	{EXIT_7, SIGTERM, BY + SIGTERM, BY + SIGTERM, BY + SIGTERM},
};

static void statuses(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload = {.pid = cases[i].status == NONE ? 0 : 1, .waited = true, .status = cases[i].status};
		assert_int_equal(ending_status(ENDING_RECORD, &workload, cases[i].signal), cases[i].record);
		assert_int_equal(ending_status(ENDING_STAT, &workload, cases[i].signal), cases[i].stat);
		assert_int_equal(ending_status(ENDING_TRACE, &workload, cases[i].signal), cases[i].trace);
	}
}

int app_ending_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(statuses)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

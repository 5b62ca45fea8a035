/* Whom a limit of CPU time has held back. */
#include "cmd/where/where.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void only_processes_of_the_group(void **state)
{
	enum { INSIDE = 100, OUTSIDE = 200, STARTED = 300, HELD_NS = 500 };
	const struct thread inside = {.pid = INSIDE, .tid = INSIDE}, outside = {.pid = OUTSIDE, .tid = OUTSIDE},
			    started = {.pid = STARTED, .tid = STARTED};
	struct where_thread first = {.task = {.thread = &inside}}, other = {.task = {.thread = &outside}},
			    child = {.task = {.thread = &started}, .parent = &first};
	struct where_limits limits = {0};
	vec_push(&limits.all, (struct where_limit){.last.throttled_ns = HELD_NS});
	map64_insert(&limits.all.data[0].pids, INSIDE, NULL);

	struct where_reason reason = {.kind = WHERE_QUEUE, .ns = 1000};
	assert_null(where_limits_find(&limits, &reason));
	vec_push(&reason.queued, &first);
	vec_push(&reason.queued, &child);
	assert_ptr_equal(where_limits_find(&limits, &reason), &limits.all.data[0]);
	reason.ns = 5000;
	assert_null(where_limits_find(&limits, &reason)); /* too small a part of the time */
	reason.ns = 1000;
	vec_push(&reason.queued, &other);
	assert_null(where_limits_find(&limits, &reason));
	child.parent = &other;
	reason.queued.len = 0;
	vec_push(&reason.queued, &child);
	assert_null(where_limits_find(&limits, &reason));
	vec_deinit(&reason.queued);
	where_limits_deinit(&limits);
}

int cmd_where_limits_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(only_processes_of_the_group)};
	return cmocka_run_group_tests_name("cmd/where_limits", tests, NULL, NULL);
}

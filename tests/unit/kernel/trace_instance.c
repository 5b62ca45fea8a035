/* Instances of tracefs, on a fake tree: another's stays, and the guard is out of reach of signals to our group. */
#include "kernel/tracing/trace_instance.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void anothers_stays(void **state)
{
	char root[] = "/tmp/test-instance-XXXXXX";
	struct trace_instance instance;
	struct stat status;

	assert_non_null(mkdtemp(root));
	cleanup_free char *instances = mem_printf("%s/instances", root), *ours = mem_printf("%s/instances/perf-%d", root, (int)getpid());
	assert_int_equal(mkdir(instances, 0700), 0);
	assert_int_equal(mkdir(ours, 0700), 0);
	assert_false(trace_instance_open(root, &instance));
	assert_int_equal(stat(ours, &status), 0);
	assert_int_equal(rmdir(ours), 0);

	assert_true(trace_instance_open(root, &instance));
	assert_string_equal(instance.path, ours);
	while (getsid(instance.guard) == getsid(0))
		usleep(1000);
	assert_int_equal(getsid(instance.guard), instance.guard);
	assert_true(trace_instance_close(&instance));
	assert_int_equal(stat(ours, &status), -1);
	assert_int_equal(rmdir(instances), 0);
	assert_int_equal(rmdir(root), 0);
}

int kernel_trace_instance_tests(void);
int kernel_trace_instance_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(anothers_stays)};
	return cmocka_run_group_tests_name("kernel/trace_instance", tests, NULL, NULL);
}

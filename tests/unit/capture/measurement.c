/* How a measurement ends: with its workload, by a timer, by control, or because it has had its intervals. */
#include "capture/counting/measurement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ENOUGH = 2 };

struct seen {
	int begun, switched, intervals;
};

static void begin(void *context)
{
	((struct seen *)context)->begun++;
}

static void switch_events(void *context, const char *name, bool on)
{
	((struct seen *)context)->switched += on;
}

static struct error *end_interval(void *context, bool *ret_enough)
{
	*ret_enough = ++((struct seen *)context)->intervals == ENOUGH;
	return NULL;
}

static struct measurement_options options_for(struct seen *seen)
{
	return (struct measurement_options){.begin = begin, .switch_events = switch_events, .end_interval = end_interval, .context = seen};
}

static void run(const struct measurement_options *options, struct measurement *measurement)
{
	assert_null(measurement_open(options, measurement));
	assert_null(measurement_run(measurement));
	measurement_close(measurement);
}

static void ends_with_its_workload(void **state)
{
	char *command[] = {"sh", "-c", "exit 3", NULL};
	struct seen seen = {0};
	struct measurement_options options = options_for(&seen);
	struct measurement measurement;
	struct workload workload = {0};

	assert_null(workload_start(&workload, command, false));
	options.workload = &workload;
	run(&options, &measurement);
	assert_int_equal(seen.begun, 1);
	assert_true(workload.waited);
	assert_int_equal(WEXITSTATUS(workload.status), 3);
	assert_false(measurement.cut || measurement.stopped || measurement.timed_out);
	assert_int_equal(measurement.signal, 0);
	workload_deinit(&workload);
}

static void ends_after_its_time(void **state)
{
	struct seen seen = {0};
	struct measurement_options options = options_for(&seen);
	struct measurement measurement;

	options.timeout_ns = 1;
	run(&options, &measurement);
	assert_true(measurement.cut && measurement.timed_out);
	assert_false(measurement.stopped);
}

static void ends_after_enough_intervals(void **state)
{
	struct seen seen = {0};
	struct measurement_options options = options_for(&seen);
	struct measurement measurement;

	options.interval_ns = 1000000;
	run(&options, &measurement);
	assert_int_equal(seen.intervals, ENOUGH);
	assert_true(measurement.cut);
	assert_false(measurement.timed_out);
}

static void obeys_control(void **state)
{
	static const char commands[] = "enable\nstop\n";
	struct seen seen = {0};
	struct measurement_options options = options_for(&seen);
	struct measurement measurement;
	char control[32];
	int pipe_ends[2];

	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(write(pipe_ends[1], commands, sizeof(commands) - 1), sizeof(commands) - 1);
	snprintf(control, sizeof(control), "fd:%d", pipe_ends[0]);
	options.control = control;
	run(&options, &measurement);
	assert_int_equal(seen.switched, 1);
	assert_true(measurement.cut && measurement.stopped);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

int capture_measurement_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_with_its_workload),
		cmocka_unit_test(ends_after_its_time),
		cmocka_unit_test(ends_after_enough_intervals),
		cmocka_unit_test(obeys_control),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

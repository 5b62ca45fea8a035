/* A live source on the kernel's real rings: a command is followed from its start to its end, and a quiet target still gives rounds. */
#include "capture/live.h"

#include "session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "event/parse/parse.h"

static struct error *open_dummy(const struct sampling *sampling, pid_t *thread, struct workload *workload, struct event_catalog *catalog,
				struct live **ret)
{
	static const int any_cpu = -1;
	const struct counter_target target = {.cpus = &any_cpu, .cpu_count = 1, .threads = thread, .thread_count = 1, .cgroup = -1};
	struct event_list events = {0};

	assert_null(event_parse(&events, catalog, "dummy:u"));
	const struct live_options options = {
		.events = &events, .catalog = catalog, .sampling = sampling, .target = &target, .workload = workload, .ring_pages = 8};
	struct error *error = live_open(&options, ret);
	event_list_deinit(&events);
	return error;
}

static struct session *open_session(struct live *live)
{
	const struct session_options options = {.reader = live_take_reader(live), .streaming = true};
	struct session *session;

	assert_null(session_open(&options, &session));
	return session;
}

static void test_command_from_start_to_end(void **state)
{
	static char *command[] = {"true", NULL};
	const struct sampling sampling = {.freq = 100, .per_thread = true, .workload = true, .time = true};
	struct event_catalog *catalog = event_catalog_create("");
	struct workload workload;
	struct record record;
	struct error *error;
	struct live *live;
	bool exited = false;

	assert_null(workload_start(&workload, command, false));
	assert_null(open_dummy(&sampling, &workload.pid, &workload, catalog, &live));
	struct session *session = open_session(live);
	while (session_next(session, &record, &error) > 0)
		exited |= record.header->type == RECORD_EXIT;
	assert_null(error);
	assert_true(exited);
	const struct thread *thread = machine_thread(session->machine, (uint32_t)workload.pid, UINT64_MAX);
	assert_non_null(thread);
	assert_string_equal(untrusted_raw(thread_comm(thread, UINT64_MAX)), "true");
	assert_int_equal(live_signal(live), 0);
	session_close(session);
	live_close(live, false);
	workload_stop(&workload);
	workload_deinit(&workload);
	event_catalog_destroy(catalog);
}

static void test_rounds_of_a_quiet_target(void **state)
{
	const struct sampling sampling = {.freq = 100, .per_thread = true, .time = true};
	struct event_catalog *catalog = event_catalog_create("");
	pid_t self = getpid();
	struct record record;
	struct error *error;
	struct live *live;
	unsigned int rounds = 0;
	bool known = false;

	assert_null(open_dummy(&sampling, &self, NULL, catalog, &live));
	struct session *session = open_session(live);
	while (session_next(session, &record, &error) > 0) {
		known |= record.header->type == RECORD_MMAP2;
		rounds += record.header->type == RECORD_FINISHED_ROUND;
		if (rounds == 2)
			live_stop(live);
	}
	assert_null(error);
	assert_true(rounds >= 2);
	assert_true(known); /* what was mapped before */
	assert_non_null(maps_find(thread_maps(machine_thread(session->machine, (uint32_t)self, UINT64_MAX)),
				  (uint64_t)(uintptr_t)&test_rounds_of_a_quiet_target, UINT64_MAX));
	session_close(session);
	live_close(live, false);
	event_catalog_destroy(catalog);
}

int capture_live_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_from_start_to_end),
		cmocka_unit_test(test_rounds_of_a_quiet_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

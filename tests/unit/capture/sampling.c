/* Sampling options to attributes, and the names of fallbacks. What the kernel's perf opens is compared in tests/live/test_record.py. */
#include "capture/sampling.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void fails(struct error *error)
{
	assert_non_null(error);
	error_free(error);
}

static void test_callgraph(void **state)
{
	struct sampling sampling = {0};

	assert_null(sampling_parse_callgraph("fp", &sampling));
	assert_int_equal(sampling.callgraph, CALLCHAIN_FP);
	assert_null(sampling_parse_callgraph("dwarf", &sampling));
	assert_int_equal(sampling.stack_size, 8192);
	assert_null(sampling_parse_callgraph("dwarf,4001", &sampling));
	assert_int_equal(sampling.stack_size, 4008);
	assert_null(sampling_parse_callgraph("dwarf,32K", &sampling));
	assert_int_equal(sampling.stack_size, 32768);
	assert_null(sampling_parse_callgraph("lbr", &sampling));
	assert_null(sampling_parse_callgraph("auto", &sampling));
	assert_int_equal(sampling.callgraph, CALLCHAIN_AUTO);
	assert_true(sampling.stack_grows);
	assert_int_equal(sampling.callgraph_way, CALLCHAIN_ANYHOW);
	assert_null(sampling_parse_callgraph("auto,bpf", &sampling));
	assert_int_equal(sampling.callgraph_way, CALLCHAIN_BY_BPF);
	assert_null(sampling_parse_callgraph("auto,copy", &sampling));
	assert_int_equal(sampling.callgraph_way, CALLCHAIN_BY_COPIES);
	assert_null(sampling_parse_callgraph("fp", &sampling));
	assert_false(sampling.stack_grows);
	static const char *const wrong[] = {"",	       "fp,1",	 "dwarf,", "dwarf,0", "dwarf,65529",
					    "dwarf,x", "dwarfs", "lbr,1",  "auto,1",  "auto,"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		fails(sampling_parse_callgraph(wrong[i], &sampling));
}

static void test_branch_and_clock(void **state)
{
	uint64_t bits;
	int32_t clock;

	assert_null(sampling_parse_branch("any_call,u", &bits));
	assert_int_equal(bits, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER);
	assert_null(sampling_parse_branch("u,k", &bits));
	assert_int_equal(bits, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL);
	fails(sampling_parse_branch("any,", &bits));
	assert_null(sampling_parse_clock("CLOCK_MONOTONIC_RAW", &clock));
	assert_int_equal(clock, 4);
	assert_null(sampling_parse_clock("7", &clock));
	fails(sampling_parse_clock("12", &clock));
}

static struct event *add(struct event_list *events, const char *name, uint64_t config)
{
	struct event *event = event_list_add(events, name);

	event->attr.type = PERF_TYPE_SOFTWARE;
	event->attr.config = config;
	event->members = 1;
	return event;
}

/* One event needs no id; several have it at the same place; of different shape, in front. */
static void test_ids(void **state)
{
	for (int count = 1; count <= 3; count++) {
		struct event_list events = {0};
		struct sampling sampling = {.freq = 99, .workload = true};
		for (int i = 0; i < count; i++)
			add(&events, "cpu-clock", PERF_COUNT_SW_CPU_CLOCK);
		if (count == 3)
			events.events.data[2]->attr.sample_type = PERF_SAMPLE_RAW;
		assert_null(sampling_configure(&events, &sampling));
		for (int i = 0; i < count; i++) {
			uint64_t type = events.events.data[i]->attr.sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER);
			assert_int_equal(type, count == 1 ? 0 : count == 2 ? PERF_SAMPLE_ID : PERF_SAMPLE_IDENTIFIER);
			assert_int_equal(events.events.data[i]->attr.mmap, i == 0);
		}
		event_list_deinit(&events);
	}
}

static void test_tracking(void **state)
{
	struct event_list events = {0};
	struct sampling sampling = {.freq = 99, .by_cpu = true, .address = true};

	add(&events, "cpu-clock", PERF_COUNT_SW_CPU_CLOCK);
	assert_null(sampling_configure(&events, &sampling));
	assert_int_equal(events.events.len, 2);
	const struct event *dummy = events.events.data[1];
	assert_string_equal(dummy->name, "dummy:HG");
	assert_true(dummy->attr.mmap && dummy->attr.mmap_data && !dummy->attr.disabled);
	assert_true(!events.events.data[0]->attr.mmap && events.events.data[0]->attr.disabled);
	event_list_deinit(&events);
}

static void test_fallbacks(void **state)
{
	struct event_list events = {0};
	struct event_catalog *catalog = event_catalog_create("/nonexistent");

	assert_null(sampling_add_default(&events, catalog, false));
	assert_int_equal(events.events.len, 1);
	struct event *event = events.events.data[0];
	assert_string_equal(event->name, "cycles");
	event->attr.precise_ip = 3;
	assert_true(sampling_fall_back_to_clock(&events, event));
	assert_string_equal(event->name, "cpu-clock:ppp");
	assert_false(sampling_fall_back_to_clock(&events, event));
	assert_true(sampling_fall_back_to_user(&events, event));
	assert_string_equal(event->name, "cpu-clock:pppu");
	assert_false(sampling_fall_back_to_user(&events, event));
	struct event *kernel = add(&events, "cpu-clock:k", PERF_COUNT_SW_CPU_CLOCK);
	kernel->user_modified = true;
	kernel->attr.exclude_user = 1;
	assert_false(sampling_fall_back_to_user(&events, kernel));
	event_list_deinit(&events);
	event_catalog_destroy(catalog);
}

int capture_sampling_tests(void);
int capture_sampling_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callgraph), cmocka_unit_test(test_branch_and_clock), cmocka_unit_test(test_ids),
		cmocka_unit_test(test_tracking),  cmocka_unit_test(test_fallbacks),
	};
	return cmocka_run_group_tests_name("session/sampling", tests, NULL, NULL);
}

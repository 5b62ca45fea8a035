/* Which fields -F leaves to each type of event, and what a recording's events take away. */
#include "analysis/script/fields.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BIT(field) SCRIPT_BIT(SCRIPT_##field)

static struct script_fields parsed(const char *first, const char *second)
{
	struct script_fields fields;
	script_fields_init(&fields);
	assert_null(script_fields_parse(&fields, first));
	if (second)
		assert_null(script_fields_parse(&fields, second));
	return fields;
}

static void assert_refused(const char *text)
{
	struct script_fields fields;
	script_fields_init(&fields);
	struct error *error = script_fields_parse(&fields, text);
	assert_non_null(error);
	assert_int_equal(error_kind(error), ERROR_USAGE);
	error_free(error);
}

static void test_replacing(void **state)
{
	struct script_fields fields = parsed("comm,trace", NULL);
	assert_int_equal(fields.shown[SCRIPT_TRACEPOINT], BIT(COMM) | BIT(TRACE));
	assert_int_equal(fields.shown[SCRIPT_SOFTWARE], BIT(COMM)); /* they have no trace */
	fields = parsed("trace:", "sw:ip");
	assert_int_equal(fields.shown[SCRIPT_TRACEPOINT], 0);
	assert_int_equal(fields.shown[SCRIPT_SOFTWARE], BIT(IP));
	assert_true(fields.shown[SCRIPT_HARDWARE] & BIT(COMM)); /* as usual */
}

static void test_changing(void **state)
{
	struct script_fields usual, fields = parsed("+addr,-comm", NULL);
	script_fields_init(&usual);
	assert_int_equal(fields.shown[SCRIPT_HARDWARE], (usual.shown[SCRIPT_HARDWARE] | BIT(ADDR)) & ~BIT(COMM));
	assert_int_equal(fields.asked[SCRIPT_HARDWARE], BIT(ADDR));
	fields = parsed("sw:-cpu", "+cpu");
	assert_true(fields.shown[SCRIPT_SOFTWARE] & BIT(CPU));
	fields = parsed("+bpf-output", NULL);
	assert_false(fields.shown[SCRIPT_HARDWARE] & BIT(BPF_OUTPUT));
}

static void test_refusing(void **state)
{
	assert_refused("");
	assert_refused("nonsense");
	assert_refused("nonsense:comm");
	assert_refused("comm,+tid");
	assert_refused("+tid,comm");
	assert_refused("hw:trace");
}

static struct event *add_event(struct event_list *events, uint32_t type, uint64_t config, uint64_t sample_type)
{
	struct event *event = event_list_add(events, "event");
	event->attr.type = type;
	event->attr.config = config;
	event->attr.sample_type = sample_type;
	return event;
}

static void test_checking(void **state)
{
	struct event_list events = {0};
	struct script_offer offer = {.events = &events, .callchains = true};
	add_event(&events, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0); /* decides nothing */
	add_event(&events, PERF_TYPE_SOFTWARE, 0, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	add_event(&events, PERF_TYPE_TRACEPOINT, 0, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN);
	struct script_fields fields;
	script_fields_init(&fields);
	assert_null(script_fields_check(&fields, &offer));
	assert_int_equal(fields.shown[SCRIPT_SOFTWARE] & (BIT(TID) | BIT(TIME) | BIT(CPU)), BIT(TID));
	assert_true(fields.shown[SCRIPT_TRACEPOINT] & BIT(SYM));
	fields = parsed("trace:comm", NULL); /* a chosen set stays as it is */
	assert_null(script_fields_check(&fields, &offer));
	assert_int_equal(fields.shown[SCRIPT_TRACEPOINT], BIT(COMM));
	fields = parsed("sw:weight,comm", NULL); /* for one type: left out */
	assert_null(script_fields_check(&fields, &offer));
	assert_int_equal(fields.shown[SCRIPT_SOFTWARE], BIT(COMM));
	fields = parsed("weight", NULL); /* for all: must be there */
	struct error *error = script_fields_check(&fields, &offer);
	assert_non_null(error);
	error_free(error);
	event_list_deinit(&events);
}

int analysis_script_fields_tests(void);
int analysis_script_fields_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replacing),
		cmocka_unit_test(test_changing),
		cmocka_unit_test(test_refusing),
		cmocka_unit_test(test_checking),
	};
	return cmocka_run_group_tests_name("analysis/script_fields", tests, NULL, NULL);
}

/* Vendors' names, for a processor that need not be this one: the library is told which. Numbers are those of Intel's manual for Skylake
 * (Volume 3B, chapter on performance monitoring events): MEM_LOAD_RETIRED D1H with L3_MISS 20H, INST_RETIRED C0H. */
#include "event/vendor.h"

#include "event/parse/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct event_catalog *catalog;

/* The library looks once in a process, and other tests may come first. */
__attribute__((constructor)) static void choose_processor(void)
{
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
}

static int set_up(void **state)
{
	catalog = event_catalog_create("/nonexistent");
	return 0;
}

static int tear_down(void **state)
{
	event_catalog_destroy(catalog);
	return 0;
}

static void skip_without(void)
{
	if (!vendor_is_available())
		skip();
}

struct seen {
	size_t events, units;
	bool l3_miss;
};

static void see(void *context, const struct vendor_event *event)
{
	struct seen *seen = context;

	assert_string_equal(event->pmu, "skl");
	assert_non_null(event->description);
	seen->events += event->is_first;
	seen->units += event->unit != NULL;
	if (event->unit && !strcmp(event->name, "MEM_LOAD_RETIRED") && !strcmp(event->unit, "L3_MISS"))
		seen->l3_miss = event->code == 0xd1 && event->unit_description[0];
}

static void listed(void **state)
{
	struct seen seen = {0};

	skip_without();
	vendor_visit(see, &seen);
	assert_true(seen.events > 50 && seen.units > 100 && seen.l3_miss);
}

/* In texts of -e. */
static void names(void **state)
{
	static const struct {
		const char *text, *name;
		uint64_t config, period;
		bool user_only;
	} cases[] = {
		{"MEM_LOAD_RETIRED:L3_MISS", "MEM_LOAD_RETIRED:L3_MISS", 0x20d1, 0, false},
		{"mem_load_retired.l3_miss:u", "mem_load_retired.l3_miss:u", 0x20d1, 0, true},
		{"mem_load_retired:l3_miss/period=5/u", "mem_load_retired:l3_miss/period=5/u", 0x20d1, 5, true},
		{"INST_RETIRED/name=x/", "x", 0xc0, 0, false},
	};

	skip_without();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_list list = {0};
		assert_null(event_parse(&list, catalog, cases[i].text));
		const struct event *event = list.events.data[0];
		assert_int_equal(list.events.len, 1);
		assert_string_equal(event->name, cases[i].name);
		assert_int_equal(event->attr.type, 4);
		assert_int_equal(event->attr.config, cases[i].config);
		assert_int_equal(event->attr.sample_period, cases[i].period);
		assert_int_equal(event->attr.exclude_kernel, cases[i].user_only);
		assert_int_equal(event->attr.exclude_hv, cases[i].user_only);
		assert_int_equal(event->attr.exclude_guest, 1);
		event_list_deinit(&list);
	}
}

static void pfm_events(void **state)
{
	struct event_list list = {0};

	skip_without();
	assert_null(vendor_parse(&list, catalog, "INST_RETIRED:u, {MEM_LOAD_RETIRED:L3_MISS:c=2:period=100,INST_RETIRED},INST_RETIRED:k"));
	assert_int_equal(list.events.len, 4);
	const struct event *first = list.events.data[0], *leader = list.events.data[1], *member = list.events.data[2];
	assert_string_equal(first->name, "INST_RETIRED:u");
	assert_true(first->attr.exclude_kernel && !first->attr.exclude_user && first->user_modified && !first->period_given);
	assert_int_equal(leader->attr.config, 0x20d1 | 2 << 24);
	assert_int_equal(leader->attr.sample_period, 100);
	assert_true(leader->period_given && leader->members == 2 && leader->leader == 1 && member->leader == 1 && member->members == 0);
	assert_true(list.events.data[3]->attr.exclude_user && list.events.data[3]->members == 1);
	event_list_deinit(&list);
}

static void mistakes(void **state)
{
	static const char *const cases[][2] = {
		{"", "missing event"},
		{"INST_RETIRE", "did you mean 'INST_RETIRED'?"},
		{"mem_load_retired.l3_mis", "did you mean 'MEM_LOAD_RETIRED:L3_MISS'?"},
		{"{INST_RETIRED", "missing '}'"},
		{"INST_RETIRED}", "unexpected '}'"},
		{"{}", "empty group"},
		{"nothing_of_that_kind", "perf list pfm"},
	};

	skip_without();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_list list = {0};
		struct error *error = vendor_parse(&list, catalog, cases[i][0]);
		assert_non_null(error);
		if (!strstr(error_message(error), cases[i][1]))
			fail_msg("%s: %s", cases[i][0], error_message(error));
		assert_int_equal(list.events.len, 0);
		error_free(error);
		event_list_deinit(&list);
	}
}

static void suggestions(void **state)
{
	static const char *const cases[][2] = {{"inst_retire", "'inst_retired'"},
					       {"mem_load_retired.l3_mis", "'mem_load_retired.l3_miss'"}};

	skip_without();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_list list = {0};
		struct error *error = event_parse(&list, catalog, cases[i][0]);
		assert_non_null(error);
		if (!strstr(error_message(error), cases[i][1]))
			fail_msg("%s: %s", cases[i][0], error_message(error));
		error_free(error);
		event_list_deinit(&list);
	}
}

int event_vendor_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(listed), cmocka_unit_test(names), cmocka_unit_test(pfm_events),
					   cmocka_unit_test(mistakes), cmocka_unit_test(suggestions)};

	return cmocka_run_group_tests_name("event/vendor", tests, set_up, tear_down);
}

/* Events once for each control group. */
#include "event/cgroups.h"

#include "event/parse/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void copies(void **state)
{
	struct event_catalog *catalog = event_catalog_create("/nonexistent");
	struct event_list list = {0};

	assert_null(event_parse(&list, catalog, "cs,{faults,task-clock}:W"));
	list.events.data[2]->part_of = list.events.data[0];
	assert_null(event_for_each_cgroup(&list, "a,b/c"));
	assert_int_equal(list.events.len, 6);
	for (size_t i = 0; i < 6; i++) {
		const struct event *event = list.events.data[i], *original = list.events.data[i % 3];
		assert_int_equal(event->index, i);
		assert_string_equal(event->cgroup, i < 3 ? "a" : "b/c");
		assert_string_equal(event->name, original->name);
		assert_int_equal(event->leader, original->leader + i / 3 * 3);
		assert_int_equal(event->members, original->members);
		assert_memory_equal(&event->attr, &original->attr, sizeof(event->attr));
	}
	assert_true(list.events.data[4]->weak_group);
	assert_ptr_equal(list.events.data[5]->part_of, list.events.data[3]);
	struct error *error = event_for_each_cgroup(&list, "a");
	assert_int_equal(error_kind(error), ERROR_USAGE);
	error_free(error);
	event_list_deinit(&list);
	event_catalog_destroy(catalog);
}

static void nothing(void **state)
{
	static const char *const texts[] = {"", ",", "^no such group anywhere$"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct event_list list = {0};
		event_list_add(&list, "cs");
		struct error *error = event_for_each_cgroup(&list, texts[i]);
		assert_non_null(error);
		assert_int_equal(list.events.len, 1);
		assert_null(list.events.data[0]->cgroup);
		error_free(error);
		event_list_deinit(&list);
	}
}

int event_cgroups_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(copies), cmocka_unit_test(nothing)};

	return cmocka_run_group_tests_name("event/cgroups", tests, NULL, NULL);
}

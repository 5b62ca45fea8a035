/* Metric expressions, against arithmetic done by hand; the table of metrics; and which events a plan takes. */
#include "analysis/counting/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool literal(const void *context, const char *name, double *ret)
{
	if (strcmp(name, "two"))
		return false;
	*ret = 2;
	return true;
}

static const char *lookup(const char *name)
{
	return !strcmp(name, "ipc") ? "a / b" : !strcmp(name, "loop") ? "loop + 1" : NULL;
}

static const struct metric_names names = {.literal = literal, .lookup = lookup};

/* a = 10, b = 4, c = 0, d wasn't counted. */
static double value_of(const char *text, size_t *ret_names)
{
	struct arena arena = {0};
	struct metric_expression expression;
	struct error *error = metric_parse(&arena, text, &names, &expression);
	double values[8];

	if (error)
		fail_msg("%s: %s", text, error_message(error));
	for (size_t i = 0; i < expression.names.len; i++) {
		char name = expression.names.data[i][0];
		values[i] = name == 'a' ? 10 : name == 'b' ? 4 : name == 'c' ? 0 : NAN;
	}
	double value = metric_evaluate(&expression, values);
	if (ret_names)
		*ret_names = expression.names.len;
	metric_expression_deinit(&expression);
	arena_deinit(&arena);
	return value;
}

static void expressions_are_computed(void **state)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{"1 + 2 * 3", 7},
		{"(1 + 2) * 3", 9},
		{"10 - 2 - 3", 5},
		{"a / b", 2.5},
		{"-a + b", -6},
		{"a % b", 2},
		{"a > b", 1},
		{"a < b", 0},
		{"min(a, b)", 4},
		{"max(a, b + 7)", 11},
		{"d_ratio(a, b)", 2.5},
		{"d_ratio(a, c)", 0},
		{"1 if a > b else 2", 1},
		{"1 if a < b else 2", 2},
		{"a if c else b", 4},
		{"#two * a", 20},
		{"6 & 3", 2},
		{"6 | 3", 7},
		{"6 ^ 3", 5},
		{"ipc * 2", 5},
		{"1e9 / 2", 5e8},
		{".5", 0.5},
		{"100 * (1 - b / a)", 60},
		{"has_event(a)", 1},
		{"has_event(d)", 0},
		{"source_count(a)", 1},
		{"1 if a < b else 2 if c else 3", 3},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (fabs(value_of(cases[i].text, NULL) - cases[i].value) > 1e-9)
			fail_msg("%s is %g", cases[i].text, value_of(cases[i].text, NULL));
	assert_true(isnan(value_of("a / c", NULL)));
	assert_true(isnan(value_of("a + d", NULL)));
}

static void events_of_a_branch_not_taken_are_not_needed(void **state)
{
	size_t count;

	assert_true(value_of("a if #two > 1 else b", &count) == 10);
	assert_int_equal(count, 1);
	assert_true(value_of("a if #two > 2 else b + b", &count) == 8);
	assert_int_equal(count, 1);
	value_of("a if b else c", &count);
	assert_int_equal(count, 3);
}

static void names_are_events(void **state)
{
	struct arena arena = {0};
	struct metric_expression expression;

	assert_null(metric_parse(&arena, "L1\\-dcache\\-loads / cpu@event\\=0x3c\\,umask\\=1@ + L1\\-dcache\\-loads", NULL, &expression));
	assert_int_equal(expression.names.len, 2);
	assert_string_equal(expression.names.data[0], "L1-dcache-loads");
	assert_string_equal(expression.names.data[1], "cpu/event=0x3c,umask=1/");
	metric_expression_deinit(&expression);
	arena_deinit(&arena);
}

static void mistakes_are_shown(void **state)
{
	static const char *const wrong[] = {"", "1 +", "(1", "min(1)", "#three", "a b", "1 if 2", "loop", "min(1, 2", "has_event(a"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct arena arena = {0};
		struct metric_expression expression;
		struct error *error = metric_parse(&arena, wrong[i], &names, &expression);
		if (!error)
			fail_msg("'%s' is taken", wrong[i]);
		assert_non_null(strchr(error_message(error), '^'));
		error_free(error);
		arena_deinit(&arena);
	}
}

static void table_is_sound(void **state)
{
	struct event_catalog *catalog = event_catalog_create("/nonexistent");
	size_t count;
	const struct metric *metrics = metrics_all(&count);

	for (size_t i = 0; i < count; i++) {
		assert_ptr_equal(metric_find(metrics[i].name), &metrics[i]);
		if (i && strcmp(metrics[i - 1].name, metrics[i].name) >= 0)
			fail_msg("%s isn't sorted", metrics[i].name);
		/* Those that need no PMU's own events are known everywhere. */
		bool special = metric_matches(&metrics[i], "TopdownL1") || metric_matches(&metrics[i], "TopdownL2") ||
			       metric_matches(&metrics[i], "smi");
		assert_int_equal(metric_is_known_here(&metrics[i], catalog, NULL), !special);
		if (metrics[i].threshold && strncmp(metrics[i].threshold, metrics[i].name, strlen(metrics[i].name)))
			fail_msg("%s has the threshold of another", metrics[i].name);
	}
	assert_true(metric_matches(metric_find("branch_miss_rate"), "branches"));
	assert_false(metric_matches(metric_find("branch_miss_rate"), "Branch"));
	event_catalog_destroy(catalog);
}

static double metric_value(const char *name, const char *const *events, const double *counts)
{
	struct arena arena = {0};
	struct metric_expression expression;
	double values[8] = {0};

	assert_non_null(metric_find(name));
	assert_null(metric_parse(&arena, metric_find(name)->expression, NULL, &expression));
	for (size_t i = 0; i < expression.names.len; i++)
		for (size_t k = 0; events[k]; k++)
			if (!strcmp(expression.names.data[i], events[k]))
				values[i] = counts[k];
	double value = metric_evaluate(&expression, values) * metric_find(name)->scale;
	metric_expression_deinit(&expression);
	arena_deinit(&arena);
	return value;
}

/* The unhalted cycles of aperf go on during an interrupt of the firmware, those of the counter that stands still don't. */
static void firmware_costs_cycles(void **state)
{
	static const char *const events[] = {"msr/aperf/", "cycles", "msr/smi/", NULL};

	assert_true(fabs(metric_value("smi_cycles", events, (double[]){1000, 950, 3}) - 5) < 1e-9);
	assert_true(metric_value("smi_num", events, (double[]){1000, 950, 3}) == 3);
	assert_true(metric_value("smi_cycles", events, (double[]){1000, 950, 0}) == 0);
}

/* Each pair is its part of the first level. */
static void second_level_adds_up(void **state)
{
	static const char *const events[] = {"topdown-retiring",  "topdown-bad-spec",  "topdown-fe-bound",
					     "topdown-be-bound",  "topdown-heavy-ops", "topdown-br-mispredict",
					     "topdown-fetch-lat", "topdown-mem-bound", NULL};
	static const double counts[] = {40, 10, 20, 30, 12, 7, 15, 21};
	static const struct {
		const char *first, *part, *rest;
		double part_value;
	} pairs[] = {{"tma_retiring", "tma_heavy_operations", "tma_light_operations", 12},
		     {"tma_bad_speculation", "tma_branch_mispredicts", "tma_machine_clears", 7},
		     {"tma_frontend_bound", "tma_fetch_latency", "tma_fetch_bandwidth", 15},
		     {"tma_backend_bound", "tma_memory_bound", "tma_core_bound", 21}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		double part = metric_value(pairs[i].part, events, counts), rest = metric_value(pairs[i].rest, events, counts);
		assert_true(fabs(part - pairs[i].part_value) < 1e-9);
		assert_true(fabs(part + rest - metric_value(pairs[i].first, events, counts)) < 1e-9);
	}
}

static bool of_tasks(const void *context, const char *name, double *ret)
{
	*ret = 0;
	return !strcmp(name, "target_cpu");
}

static void plan_groups_and_shares(void **state)
{
	struct event_catalog *catalog = event_catalog_create("/nonexistent");
	struct metric_plan_options options = {.names = {.literal = of_tasks}};
	struct metric_plan plan = {0};
	struct event_list events = {0};

	/* instructions and cycles once, as a group; the software events alone. */
	assert_null(metric_plan_add(&plan, &events, catalog, "IPC,CPI,page_faults_per_second,cs_per_second", &options));
	assert_int_equal(plan.uses.len, 4);
	assert_int_equal(events.events.len, 5);
	assert_int_equal(events.events.data[0]->members, 2);
	assert_true(events.events.data[0]->weak_group);
	assert_ptr_equal(plan.uses.data[0].events[0], plan.uses.data[1].events[1]);
	assert_int_equal(events.events.data[2]->members, 1);
	metric_plan_deinit(&plan);
	event_list_deinit(&events);

	options.no_merge = options.no_group = true;
	plan = (struct metric_plan){0};
	events = (struct event_list){0};
	assert_null(metric_plan_add(&plan, &events, catalog, "IPC,CPI", &options));
	assert_int_equal(events.events.len, 4);
	assert_int_equal(events.events.data[0]->members, 1);
	metric_plan_deinit(&plan);
	event_list_deinit(&events);

	plan = (struct metric_plan){0};
	events = (struct event_list){0};
	struct error *error = metric_plan_add(&plan, &events, catalog, "branch_mis_rate", &options);
	assert_non_null(strstr(error_message(error), "branch_miss_rate"));
	error_free(error);
	metric_plan_deinit(&plan);
	event_catalog_destroy(catalog);
}

int analysis_metrics_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_are_computed), cmocka_unit_test(events_of_a_branch_not_taken_are_not_needed),
		cmocka_unit_test(names_are_events),	    cmocka_unit_test(mistakes_are_shown),
		cmocka_unit_test(table_is_sound),	    cmocka_unit_test(plan_groups_and_shares),
		cmocka_unit_test(firmware_costs_cycles),    cmocka_unit_test(second_level_adds_up),
	};
	return cmocka_run_group_tests_name("analysis/metrics", tests, NULL, NULL);
}

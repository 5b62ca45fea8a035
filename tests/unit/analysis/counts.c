/* Adding up counts: scaling, places, intervals, repeated runs, events of several PMUs, and the metrics made of them. */
#include "analysis/counting/counts.h"
#include "analysis/counting/advice.h"

#include <linux/perf_event.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct event *add(struct event_list *events, const char *name, uint32_t type, uint64_t config)
{
	struct event *event = event_list_add(events, name);

	event->attr.type = type;
	event->attr.config = config;
	event->unit = "";
	return event;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-12;
}

static const struct counts_places everything = {.by = COUNTS_GLOBAL, .count = 1};

static void statistics_are_exact(void **state)
{
	struct statistics statistics = {0};
	static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};

	for (size_t i = 0; i < 8; i++)
		statistics_add(&statistics, values[i]);
	assert_true(is_near(statistics.mean, 5));
	/* sqrt(32 / 7 / 8) */
	assert_true(is_near(statistics_deviation(&statistics), 0.75592894601845));
	assert_true(is_near(statistics_relative(&statistics), 15.118578920369));
}

static void counts_are_scaled(void **state)
{
	struct event_list events = {0};
	struct counts counts;
	struct counter_value cells[2] = {{.value = 300, .enabled_ns = 1000, .running_ns = 500, .open = true},
					 {.value = 100, .enabled_ns = 1000, .running_ns = 500, .open = true}};
	struct counter_value *now[] = {cells};
	struct counts_reading reading = {.now = now, .cpus = 2, .threads = 1, .duration_ns = 1000};

	add(&events, "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	counts_init(&counts, &events, &everything);
	counts_add(&counts, &reading);
	struct counting *result = counts_result(&counts, &(struct counts_result_options){0});
	assert_int_equal(result->rows.len, 1);
	assert_true(is_near(result->rows.data[0].value, 800));
	assert_true(result->rows.data[0].multiplexed);
	assert_true(is_near(result->rows.data[0].running, 50));
	assert_int_equal(result->rows.data[0].members, 2);
	counting_destroy(result);

	/* The next interval begins where this one ended. */
	struct counter_value before[2] = {cells[0], cells[1]}, *earlier[] = {before};
	cells[0].value += 50;
	cells[0].enabled_ns += 100;
	cells[0].running_ns += 100;
	reading.before = earlier;
	counts_clear(&counts);
	counts_add(&counts, &reading);
	result = counts_result(&counts, &(struct counts_result_options){0});
	assert_true(is_near(result->rows.data[0].value, 50));
	assert_false(result->rows.data[0].multiplexed);
	counting_destroy(result);

	/* Raw numbers where asked for. */
	counts.raw = true;
	reading.before = NULL;
	counts_clear(&counts);
	counts_add(&counts, &reading);
	assert_true(is_near(counts_total(&counts, 0, 0)->value.mean, 450));
	counts_deinit(&counts);
	event_list_deinit(&events);
}

static void what_is_missing_is_said(void **state)
{
	struct event_list events = {0};
	struct counts counts;
	struct counter_value cells[3] = {
		{.value = 1, .enabled_ns = 5, .running_ns = 5, .open = true}, {.enabled_ns = 5, .open = true}, {0}};
	struct counter_value *now[] = {&cells[0], &cells[1], &cells[2]};
	bool absent[] = {false, false, true};

	for (size_t i = 0; i < 3; i++)
		add(&events, "e", PERF_TYPE_RAW, i);
	counts_init(&counts, &events, &everything);
	counts.absent = absent;
	counts_add(&counts, &(struct counts_reading){.now = now, .cpus = 1, .threads = 1});
	struct counting *result = counts_result(&counts, &(struct counts_result_options){0});
	assert_int_equal(result->rows.data[0].state, COUNTING_COUNTED);
	assert_int_equal(result->rows.data[1].state, COUNTING_NOT_COUNTED);
	assert_int_equal(result->rows.data[2].state, COUNTING_NOT_SUPPORTED);
	counting_destroy(result);
	counts_deinit(&counts);
	event_list_deinit(&events);
}

static void places_are_kept_apart(void **state)
{
	static const unsigned int cpu_places[] = {0, 0, 1, 1};
	static const char *const labels[] = {"S0", "S1"};
	static const struct counting_place_kind kind = {.key = "socket", .members = true};
	struct counts_places places = {.by = COUNTS_BY_PLACE, .kind = &kind, .labels = labels, .count = 2, .cpu_places = cpu_places};
	struct event_list events = {0};
	struct counts counts;
	struct counter_value cells[4], *now[] = {cells};

	for (size_t i = 0; i < 4; i++)
		cells[i] = (struct counter_value){.value = 1ull << i, .enabled_ns = 10, .running_ns = 10, .open = i != 3};
	struct event *event = add(&events, "e", PERF_TYPE_RAW, 0);
	counts_init(&counts, &events, &places);
	counts_add(&counts, &(struct counts_reading){.now = now, .cpus = 4, .threads = 1});
	struct counting *result = counts_result(&counts, &(struct counts_result_options){0});
	assert_int_equal(result->rows.len, 2);
	assert_true(is_near(result->rows.data[0].value, 3));
	assert_int_equal(result->rows.data[0].members, 2);
	assert_true(is_near(result->rows.data[1].value, 4));
	assert_int_equal(result->rows.data[1].members, 1);
	assert_string_equal(result->rows.data[1].place, "S1");
	counting_destroy(result);

	/* An event that counts for a whole package counts once in each. */
	event->per_package = true;
	places.cpu_packages = cpu_places;
	counts_clear(&counts);
	counts_add(&counts, &(struct counts_reading){.now = now, .cpus = 4, .threads = 1});
	assert_true(is_near(counts_total(&counts, 0, 0)->value.mean, 1));
	assert_true(is_near(counts_total(&counts, 0, 1)->value.mean, 4));
	counts_deinit(&counts);
	event_list_deinit(&events);
}

static void parts_make_one(void **state)
{
	struct event_list events = {0};
	struct counts counts;
	struct counter_value cells[2] = {{.value = 5, .enabled_ns = 10, .running_ns = 10, .open = true},
					 {.value = 7, .enabled_ns = 10, .running_ns = 10, .open = true}};
	struct counter_value *now[] = {&cells[0], &cells[1]};
	struct event *first = add(&events, "reads", PERF_TYPE_RAW, 0), *second = add(&events, "reads", PERF_TYPE_RAW, 1);
	static const struct {
		bool no_merge, cores, merge_cores;
		size_t rows;
		const char *name;
	} cases[] = {{false, false, false, 1, "reads"},
		     {true, false, false, 2, "reads [mc_1]"},
		     {false, true, false, 2, "mc_1/reads/"},
		     {false, true, true, 1, "reads"}};

	first->pmu_name = "mc_0";
	second->pmu_name = "mc_1";
	second->part_of = first;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		counts_init(&counts, &events, &everything);
		counts.no_merge = cases[i].no_merge;
		counts.merge_cores = cases[i].merge_cores;
		first->core_kind = second->core_kind = cases[i].cores;
		counts_add(&counts, &(struct counts_reading){.now = now, .cpus = 1, .threads = 1});
		struct counting *result = counts_result(&counts, &(struct counts_result_options){0});
		assert_int_equal(result->rows.len, cases[i].rows);
		assert_string_equal(result->rows.data[cases[i].rows - 1].name, cases[i].name);
		assert_true(is_near(result->rows.data[0].value, cases[i].rows == 1 ? 12 : 5));
		counting_destroy(result);
		counts_deinit(&counts);
	}
	event_list_deinit(&events);
}

/* A millisecond of 1 GHz. */
struct sample_program {
	struct event_list events;
	struct counter_value cells[6], *now[6];
	struct counts counts;
};

static void sample_program_init(struct sample_program *program)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config, value;
	} counted[] = {{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000000},
		       {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000},
		       {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 2500000},
		       {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 200000},
		       {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 30000},
		       {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 500000}};

	memset(program, 0, sizeof(*program));
	for (size_t i = 0; i < 6; i++) {
		add(&program->events, counted[i].name, counted[i].type, counted[i].config);
		program->cells[i] =
			(struct counter_value){.value = counted[i].value, .enabled_ns = 1000000, .running_ns = 1000000, .open = true};
		program->now[i] = &program->cells[i];
	}
	counts_init(&program->counts, &program->events, &everything);
	counts_add(&program->counts, &(struct counts_reading){.now = program->now, .cpus = 1, .threads = 1, .duration_ns = 4000000});
}

static void figures_follow(void **state)
{
	static const struct {
		size_t row, metric;
		const char *unit;
		double value;
	} expected[] = {{0, 0, "CPUs utilized", 0.25},		{1, 0, "GHz", 1},     {2, 0, "insn per cycle", 2.5},
			{2, 1, "stalled cycles per insn", 0.2}, {3, 0, "M/sec", 200}, {4, 0, "of all branches", 15},
			{5, 0, "backend cycles idle", 50}};
	struct sample_program program;

	sample_program_init(&program);
	struct counting *result = counts_result(&program.counts, &(struct counts_result_options){0});
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct counting_row *row = &result->rows.data[expected[i].row];
		assert_true(expected[i].metric < row->metric_count);
		assert_string_equal(row->metrics[expected[i].metric].unit, expected[i].unit);
		if (!is_near(row->metrics[expected[i].metric].value, expected[i].value))
			fail_msg("%s: %g", expected[i].unit, row->metrics[expected[i].metric].value);
	}
	assert_int_equal(result->rows.data[4].metrics[0].level, COUNTING_MEDIUM);
	counting_destroy(result);

	/* Instructions in user space have nothing to do with all cycles. */
	program.events.events.data[2]->attr.exclude_kernel = 1;
	result = counts_result(&program.counts, &(struct counts_result_options){0});
	assert_false(result->rows.data[2].metrics[0].known);
	counting_destroy(result);
	counts_deinit(&program.counts);
	event_list_deinit(&program.events);
}

/* Only what is certain is said: a program of 4 ms is too short to be judged by its time. */
static void advice_is_sparing(void **state)
{
	struct sample_program program;
	struct advice_scope scope = {.tasks = true, .workload = true, .ran = 1};

	sample_program_init(&program);
	struct counting *result = counts_result(&program.counts, &(struct counts_result_options){0});
	advice_add(&program.counts, &scope, result);
	assert_int_equal(result->remarks.len, 0);
	counting_destroy(result);

	/* The same a hundred times as long waits three quarters of the time, stalls, and guesses badly. */
	for (size_t i = 0; i < 6; i++)
		program.cells[i].value *= 1000;
	program.cells[2].value = 100000000;
	counts_clear(&program.counts);
	counts_add(&program.counts, &(struct counts_reading){.now = program.now,
							     .cpus = 1,
							     .threads = 1,
							     .duration_ns = 4000000000,
							     .user_ns = 300000000,
							     .system_ns = 700000000});
	result = counts_result(&program.counts, &(struct counts_result_options){0});
	advice_add(&program.counts, &scope, result);
	assert_int_equal(result->remarks.len, 3);
	assert_non_null(strstr(result->remarks.data[0], "0.25 CPUs utilized: it was off the CPU 75%"));
	assert_non_null(strstr(result->remarks.data[1], "70% of its CPU time is spent in the kernel"));
	assert_non_null(strstr(result->remarks.data[2], "insn per cycle 0.10"));
	counting_destroy(result);

	/* It would have run, had others not; and where the scheduler tells only of a part, both may be. */
	scope.waited = 2.5;
	result = counts_result(&program.counts, &(struct counts_result_options){0});
	advice_add(&program.counts, &scope, result);
	assert_non_null(strstr(result->remarks.data[0], "0.25 CPUs utilized: for 2.50 of 4.00 seconds it waited for a CPU"));
	counting_destroy(result);
	scope.ran = 0.1;
	result = counts_result(&program.counts, &(struct counts_result_options){0});
	advice_add(&program.counts, &scope, result);
	assert_non_null(strstr(result->remarks.data[0], "it sleeps (S, D) or waits for a CPU (R)"));
	counting_destroy(result);
	counts_deinit(&program.counts);
	event_list_deinit(&program.events);
}

int analysis_counts_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statistics_are_exact),	 cmocka_unit_test(counts_are_scaled), cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(places_are_kept_apart), cmocka_unit_test(parts_make_one),    cmocka_unit_test(figures_follow),
		cmocka_unit_test(advice_is_sparing),
	};
	return cmocka_run_group_tests_name("analysis/counts", tests, NULL, NULL);
}

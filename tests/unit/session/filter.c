/* The texts of --time, with the bounds that the kernel's perf 6.1 makes of them. */
#include "session/session_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { FIRST = 1000, LAST = 2000 };

struct row {
	const char *text;
	size_t count; /* 0 = refused */
	struct time_range ranges[2];
};

static const struct row rows[] = {
	{"10%", 1, {{1000, 1099}}},
	{"10%/2", 1, {{1100, 1199}}},
	{"10%-20%", 1, {{1100, 1199}}},
	{"50%-100%", 1, {{1500, 2000}}},
	{"10%/1,10%/3", 2, {{1000, 1099}, {1200, 1299}}},
	{"0%-10%, 30%-40%", 2, {{1000, 1099}, {1300, 1399}}},
	{"0%-0%", 1, {{1000, 1000}}},
	{"12.5%-25%", 1, {{1125, 1249}}},
	{"0.000001,0.0000015", 1, {{1000, 1500}}},
	{"0.000001,", 1, {{1000, UINT64_MAX}}},
	{",0.000001", 1, {{0, 1000}}},
	{"0.000001,0.000002 0.000003,", 2, {{1000, 2000}, {3000, UINT64_MAX}}},
	{"5%-1%", 0, {{0}}},
	{"101%", 0, {{0}}},
	{"10%/11", 0, {{0}}},
	{"10%/0", 0, {{0}}},
	{"10%x", 0, {{0}}},
	{"%", 0, {{0}}},
	{"-5%", 0, {{0}}},
	{"1.5", 0, {{0}}},
	{"2,1", 0, {{0}}},
	{"x,y", 0, {{0}}},
	{"", 0, {{0}}},
};

static void test_texts(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct filter filter;
		struct error *error = filter_init(&filter, &(struct session_filter){.time_text = row->text}, FIRST, LAST);
		if ((error != NULL) != (row->count == 0))
			print_error("--time '%s': %s\n", row->text, error ? error_message(error) : "accepted");
		assert_int_equal(error != NULL, row->count == 0);
		error_free(error);
		for (size_t j = 0; j < row->count; j++) {
			assert_int_equal(filter.times.data[j].begin, row->ranges[j].begin);
			assert_int_equal(filter.times.data[j].end, row->ranges[j].end);
		}
		filter_deinit(&filter);
	}
}

static void test_accepting(void **state)
{
	const uint64_t cpus[2] = {5, 1};
	struct time_range ranges[2] = {{10, 20}, {40, 50}};
	struct filter filter;
	assert_null(filter_init(&filter, &(struct session_filter){.cpus = cpus, .cpu_words = 2, .times = ranges, .time_count = 2}, 0, 0));
	assert_true(filter_accepts_cpu(&filter, 0) && filter_accepts_cpu(&filter, 2) && filter_accepts_cpu(&filter, 64));
	assert_false(filter_accepts_cpu(&filter, 1) || filter_accepts_cpu(&filter, 128) || filter_accepts_cpu(&filter, UINT32_MAX));
	assert_true(filter_accepts_time(&filter, 0) && filter_accepts_time(&filter, 10) && filter_accepts_time(&filter, 50));
	assert_false(filter_accepts_time(&filter, 9) || filter_accepts_time(&filter, 21) || filter_accepts_time(&filter, 51));
	filter_deinit(&filter);
}

int session_filter_tests(void);
int session_filter_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_accepting),
	};
	return cmocka_run_group_tests_name("session/filter", tests, NULL, NULL);
}

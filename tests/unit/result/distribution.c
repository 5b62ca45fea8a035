/* Durations by powers of two, and their text. */
#include "result/distribution.h"

#include "base/strbuf.h"
#include "view/distribution.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void buckets(void **state)
{
	struct distribution times = {.unit_ns = 1000};

	distribution_add(&times, 999);		     /* below 1 us */
	distribution_add(&times, 1000);		     /* 1 */
	distribution_add(&times, 3999);		     /* 2 – 3 */
	distribution_add(&times, UINT64_C(1) << 62); /* beyond */
	assert_int_equal(times.counts[0], 1);
	assert_int_equal(times.counts[1], 1);
	assert_int_equal(times.counts[2], 1);
	assert_int_equal(times.counts[DISTRIBUTION_BUCKETS - 1], 1);
	assert_int_equal(times.count, 4);
	assert_int_equal(times.shortest_ns, 999);
	assert_int_equal(times.longest_ns, UINT64_C(1) << 62);
	for (unsigned int i = 1; i < DISTRIBUTION_BUCKETS; i++) {
		struct distribution one = {.unit_ns = 1};
		distribution_add(&one, distribution_bucket_begin(i));
		distribution_add(&one, distribution_bucket_begin(i) - 1);
		assert_int_equal(one.counts[i], 1);
		assert_int_equal(one.counts[i - 1], 1);
	}
}

/* Never below the true one, less than twice as long, and never above the longest. */
static void percentiles(void **state)
{
	struct distribution times = {.unit_ns = 1};

	assert_int_equal(distribution_percentile(&times, 99), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		distribution_add(&times, i);
	for (unsigned int percent = 1; percent <= 100; percent++) {
		uint64_t found = distribution_percentile(&times, percent), exact = percent * 10;
		assert_true(found >= exact && found < 2 * exact && found <= 1000);
	}
	assert_int_equal(distribution_percentile(&times, 100), 1000);
	distribution_add(&times, UINT64_C(1) << 40);
	assert_int_equal(distribution_percentile(&times, 100), UINT64_C(1) << 40);
	assert_int_equal(distribution_percentile(&times, 50), 511);
}

static void text(void **state)
{
	struct distribution times = {.unit_ns = 1000};
	struct strbuf out = {0};

	distribution_add_text(&out, &times, "calls");
	assert_null(strstr(strbuf_str(&out), "total"));
	strbuf_deinit(&out);
	distribution_add(&times, 1500);
	distribution_add(&times, 3000 * 1000);
	distribution_add_text(&out, &times, "calls");
	assert_non_null(strstr(strbuf_str(&out), "     1 - 2    us |          1 | #######################                        |\n"));
	assert_non_null(strstr(strbuf_str(&out), "     2 - 4    ms |          1 | #######################                        |\n"));
	assert_non_null(strstr(strbuf_str(&out), "     1 - ...   s |          0 | "));
	assert_non_null(strstr(strbuf_str(&out), "\n# 2 calls, total 3001.500 us, average 1500.750, longest 3000.000, shortest 1.500\n"));
	strbuf_deinit(&out);
}

int result_distribution_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(buckets), cmocka_unit_test(percentiles), cmocka_unit_test(text)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

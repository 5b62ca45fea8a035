/* The same recording in all its forms says the same; and whatever is cut off or changed in it, nothing bad happens. */
#include "examine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const forms[] = {
	"fuzz/corpus/reader/small",
	"fuzz/corpus/reader/small-swap",
	"fuzz/corpus/reader/small-pipe",
	"fuzz/corpus/reader/small-pipe-swap",
	"fuzz/corpus/reader/small-compress",
	"fuzz/corpus/reader/small-compress-pipe",
	"fuzz/corpus/reader/small-compress-swap",
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]), SAMPLES = 3 };

static void test_forms(void **state)
{
	uint64_t sum = 0;
	for (int i = 0; i < FORMS; i++) {
		size_t size;
		uint8_t *data = read_test_file(forms[i], &size);
		struct examined examined = examine_recording(data, size);
		assert_true(examined.opened);
		assert_int_equal(examined.samples, SAMPLES);
		assert_int_equal(examined.broken, 0);
		assert_true(i == 0 || examined.sum == sum);
		sum = examined.sum;
		free(data);
	}
}

/* Never more samples than before, and no crash (sanitizers watch). */
/* With sanitizers every second byte of each form is changed in one of three ways, in turn, and each third truncation tried; in `make soak`
 * all, as without. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_slow = true;
#else
static const bool is_slow = false;
#endif

static void test_truncations(void **state)
{
	size_t step = is_slow && !getenv("PERF_SOAK") ? 3 : 1;
	for (int i = 0; i < FORMS; i++) {
		size_t size;
		uint8_t *data = read_test_file(forms[i], &size);
		for (size_t cut = (size_t)i % step; cut < size; cut += step)
			assert_true(examine_recording(data, cut).samples <= SAMPLES);
		free(data);
	}
}

/* Every byte changed: in the plain file each of its bits, in the other forms three ways; with THOROUGH=1 in the environment every value. */
static void test_changed_bytes(void **state)
{
	static const uint8_t few[] = {0xff, 0x80, 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40};
	bool thorough = getenv("THOROUGH") != NULL, quick = is_slow && !thorough && !getenv("PERF_SOAK");
	for (int i = 0; i < FORMS; i++) {
		size_t size;
		uint8_t *data = read_test_file(forms[i], &size);
		for (size_t at = quick ? (size_t)i % 2 : 0; at < size; at += quick ? 2 : 1) {
			uint8_t before = data[at];
			unsigned int from = quick ? (unsigned int)(at / 2 + (size_t)i) % 3 : 0;
			unsigned int to = thorough ? 255 : quick ? from + 1 : i ? 3 : sizeof(few);
			for (unsigned int j = from; j < to; j++) {
				data[at] = before ^ (thorough ? (uint8_t)(j + 1) : few[j]);
				examine_recording(data, size);
			}
			data[at] = before;
		}
		free(data);
	}
}

int perfdata_forms_tests(void);
int perfdata_forms_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_truncations),
		cmocka_unit_test(test_changed_bytes),
	};
	return cmocka_run_group_tests_name("perfdata/forms", tests, NULL, NULL);
}

/* Pages that are mapped ahead cost whoever touches them no fault; a file that was cut short ends it, and nothing else. */
#include "session/page_ahead.h"

#include "base/files/mapping.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 20 << 20, PAGE = 4096 };

/* A file of zeros that are in memory, mapped; it is nameless then. */
static int open_zeros(struct mapping *mapping)
{
	char path[] = "/tmp/page-ahead-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	char *zeros = calloc(1, SIZE);
	assert_int_equal(pwrite(fd, zeros, SIZE, 0), SIZE);
	free(zeros);
	assert_null(mapping_open_fd(fd, path, mapping));
	return fd;
}

/* Without what sanitizers look up for each access: that is memory, too. */
__attribute__((no_sanitize_address, no_sanitize_thread)) static long faults_of_touching(const struct mapping *mapping)
{
	struct rusage before, after;
	unsigned int sum = 0;
	getrusage(RUSAGE_THREAD, &before);
	for (size_t at = 0; at < mapping->size; at += PAGE)
		sum += *(const volatile uint8_t *)(mapping->data + at);
	getrusage(RUSAGE_THREAD, &after);
	assert_int_equal(sum, 0);
	return after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
}

static void test_no_faults(void **state)
{
	struct mapping mapping;
	int fd = open_zeros(&mapping);
	if (mapping_populate(mapping.data, mapping.size)) /* not before Linux 5.14 */
		assert_true(faults_of_touching(&mapping) < 10);
	mapping_close(&mapping);
	close(fd);
}

/* What a filesystem has in memory in large pieces is mapped by them, then: 800 MB in 2 ms instead of 90. */
static void test_place(void **state)
{
	enum { HUGE_PAGE = 2 << 20 };
	struct mapping mappings[3];
	for (size_t i = 0; i < 3; i++)
		close(open_zeros(&mappings[i]));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal((uintptr_t)mappings[i].data % HUGE_PAGE, 0);
		assert_int_equal(mappings[i].data[SIZE - 1 + MAPPING_GUARD], 0);
		mapping_close(&mappings[i]);
	}
}

static void test_cut_short(void **state)
{
	struct mapping mapping;
	int fd = open_zeros(&mapping);
	const struct reader reader = {.stable = true, .records = mapping.data, .data_end = SIZE};
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_false(mapping_populate(mapping.data, mapping.size));
	struct page_ahead *ahead = page_ahead_start(&reader, 2);
	assert_non_null(ahead);
	page_ahead_end(ahead);
	assert_false(mapping_lost_pages(&mapping)); /* nobody has read them */
	mapping_close(&mapping);
	close(fd);
}

static void test_not_worth_it(void **state)
{
	const struct reader small = {.stable = true, .data_end = PAGE}, stream = {.data_end = SIZE},
			    large = {.stable = true, .data_end = SIZE};
	assert_null(page_ahead_start(&small, 2));
	assert_null(page_ahead_start(&stream, 2));
	assert_null(page_ahead_start(&large, 1));
	page_ahead_end(NULL);
}

int session_page_ahead_tests(void);
int session_page_ahead_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_faults), cmocka_unit_test(test_place), cmocka_unit_test(test_cut_short),
					   cmocka_unit_test(test_not_worth_it)};
	return cmocka_run_group_tests_name("session/page_ahead", tests, NULL, NULL);
}

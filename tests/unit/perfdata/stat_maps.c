/* CPU_MAP, THREAD_MAP and STAT_CONFIG in all their forms, and cut short. */
#include "perfdata/stat_maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct map_record {
	struct record_header header;
	uint8_t payload[512];
};

static const struct record_header *record(struct map_record *to, uint32_t type, const void *payload, size_t size)
{
	*to = (struct map_record){.header = {.type = type, .size = (uint16_t)(sizeof(to->header) + size)}};
	if (size)
		memcpy(to->payload, payload, size);
	return &to->header;
}

static void check_cpus(const void *payload, size_t size, size_t count, const int *expected)
{
	struct map_record at;
	size_t found;
	int *cpus = stat_map_cpus(record(&at, RECORD_CPU_MAP, payload, size), &found);
	assert_int_equal(found, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(cpus[i], expected[i]);
	free(cpus);
}

static void cpus(void **state)
{
	const uint16_t listed[] = {0, 3, 0xffff, 2, 5}, cut[] = {0, 9, 7}, range[] = {2, 1, 4, 6}, unknown[] = {7, 1, 2};
	const struct {
		uint16_t form, words, size, padding[2];
		uint64_t mask[2];
	} __attribute__((packed)) wide = {1, 2, 8, {0}, {5, 1}};
	const struct {
		uint16_t form, words, size, mask[4];
	} narrow = {1, 2, 4, {1, 0x8000, 2, 0}};
	check_cpus(listed, sizeof(listed), 3, (int[]){-1, 2, 5});
	check_cpus(cut, sizeof(cut), 1, (int[]){7});
	check_cpus(range, sizeof(range), 4, (int[]){-1, 4, 5, 6});
	check_cpus(unknown, sizeof(unknown), 0, NULL);
	check_cpus(&wide, sizeof(wide), 3, (int[]){0, 2, 64});
	check_cpus(&narrow, sizeof(narrow), 3, (int[]){0, 31, 33});
	check_cpus(NULL, 0, 0, NULL);
}

static void threads(void **state)
{
	struct {
		uint64_t count;
		struct {
			uint64_t tid;
			char name[16];
		} threads[2];
	} payload = {9, {{(uint64_t)-1, ""}, {42, "sixteen bytes it"}}};
	struct map_record at;
	struct stat_map_thread thread;
	const struct record_header *header = record(&at, RECORD_THREAD_MAP, &payload, sizeof(payload));
	assert_true(stat_map_thread(header, 0, &thread));
	assert_int_equal(thread.tid, -1);
	assert_true(stat_map_thread(header, 1, &thread));
	assert_int_equal(thread.tid, 42);
	assert_int_equal(thread.name_length, 16);
	assert_false(stat_map_thread(header, 2, &thread));
	assert_false(stat_map_thread(header, SIZE_MAX, &thread));
}

static void terms(void **state)
{
	const uint64_t payload[] = {7, STAT_CONFIG_AGGR_MODE, 1, STAT_CONFIG_SCALE, 0};
	struct map_record at;
	uint64_t value = 9;
	const struct record_header *header = record(&at, RECORD_STAT_CONFIG, payload, sizeof(payload));
	assert_true(stat_map_config(header, STAT_CONFIG_AGGR_MODE, &value));
	assert_int_equal(value, 1);
	assert_true(stat_map_config(header, STAT_CONFIG_SCALE, &value));
	assert_int_equal(value, 0);
	assert_false(stat_map_config(header, STAT_CONFIG_INTERVAL, &value));
}

int perfdata_stat_maps_tests(void);
int perfdata_stat_maps_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(cpus), cmocka_unit_test(threads), cmocka_unit_test(terms)};
	return cmocka_run_group_tests_name("perfdata/stat_maps", tests, NULL, NULL);
}

/* Synthetic records of this very process: well-formed, complete, and with the trailer that their event asks for. */
#include "capture/synth/synth.h"

#include "perfdata/records.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Walks over all records; counts by type. */
static void count_records(const struct strbuf *records, unsigned int counts[256])
{
	memset(counts, 0, 256 * sizeof(*counts));
	for (size_t at = 0; at < records->len;) {
		struct record_header header;
		assert_true(at + sizeof(header) <= records->len);
		memcpy(&header, records->data + at, sizeof(header));
		assert_true(header.size >= sizeof(header) && header.size % 8 == 0 && at + header.size <= records->len);
		assert_true(header.type < 256);
		counts[header.type]++;
		at += header.size;
	}
}

static void test_trailer(void **state)
{
	struct event_attr attr = {.sample_id_all = 1, .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU};

	assert_int_equal(synth_trailer_size(&attr), 24);
	attr.sample_id_all = 0;
	assert_int_equal(synth_trailer_size(&attr), 0);
}

static void test_own_process(void **state)
{
	struct strbuf records = {0};
	struct synth synth = {.out = &records, .trailer = 24, .namespaces = true};
	unsigned int counts[256];
	pid_t self = getpid();

	synth_threads(&synth, &self, 1, false);
	count_records(&records, counts);
	assert_int_equal(counts[RECORD_COMM], 1);
	assert_int_equal(counts[RECORD_NAMESPACES], 1);
	assert_true(counts[RECORD_MMAP2] >= 3);
	assert_non_null(memmem(records.data, records.len, "[vdso]", 6));
	unsigned int code = counts[RECORD_MMAP2];

	strbuf_clear(&records);
	synth.data_maps = true;
	synth_threads(&synth, &self, 1, false);
	count_records(&records, counts);
	assert_true(counts[RECORD_MMAP2] > code);
	assert_non_null(memmem(records.data, records.len, "//anon", 6));

	strbuf_clear(&records);
	synth_threads(&synth, &self, 1, true);
	count_records(&records, counts);
	assert_int_equal(counts[RECORD_MMAP2], 0);
	strbuf_deinit(&records);
}

/* The result doesn't depend on the number of threads that read. */
static void test_jobs(void **state)
{
	unsigned int counts[2][256];

	for (unsigned int i = 0; i < 2; i++) {
		struct strbuf records = {0};
		struct synth synth = {.out = &records, .trailer = 24};
		synth_all_tasks(&synth, i ? 4 : 1);
		count_records(&records, counts[i]);
		assert_int_equal(counts[i][RECORD_FORK], counts[i][RECORD_COMM]);
		assert_true(counts[i][RECORD_COMM] >= 1 && counts[i][RECORD_MMAP2] >= 3);
		strbuf_deinit(&records);
	}
}

/* An index of more counters than one record holds goes to several. */
static void test_id_index(void **state)
{
	enum { THREADS = 5000 };
	struct strbuf records = {0};
	struct synth synth = {.out = &records, .trailer = 24};
	unsigned int counts[256];
	int cpu = -1;
	pid_t *threads = calloc(THREADS, sizeof(*threads));
	struct counter counter = {calloc(THREADS, sizeof(int)), calloc(THREADS, sizeof(uint64_t)), 1, THREADS};
	const struct counter *list = &counter;
	struct counter_target target = {.cpus = &cpu, .cpu_count = 1, .threads = threads, .thread_count = THREADS, .cgroup = -1};

	counter.fds[7] = -1;
	synth_id_index(&synth, &list, 1, &target);
	count_records(&records, counts);
	assert_int_equal(counts[RECORD_ID_INDEX], 3);
	assert_int_equal(records.len, 3 * 16 + (THREADS - 1) * 32);
	uint64_t entries;
	memcpy(&entries, records.data + 8, sizeof(entries));
	assert_int_equal(entries, (65528 - 16) / 32);
	strbuf_deinit(&records);
	free(threads);
	free(counter.fds);
	free(counter.ids);
}

int capture_synth_tests(void);
int capture_synth_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_trailer), cmocka_unit_test(test_own_process), cmocka_unit_test(test_jobs),
					   cmocka_unit_test(test_id_index)};
	return cmocka_run_group_tests_name("session/synth", tests, NULL, NULL);
}

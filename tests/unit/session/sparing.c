/* A session that spares memory: what a pass over all records has read isn't in memory any more when it is done. */
#include "session/session.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 32 << 20, PERIOD = 10 };

struct sample_record {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
};

enum { SAMPLES = SIZE / sizeof(struct sample_record) };

static void write_samples(int fd)
{
	enum { TOGETHER = 1 << 14 };
	static struct sample_record records[TOGETHER];

	for (size_t i = 0; i < SAMPLES; i += TOGETHER) {
		for (size_t at = 0; at < TOGETHER; at++)
			records[at] = (struct sample_record){.header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(*records)},
							     .ip = 0x1000,
							     .pid = 7,
							     .tid = 7,
							     .time = (i + at + 1) * PERIOD};
		assert_int_equal(write(fd, records, sizeof(records)), sizeof(records));
	}
}

/* A recording of one event. */
static void write_recording(int fd)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr), .sample_period = 1, .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME};
	const uint64_t attr_size = sizeof(attr) + 16, no_ids[2] = {0}, header[13] = {104, attr_size, 104, attr_size, 104 + attr_size, SIZE};

	assert_int_equal(write(fd, "PERFILE2", 8), 8);
	assert_int_equal(write(fd, header, 96), 96);
	assert_int_equal(write(fd, &attr, sizeof(attr)), sizeof(attr));
	assert_int_equal(write(fd, no_ids, sizeof(no_ids)), sizeof(no_ids));
	write_samples(fd);
}

/* Of the mapping that begins at `data`: what we have of it, whatever the system has of its file. */
static uint64_t resident_bytes(const void *data)
{
	char line[256], begin[32];
	bool found = false;
	unsigned long kb = 0;
	FILE *smaps = fopen("/proc/self/smaps", "re");

	assert_non_null(smaps);
	snprintf(begin, sizeof(begin), "%lx-", (unsigned long)data);
	while (fgets(line, sizeof(line), smaps)) {
		found |= !strncmp(line, begin, strlen(begin));
		if (found && sscanf(line, "Rss: %lu kB", &kb) == 1)
			break;
	}
	fclose(smaps);
	assert_true(found);
	return (uint64_t)kb << 10;
}

static void init(void *state, void *context)
{
	*(uint64_t *)state = 0;
}

static void count(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	*(uint64_t *)state += sample->ip == 0x1000;
}

static void merge(void *into, void *from, void *context)
{
	*(uint64_t *)into += *(uint64_t *)from;
}

/* What is in memory of the recording when it was opened and when it was reduced. */
static void read_recording(const char *path, bool sparing, uint64_t *ret_opened, uint64_t *ret_reduced)
{
	const struct reducer reducer = {.state_size = sizeof(uint64_t), .init = init, .sample = count, .merge = merge};
	const struct session_options options = {.input.path = path, .jobs = 1, .sparing = sparing};
	struct session *session;
	uint64_t *samples;

	assert_null(session_open(&options, &session));
	*ret_opened = resident_bytes(session->reader->records);
	assert_null(session_reduce(session, &reducer, NULL, (void **)&samples));
	*ret_reduced = resident_bytes(session->reader->records);
	assert_int_equal(*samples, SAMPLES);
	free(samples);
	session_close(session);
}

static void what_was_read_leaves_memory(void **state)
{
	char path[] = "/tmp/perf-unit-sparing-XXXXXX";
	int fd = mkstemp(path);
	uint64_t opened, reduced;

	write_recording(fd);
	close(fd);
	read_recording(path, false, &opened, &reduced);
	assert_true(opened > SIZE / 4 * 3 && reduced > SIZE / 4 * 3);
	read_recording(path, true, &opened, &reduced);
	assert_true(opened < SIZE / 4 && reduced < SIZE / 4);
	unlink(path);
}

int session_sparing_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_read_leaves_memory)};

	return cmocka_run_group_tests_name("session/sparing", tests, NULL, NULL);
}

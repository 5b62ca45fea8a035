/* What is written can be read, at every moment; and the output is opened with care. */
#include "perfdata/writer.h"
#include "base/mem.h"
#include "perfdata/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char folder[32];
	char path[48];
	struct event_list events;
	struct features features;
};

static int set_up(void **state)
{
	struct fixture *fixture = mem_zalloc(sizeof(*fixture));
	strcpy(fixture->folder, "/tmp/perf-writer-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/out.data", fixture->folder);
	for (uint64_t i = 0; i < 2; i++) {
		struct event *event = event_list_add(&fixture->events, i ? "instructions:u" : "cycles:u");
		event->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
		event->attr.sample_id_all = 1;
		vec_push(&event->ids, 10 + i);
	}
	fixture->features.hostname = "box";
	features_set(&fixture->features, FEATURE_HOSTNAME);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[64];
	event_list_deinit(&fixture->events);
	features_deinit(&fixture->features);
	snprintf(command, sizeof(command), "rm -rf %s", fixture->folder);
	int status = system(command);
	free(fixture);
	return status;
}

static void no_error(struct error *error)
{
	if (error)
		print_error("%s\n", error_message(error));
	assert_null(error);
}

struct sample_record {
	struct record_header header;
	uint64_t id, ip, time;
};

/* `count` samples in two pieces, as a ring that wraps gives them: cut in the middle of a record. */
static struct error *append_samples(struct writer *writer, unsigned int count)
{
	struct sample_record *records = mem_zalloc_array(count, sizeof(*records));
	for (unsigned int i = 0; i < count; i++)
		records[i] = (struct sample_record){{RECORD_SAMPLE, CPUMODE_USER, sizeof(*records)}, 10 + i % 2, 0x400000 + i, 1000 + i};
	size_t size = count * sizeof(*records), cut = size / 2 / 8 * 8;
	struct iovec pieces[] = {{records, cut}, {(uint8_t *)records + cut, size - cut}};
	struct error *error = writer_append(writer, pieces, 2);
	free(records);
	return error;
}

static uint64_t count_samples(const char *path, bool complete)
{
	struct reader *reader;
	no_error(reader_open(&(struct reader_options){.path = path}, &reader));
	assert_int_equal(reader->events.events.len, 2);
	uint64_t offset = reader->data_offset, samples = 0;
	const struct record_header *header;
	while ((header = reader_record(reader, &offset, true))) {
		struct sample sample;
		if (header->type != RECORD_SAMPLE)
			continue;
		struct event *event = reader_event(reader, header);
		assert_non_null(event);
		assert_null(sample_decode(&reader->layouts[event->index], &event->attr, header, &sample));
		assert_int_equal(event->index, (sample.ip - 0x400000) % 2);
		samples++;
	}
	assert_int_equal(reader->diagnostics.broken_records, 0);
	assert_false(reader->diagnostics.truncated);
	if (complete)
		assert_true(reader->features.hostname && !strcmp(reader->features.hostname, "box"));
	reader_close(reader);
	return samples;
}

static struct writer *open_writer(struct fixture *fixture, int level)
{
	struct writer *writer;
	struct writer_options options = {.path = fixture->path, .compression_level = level, .keep_old = true};
	no_error(writer_open(&options, &fixture->events, &fixture->features, &writer));
	return writer;
}

static void write_and_read(struct fixture *fixture, int level)
{
	struct writer *writer = open_writer(fixture, level);
	for (int round = 0; round < 10; round++) {
		no_error(append_samples(writer, 10000));
		no_error(writer_finish_round(writer));
	}
	no_error(writer_finish_data(writer));
	assert_int_equal(count_samples(fixture->path, false), 100000);
	no_error(writer_finish(writer, &fixture->features));
	struct writer_totals totals = writer_totals(writer);
	assert_int_equal(totals.appended_bytes, 100000 * sizeof(struct sample_record));
	assert_true(level ? totals.data_bytes < totals.appended_bytes / 2 : totals.data_bytes > totals.appended_bytes);
	writer_close(writer);
	struct stat st;
	assert_int_equal(stat(fixture->path, &st), 0);
	assert_int_equal(st.st_size, totals.file_bytes);
	assert_int_equal(count_samples(fixture->path, true), 100000);
}

static void test_file(void **state)
{
	write_and_read(*state, 0);
}

static void test_compressed(void **state)
{
	write_and_read(*state, 1);
}

static void test_killed(void **state)
{
	struct fixture *fixture = *state;
	for (int level = 0; level < 2; level++) {
		struct writer *writer = open_writer(fixture, level);
		assert_int_equal(count_samples(fixture->path, false), 0);
		for (unsigned int i = 1; i <= 20; i++) {
			no_error(append_samples(writer, 5));
			no_error(writer_finish_round(writer));
			assert_int_equal(count_samples(fixture->path, false), 5 * i);
		}
		writer_close(writer);
		assert_int_equal(count_samples(fixture->path, false), 100);
	}
}

static void test_empty(void **state)
{
	struct fixture *fixture = *state;
	struct writer *writer = open_writer(fixture, 0);
	no_error(writer_finish(writer, &fixture->features));
	writer_close(writer);
	assert_int_equal(count_samples(fixture->path, true), 0);
}

static void test_pipe(void **state)
{
	struct fixture *fixture = *state;
	for (int level = 0; level < 2; level++) {
		unlink(fixture->path);
		assert_int_equal(mkfifo(fixture->path, 0600), 0);
		pid_t child = fork();
		if (child == 0) {
			struct writer *writer;
			struct writer_options options = {.path = fixture->path, .compression_level = level};
			if (writer_open(&options, &fixture->events, &fixture->features, &writer) || append_samples(writer, 30000) ||
			    writer_finish_round(writer) || writer_finish(writer, &fixture->features))
				_exit(1);
			writer_close(writer);
			_exit(0);
		}
		assert_int_equal(count_samples(fixture->path, true), 30000);
		int status;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

/* A write that fails in the middle: what was written before stays, and of it as many records as are whole. */
static void test_no_room(void **state)
{
	struct fixture *fixture = *state;
	struct writer *writer = open_writer(fixture, 0);
	struct rlimit old, small = {.rlim_cur = 100001};
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	struct error *error = NULL;
	unsigned int appended = 0;
	while (!(error = append_samples(writer, 100)) && !(error = writer_finish_round(writer)))
		appended += 100;
	assert_int_equal(error_errno(error), EFBIG);
	assert_non_null(strstr(error_message(error), "ulimit"));
	error_free(error);
	error = append_samples(writer, 1);
	assert_non_null(error);
	error_free(error);
	no_error(writer_finish_data(writer));
	error_free(writer_finish(writer, &fixture->features));
	writer_close(writer);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	uint64_t samples = count_samples(fixture->path, false);
	assert_true(samples >= appended && samples < appended + 100);
}

static void test_old_is_kept(void **state)
{
	struct fixture *fixture = *state;
	char old[64];
	snprintf(old, sizeof(old), "%s.old", fixture->path);
	for (unsigned int i = 1; i <= 2; i++) {
		struct writer *writer = open_writer(fixture, 0);
		no_error(append_samples(writer, i));
		no_error(writer_finish(writer, &fixture->features));
		writer_close(writer);
	}
	assert_int_equal(count_samples(old, true), 1);
	assert_int_equal(count_samples(fixture->path, true), 2);
}

static void test_refusals(void **state)
{
	struct fixture *fixture = *state;
	struct writer *writer;
	struct writer_options options = {.path = fixture->path};
	if (geteuid() != 0) {
		print_message("skip: only root is refused\n");
		skip();
	}
	assert_int_equal(symlink("/etc/nothing", fixture->path), 0);
	struct error *error = writer_open(&options, &fixture->events, NULL, &writer);
	assert_non_null(error);
	assert_int_equal(error_kind(error), ERROR_PERMISSION);
	error_free(error);
	assert_int_equal(unlink(fixture->path), 0);
	close(open(fixture->path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(chown(fixture->path, 12345, 12345), 0);
	error = writer_open(&options, &fixture->events, NULL, &writer);
	assert_non_null(error);
	assert_int_equal(error_kind(error), ERROR_PERMISSION);
	error_free(error);
}

int perfdata_writer_tests(void);
int perfdata_writer_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_compressed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_empty, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pipe, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_old_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
	};
	return cmocka_run_group_tests_name("perfdata/writer", tests, NULL, NULL);
}

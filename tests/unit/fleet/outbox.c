/* The outbox: who measures goes on while the disk hangs; what it holds then is kept when the disk is back, and what it dropped is counted.
 * The disk hangs because the spool's new file is a pipe, whose writer has to wait for a reader. */
#include "fleet/outbox.h"

#include "base/files/replacement.h"
#include "base/mem.h"
#include "made/receiver.h"
#include "made/windows.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { WINDOWS = 10 };

static char *folder, *url;
static struct receiver *receiver;
static atomic_uint taken;

static void count_taken(void *context, const char *path, const struct strbuf *body)
{
	atomic_fetch_add(&taken, 1);
}

static enum receiver_way take(void *context, unsigned int number, const char *path)
{
	return RECEIVER_TAKES;
}

static int start(void **state)
{
	uint16_t port;
	atomic_store(&taken, 0);
	receiver = receiver_start(take, count_taken, NULL, &port);
	url = mem_printf("parca://127.0.0.1:%u", port);
	return temporary_directory("perf-outbox", &folder) != NULL;
}

static int stop(void **state)
{
	DIR *dir = opendir(folder);
	for (struct dirent *entry; (entry = readdir(dir));)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	receiver_stop(receiver);
	int failed = rmdir(folder);
	free(folder);
	free(url);
	return failed;
}

struct sending {
	struct fleet_sink *sink;
	struct sender *sender;
	struct outbox *outbox;
};

static struct sending open_all(uint64_t limit)
{
	struct sending sending;
	const struct fleet_sink_options options = {.name = "made", .url = url, .http.timeout_ms = 3600000};
	assert_null(fleet_sink_open(&options, &sending.sink));
	assert_null(sender_open(&(struct sender_options){.sink = sending.sink, .folder = folder, .delay_ms = 1}, &sending.sender));
	assert_null(outbox_open(limit, &sending.outbox));
	return sending;
}

/* The counts when all is sent or dropped. */
static struct sender_counts close_all(struct sending *sending)
{
	struct sender_counts counts;
	outbox_close(sending->outbox);
	for (sender_counts(sending->sender, &counts); counts.waiting_batches; sender_counts(sending->sender, &counts))
		usleep(1000);
	sender_close(sending->sender, 0);
	fleet_sink_close(sending->sink);
	return counts;
}

/* Returns how many of them were dropped. */
static unsigned int put_all(const struct sending *sending, unsigned int count)
{
	unsigned int dropped = 0;
	for (unsigned int i = 0; i < count; i++) {
		struct window *window = made_window((uint8_t)i);
		made_window_add(window, 0, 7, 0, "main;work", i + 1, 1000);
		struct error *error = outbox_put(sending->outbox, sending->sender, window);
		dropped += error != NULL;
		error_free(error);
		window_destroy(window);
	}
	return dropped;
}

static void all_are_kept(void **state)
{
	struct sending sending = open_all(1 << 20);
	assert_int_equal(put_all(&sending, WINDOWS), 0);
	struct sender_counts counts = close_all(&sending);
	assert_int_equal(counts.sent_batches, WINDOWS);
	assert_int_equal(counts.sent_samples, WINDOWS * (WINDOWS + 1) / 2);
	assert_int_equal(atomic_load(&taken), WINDOWS);
}

/* What is being kept while the disk hangs is lost as the pipe is no file, so that an error of the disk is tried as well. */
static void a_disk_that_hangs(void **state)
{
	struct sender_counts counts;
	char *path = mem_printf("%s/new", folder);
	struct sending sending = open_all(1);
	assert_int_equal(mkfifo(path, 0600), 0);
	/* One window is always taken, however small the limit is. */
	assert_int_equal(put_all(&sending, WINDOWS), WINDOWS - 1);
	assert_int_equal(outbox_waiting(sending.outbox), 1);
	sender_counts(sending.sender, &counts);
	assert_int_equal(counts.batches, 0);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	outbox_flush(sending.outbox);
	assert_int_equal(outbox_waiting(sending.outbox), 0);
	close(fd);
	sender_counts(sending.sender, &counts);
	assert_int_equal(counts.batches, WINDOWS);
	assert_int_equal(counts.dropped_batches, WINDOWS);
	assert_int_equal(counts.ever_dropped_samples, WINDOWS * (WINDOWS + 1) / 2);
	assert_int_equal(put_all(&sending, 1), 0);
	counts = close_all(&sending);
	assert_int_equal(counts.sent_batches, 1);
	assert_int_equal(atomic_load(&taken), 1);
	free(path);
}

int fleet_outbox_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_are_kept, start, stop),
		cmocka_unit_test_setup_teardown(a_disk_that_hangs, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

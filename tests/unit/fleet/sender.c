/* The sender: what was put is taken by the engine once, or counted as dropped, whatever the engine does and whenever the process dies.
 * The engine is a receiver of this process that knows windows by a label with their number; a window's samples are ten more than that.
 * */
#include "fleet/sender.h"

#include "base/files/replacement.h"
#include "base/mem.h"
#include "dying.h"
#include "made/receiver.h"
#include "made/windows.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { WINDOWS = 40, EXTRA = 10 };

static char *folder, *url;

/* What the engine is like, and has: written by the receiver's thread, read when it has stopped or by atomics. */
static struct engine_made {
	enum receiver_way ways[WINDOWS * 4]; /* by request; those behind `count` are taken */
	atomic_uint count;		     /* set after `ways` */
	atomic_uint taken[WINDOWS];	     /* how often */
	atomic_uint requests;
	pid_t victim; /* is killed when a window is kept, or, `before`, when its request begins; 0 = nobody */
	unsigned int victim_at;
	bool before;
} * made;

static struct receiver *receiver;

static enum receiver_way choose(void *context, unsigned int number, const char *path)
{
	atomic_store(&made->requests, number + 1);
	if (made->victim && made->before && number == made->victim_at)
		kill(made->victim, SIGKILL);
	return number < atomic_load(&made->count) ? made->ways[number] : RECEIVER_TAKES;
}

static void keep(void *context, const char *path, const struct strbuf *body)
{
	static const char mark[] = "\"number\",\"value\":\"";
	const char *at = strstr(strbuf_str(body), mark);
	assert_non_null(at);
	unsigned long number = strtoul(at + strlen(mark), NULL, 10);
	assert_true(number < WINDOWS);
	atomic_fetch_add(&made->taken[number], 1);
	if (made->victim && !made->before && atomic_load(&made->requests) == made->victim_at + 1)
		kill(made->victim, SIGKILL);
}

static int start(void **state)
{
	uint16_t port;
	made = mem_zalloc(sizeof(*made));
	receiver = receiver_start(choose, keep, NULL, &port);
	url = mem_printf("parca://127.0.0.1:%u", port);
	return temporary_directory("perf-sender", &folder) != NULL;
}

static int stop(void **state)
{
	DIR *dir = opendir(folder);
	for (struct dirent *entry; (entry = readdir(dir));)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	int failed = rmdir(folder);
	if (receiver)
		receiver_stop(receiver);
	free(folder);
	free(url);
	free(made);
	return failed;
}

/* ---- a sender ---- */

struct sending {
	struct fleet_sink *sink;
	struct sender *sender;
};

static struct sending open_with(bool on_disk, uint64_t limit, unsigned int delay_ms, unsigned int hopeless)
{
	struct sending sending;
	const struct fleet_sink_options options = {.name = "made", .url = url, .http.timeout_ms = 3600000};
	assert_null(fleet_sink_open(&options, &sending.sink));
	const struct sender_options sender = {
		.sink = sending.sink, .folder = on_disk ? folder : NULL, .limit = limit, .delay_ms = delay_ms, .hopeless = hopeless};
	assert_null(sender_open(&sender, &sending.sender));
	return sending;
}

/* Its second attempt is of no test. */
static struct sending open_patient(uint64_t limit, unsigned int hopeless)
{
	enum { HOUR_MS = 3600000 };
	return open_with(true, limit, HOUR_MS, hopeless);
}

static struct sending open_sender(bool on_disk, uint64_t limit)
{
	return open_with(on_disk, limit, 1, 0);
}

static struct sender_counts counts_of(const struct sending *sending)
{
	struct sender_counts counts;
	sender_counts(sending->sender, &counts);
	assert_int_equal(counts.found_samples + counts.samples, counts.sent_samples + counts.dropped_samples + counts.waiting_samples);
	assert_int_equal(counts.found_batches + counts.batches, counts.sent_batches + counts.dropped_batches + counts.waiting_batches);
	return counts;
}

/* The counts at the end. */
static struct sender_counts close_sender(struct sending *sending, bool until_empty)
{
	struct sender_counts counts = counts_of(sending);
	while (until_empty && counts.waiting_batches) {
		usleep(1000);
		counts = counts_of(sending);
	}
	sender_close(sending->sender, 0);
	fleet_sink_close(sending->sink);
	return counts;
}

static struct error *put(const struct sending *sending, unsigned int number)
{
	struct window *window = made_window((uint8_t)number);
	char text[16];
	snprintf(text, sizeof(text), "%u", number);
	window->labels.list.data[0] = (struct window_label){"number", text};
	made_window_add(window, 0, 7, 0, "main;work", number + EXTRA, 1000);
	struct sender_batch batch;
	assert_null(sender_encode(sending->sender, window, &batch));
	struct error *error = sender_keep(sending->sender, &batch);
	sender_batch_deinit(&batch);
	window_destroy(window);
	return error;
}

/* Of the windows from `first` up to `end`; each at most so often. */
static unsigned int count_taken(unsigned int first, unsigned int end, unsigned int most)
{
	unsigned int count = 0;
	for (unsigned int i = first; i < end; i++) {
		unsigned int times = atomic_load(&made->taken[i]);
		assert_true(times <= most);
		count += times > 0;
	}
	return count;
}

/* ---- what engines do ---- */

static void all_are_taken(void **state)
{
	for (int on_disk = 0; on_disk < 2; on_disk++) {
		struct sending sending = open_sender(on_disk, 0);
		for (unsigned int i = 0; i < 10; i++)
			assert_null(put(&sending, i + 10 * (unsigned int)on_disk));
		struct sender_counts counts = close_sender(&sending, true);
		assert_int_equal(counts.sent_batches, 10);
		assert_int_equal(counts.dropped_batches, 0);
		assert_int_equal(counts.attempts_failed, 0);
	}
	assert_int_equal(count_taken(0, 20, 1), 20);
}

/* Whatever goes wrong, the same batch is sent again; what the engine refuses is dropped. */
static void engines_in_trouble(void **state)
{
	static const enum receiver_way ways[] = {RECEIVER_FAILS,       RECEIVER_CUTS_BODY, RECEIVER_FAILS,   RECEIVER_TAKES,
						 RECEIVER_CUTS_ANSWER, RECEIVER_TAKES,	   RECEIVER_REFUSES, RECEIVER_CUTS_BODY,
						 RECEIVER_CUTS_BODY,   RECEIVER_IS_BUSY,   RECEIVER_TAKES};
	memcpy(made->ways, ways, sizeof(ways));
	atomic_store(&made->count, sizeof(ways) / sizeof(*ways));
	struct sending sending = open_sender(true, 0);
	for (unsigned int i = 0; i < 5; i++)
		assert_null(put(&sending, i));
	struct sender_counts counts = close_sender(&sending, true);
	/* 0 at the fourth attempt, 1 twice since its first answer was lost, 2 is refused, 3 at the fourth attempt. */
	assert_int_equal(atomic_load(&made->taken[0]), 1);
	assert_int_equal(atomic_load(&made->taken[1]), 2);
	assert_int_equal(atomic_load(&made->taken[2]), 0);
	assert_int_equal(atomic_load(&made->taken[3]), 1);
	assert_int_equal(atomic_load(&made->taken[4]), 1);
	assert_int_equal(counts.sent_samples, 4 * EXTRA + 0 + 1 + 3 + 4);
	assert_int_equal(counts.dropped_samples, EXTRA + 2);
	/* libcurl itself tries again where a connection that was used before is reset. */
	assert_int_equal(counts.attempts_failed, 5);
}

/* One that does not answer for an hour is not waited for at the end, and what it has not taken stays. */
static void an_engine_that_hangs(void **state)
{
	made->ways[0] = RECEIVER_HANGS;
	atomic_store(&made->count, 1);
	struct sending sending = open_sender(true, 0);
	assert_null(put(&sending, 1));
	while (!atomic_load(&made->requests))
		usleep(1000);
	struct sender_counts counts = close_sender(&sending, false);
	assert_int_equal(counts.waiting_batches, 1);
	sending = open_sender(true, 0);
	counts = close_sender(&sending, true);
	assert_int_equal(counts.found_samples, EXTRA + 1);
	assert_int_equal(counts.sent_samples, EXTRA + 1);
	assert_int_equal(atomic_load(&made->taken[1]), 1);
}

static void the_engine_says_how_long(void **state)
{
	made->ways[0] = RECEIVER_IS_BUSY;
	atomic_store(&made->count, 1);
	const struct fleet_sink_options options = {.name = "made", .url = url};
	struct fleet_sink *sink;
	struct error *why = NULL;
	const uint8_t id[16] = {1};
	assert_null(fleet_sink_open(&options, &sink));
	assert_int_equal(fleet_sink_send(sink, id, "{}", 2, &why), SINK_LATER);
	assert_int_equal(fleet_sink_wait_s(sink), 1);
	assert_non_null(strstr(error_message(why), "429"));
	error_free(why);
	fleet_sink_close(sink);
}

/* An engine that is away: the newest windows stay, the others are counted; then it is back. */
static void the_spool_is_bounded(void **state)
{
	for (unsigned int i = 0; i < WINDOWS * 4; i++)
		made->ways[i] = RECEIVER_FAILS;
	for (int on_disk = 0; on_disk < 2; on_disk++) {
		atomic_store(&made->count, WINDOWS * 4);
		struct sending sending = open_sender(on_disk, 5000);
		for (unsigned int i = 0; i < 20; i++)
			assert_null(put(&sending, i + 20 * (unsigned int)on_disk));
		struct sender_counts counts = counts_of(&sending);
		assert_true(counts.waiting_bytes <= 5000 && counts.waiting_batches >= 3);
		assert_true(counts.dropped_batches >= 5);
		atomic_store(&made->count, 0);
		counts = close_sender(&sending, true);
		unsigned int first = 20 * (unsigned int)on_disk, taken = count_taken(first, first + 20, 1);
		assert_int_equal(taken, counts.sent_batches);
		assert_int_equal(taken + counts.dropped_batches, 20);
		assert_int_equal(counts.ever_dropped_batches, counts.dropped_batches);
		/* The newest are there; of the others one at most, which was being sent. */
		assert_true(count_taken(first + 21 - taken, first + 20, 1) == taken - 1);
	}
}

/* Fills the spool when the first window, and no other one, was tried in vain, once; all that was kept is sent then. */
static void fill_behind_first(unsigned int hopeless)
{
	made->ways[0] = RECEIVER_FAILS;
	atomic_store(&made->count, 1);
	struct sending sending = open_patient(5000, hopeless);
	assert_null(put(&sending, 0));
	while (!counts_of(&sending).attempts_failed)
		usleep(1000);
	for (unsigned int i = 1; i < 20; i++)
		assert_null(put(&sending, i));
	assert_true(close_sender(&sending, false).dropped_batches >= 5);
	sending = open_sender(true, 5000);
	close_sender(&sending, true);
	assert_true(count_taken(15, 20, 1) >= 2);
}

/* The engine may have a part of what it could not be told of to the end: that is sent again, whoever comes and however long the spool was
 * full. */
static void what_was_begun_is_sent(void **state)
{
	fill_behind_first(2);
	assert_int_equal(count_taken(0, 1, 1), 1);
}

/* Unless it seems that the engine will never take it: others would wait for ever. */
static void what_is_hopeless_makes_room(void **state)
{
	fill_behind_first(1);
	assert_int_equal(count_taken(0, 1, 1), 0);
}

static void a_full_disk(void **state)
{
	if (mount("none", folder, "tmpfs", 0, "size=16k,mode=700")) {
		print_message("skip: this process may not mount a file system\n");
		skip();
	}
	for (unsigned int i = 0; i < WINDOWS * 4; i++)
		made->ways[i] = RECEIVER_FAILS;
	atomic_store(&made->count, WINDOWS * 4);
	struct sending sending = open_sender(true, 0);
	for (unsigned int i = 0; i < 20; i++)
		error_free(put(&sending, i));
	struct sender_counts counts = counts_of(&sending);
	assert_true(counts.dropped_batches >= 15);
	atomic_store(&made->count, 0);
	counts = close_sender(&sending, true);
	assert_true(counts.sent_batches > 0);
	assert_int_equal(count_taken(0, 20, 1) + counts.dropped_batches, 20);
	assert_int_equal(umount(folder), 0);
}

static void damaged_files_are_never_sent(void **state)
{
	for (unsigned int i = 0; i < WINDOWS * 4; i++)
		made->ways[i] = RECEIVER_FAILS;
	atomic_store(&made->count, WINDOWS * 4);
	struct sending sending = open_sender(true, 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_null(put(&sending, i));
	close_sender(&sending, false);
	char *path = mem_printf("%s/%016x.batch", folder, 2);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "!", 1, 200), 1);
	close(fd);
	free(path);
	atomic_store(&made->count, 0);
	sending = open_sender(true, 0);
	struct sender_counts counts = close_sender(&sending, true);
	assert_int_equal(counts.sent_samples, 2 * EXTRA + 2);
	assert_int_equal(counts.dropped_samples, EXTRA + 1);
	/* A request that the first sender had given up may have come to be taken meanwhile. */
	assert_int_equal(count_taken(0, 1, 2) + count_taken(1, 3, 1), 2);
}

/* ---- death ---- */

enum { PUT_BY_VICTIM = 6 };

/* Puts windows until it is killed, or all are sent. *put_whole: so many calls have returned. */
static void be_victim(atomic_uint *put_begun, atomic_uint *put_whole, int moment, uint64_t limit)
{
	struct sending sending = open_sender(true, limit);
	atomic_store(&calls_to_live, moment);
	for (unsigned int i = 0; i < PUT_BY_VICTIM; i++) {
		atomic_store(put_begun, i + 1);
		if (!put(&sending, i))
			atomic_store(put_whole, i + 1);
	}
	close_sender(&sending, true);
	_exit(0);
}

/* Returns whether it was killed. Another process sends what is left then. */
static bool one_death(int moment, unsigned int request, bool before, uint64_t limit)
{
	struct shared {
		atomic_uint begun, whole, go;
	} *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t child = fork();
	if (!child) {
		while (!atomic_load(&shared->go))
			usleep(100);
		be_victim(&shared->begun, &shared->whole, moment, limit);
	}
	made->victim = request == UINT32_MAX ? 0 : child;
	made->victim_at = atomic_load(&made->requests) + request;
	made->before = before;
	atomic_store(&shared->go, 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	made->victim = 0;
	assert_true(!status || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	struct sending sending = open_sender(true, limit);
	struct sender_counts counts = close_sender(&sending, true);
	unsigned int taken = count_taken(0, PUT_BY_VICTIM, 2), dropped = (unsigned int)counts.ever_dropped_batches;
	assert_true(taken + dropped >= atomic_load(&shared->whole) && taken + dropped <= atomic_load(&shared->begun));
	munmap(shared, sizeof(*shared));
	for (unsigned int i = 0; i < PUT_BY_VICTIM; i++)
		atomic_store(&made->taken[i], 0);
	return status;
}

static void forget_drops(void)
{
	char *path = mem_printf("%s/dropped", folder);
	unlink(path);
	free(path);
}

static void killed_at_each_change_of_a_file(void **state)
{
	int moment = 0;
	NEEDS_TO_DIE();
	for (bool killed = true; killed; moment++, forget_drops())
		killed = one_death(moment, UINT32_MAX, false, 0);
	assert_true(moment > 30);
}

/* With a spool for two windows, and an engine that is slow to take them: some are dropped, and the death comes between that, too. */
static void killed_while_windows_are_dropped(void **state)
{
	for (unsigned int i = 0; i < WINDOWS * 4; i++) /* the first in three attempts succeeds */
		made->ways[i] = i % 3 ? RECEIVER_FAILS : RECEIVER_TAKES;
	atomic_store(&made->count, WINDOWS * 4);
	int moment = 0;
	NEEDS_TO_DIE();
	for (bool killed = true; killed; moment++, forget_drops())
		killed = one_death(moment, UINT32_MAX, false, 2000);
	assert_true(moment > 30);
}

/* When a request begins, and when the engine has it and hasn't said so. */
static void killed_at_each_request(void **state)
{
	NEEDS_TO_DIE();
	for (unsigned int request = 0; request < PUT_BY_VICTIM; request++)
		for (int before = 0; before < 2; before++)
			assert_true(one_death(-1, request, before, 0));
}

int fleet_sender_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_are_taken, start, stop),
		cmocka_unit_test_setup_teardown(engines_in_trouble, start, stop),
		cmocka_unit_test_setup_teardown(an_engine_that_hangs, start, stop),
		cmocka_unit_test_setup_teardown(the_engine_says_how_long, start, stop),
		cmocka_unit_test_setup_teardown(the_spool_is_bounded, start, stop),
		cmocka_unit_test_setup_teardown(what_was_begun_is_sent, start, stop),
		cmocka_unit_test_setup_teardown(what_is_hopeless_makes_room, start, stop),
		cmocka_unit_test_setup_teardown(a_full_disk, start, stop),
		cmocka_unit_test_setup_teardown(damaged_files_are_never_sent, start, stop),
		cmocka_unit_test_setup_teardown(killed_at_each_change_of_a_file, start, stop),
		cmocka_unit_test_setup_teardown(killed_while_windows_are_dropped, start, stop),
		cmocka_unit_test_setup_teardown(killed_at_each_request, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

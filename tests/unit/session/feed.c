/* A session on a feed, as a live source has it, with rings that are made up: order, side-band, losses, several events. */
#include "analysis/tracker.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "made_records.h"
#include "session/session.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- made-up rings ---- */

enum { SWITCH_ID = 11, CLOCK_ID = 12, MOST_PASSES = 8 };

/* What each pass over the rings reads. */
struct rings {
	struct strbuf passes[MOST_PASSES];
	size_t count, next;
	size_t fetched; /* how often the session asked */
};

static void add(struct rings *rings, size_t pass, const void *record, size_t size)
{
	strbuf_add(&rings->passes[pass], record, size);
	if (rings->count <= pass)
		rings->count = pass + 1;
}

static void add_sample(struct rings *rings, size_t pass, uint64_t id, uint32_t tid, uint64_t time)
{
	struct {
		struct record_header header;
		uint64_t identifier;
		uint32_t pid, tid;
		uint64_t time;
	} record = {{RECORD_SAMPLE, 2, sizeof(record)}, id, 1000, tid, time};

	add(rings, pass, &record, sizeof(record));
}

static void add_comm(struct rings *rings, size_t pass, uint32_t tid, const char *name, uint64_t time)
{
	made_comm(&rings->passes[pass], 0, name, &(struct made_trailer){1000, tid, time, SWITCH_ID});
	if (rings->count <= pass)
		rings->count = pass + 1;
}

static void add_lost(struct rings *rings, size_t pass, uint32_t type, uint64_t id, uint64_t count, uint64_t time)
{
	struct {
		struct record_header header;
		uint64_t values[2];
		struct made_trailer trailer;
	} record = {{type, 0, sizeof(record)}, {id, count}, {0, 0, time, id}};

	if (type == RECORD_LOST_SAMPLES) {
		record.values[0] = count;
		record.header.size -= sizeof(uint64_t);
		memmove(&record.values[1], &record.trailer, sizeof(record.trailer));
	}
	add(rings, pass, &record, record.header.size);
}

static void add_round(struct rings *rings, size_t pass)
{
	made_round(&rings->passes[pass], pass);
	if (rings->count <= pass)
		rings->count = pass + 1;
}

static struct error *next_pass(void *context, struct reader_chunk **ret)
{
	struct rings *rings = context;

	rings->fetched++;
	if (rings->next < rings->count)
		*ret = made_chunk(&rings->passes[rings->next++]);
	return NULL;
}

static struct session *open_session_with(struct session_options *options, const struct reader_feed *feed)
{
	static const char *const names[] = {"sched:sched_switch", "cpu-clock"};
	static const uint64_t ids[] = {SWITCH_ID, CLOCK_ID};
	struct event_list events = {0};
	struct session *session;

	for (size_t i = 0; i < 2; i++) {
		struct event *event = event_list_add(&events, names[i]);
		event->attr.type = i ? PERF_TYPE_SOFTWARE : PERF_TYPE_TRACEPOINT;
		event->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		event->attr.sample_id_all = 1;
		vec_push(&event->ids, ids[i]);
	}
	options->reader = reader_open_feed("rings", feed, &events, NULL);
	options->streaming = true;
	assert_null(session_open(options, &session));
	assert_int_equal(events.events.len, 0);
	return session;
}

static struct session *open_session_on(const struct reader_feed *feed, bool forgets)
{
	return open_session_with(&(struct session_options){.forgets = forgets}, feed);
}

static struct session *open_session(struct rings *rings)
{
	const struct reader_feed feed = {next_pass, rings};

	return open_session_on(&feed, false);
}

/* The next record that has a time, 0 at the end. */
static uint64_t next_time(struct session *session, struct record *ret)
{
	struct error *error;

	while (session_next(session, ret, &error) > 0)
		if (ret->time)
			return ret->time;
	assert_null(error);
	return 0;
}

/* ---- tests ---- */

static void test_order_over_rings(void **state)
{
	static const uint64_t expected[] = {10, 20, 30, 40, 50, 60, 70, 80, 90};
	struct rings rings = {0};
	struct record record;

	/* Two rings in each pass; the second one's 40 and 50 came late. */
	add_sample(&rings, 0, SWITCH_ID, 1001, 10);
	add_sample(&rings, 0, SWITCH_ID, 1001, 30);
	add_sample(&rings, 0, CLOCK_ID, 1002, 20);
	add_round(&rings, 0);
	add_sample(&rings, 1, CLOCK_ID, 1001, 60);
	add_sample(&rings, 1, SWITCH_ID, 1002, 40);
	add_sample(&rings, 1, CLOCK_ID, 1002, 50);
	add_round(&rings, 1);
	add_sample(&rings, 2, SWITCH_ID, 1001, 80);
	add_sample(&rings, 2, SWITCH_ID, 1002, 70);
	add_round(&rings, 2);
	add_sample(&rings, 3, SWITCH_ID, 1002, 90);
	struct session *session = open_session(&rings);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(next_time(session, &record), expected[i]);
	assert_int_equal(next_time(session, &record), 0);
	assert_int_equal(session->event_counts[0].samples, 6);
	assert_int_equal(session->event_counts[1].samples, 3);
	session_close(session);
}

/* A record is delivered when the round after its own has ended, not at the end. */
static void test_delay_is_bounded(void **state)
{
	struct rings rings = {0};
	struct record record;

	for (size_t pass = 0; pass < MOST_PASSES; pass++) {
		add_sample(&rings, pass, CLOCK_ID, 1001, 100 * (pass + 1));
		add_round(&rings, pass);
	}
	struct session *session = open_session(&rings);
	for (size_t pass = 0; pass + 1 < MOST_PASSES; pass++) {
		assert_int_equal(next_time(session, &record), 100 * (pass + 1));
		assert_true(rings.fetched <= pass + 3);
	}
	session_close(session);
	for (size_t i = rings.next; i < rings.count; i++)
		strbuf_deinit(&rings.passes[i]);
}

/* The mark of a round comes though nothing happens: whoever waits has something to do then. */
static void test_rounds_without_records(void **state)
{
	struct rings rings = {0};
	struct record record;
	struct error *error;

	for (size_t pass = 0; pass < 3; pass++)
		add_round(&rings, pass);
	struct session *session = open_session(&rings);
	for (uint64_t pass = 0; pass < 3; pass++) {
		assert_int_equal(session_next(session, &record, &error), 1);
		assert_int_equal(record.header->type, RECORD_FINISHED_ROUND);
		assert_int_equal(((const struct record_timed_round *)(const void *)record.header)->ended_ns, pass);
	}
	assert_int_equal(session_next(session, &record, &error), 0);
	session_close(session);
}

static void test_sideband_reaches_the_model(void **state)
{
	struct rings rings = {0};
	struct record record;
	const char *names[3];

	add_comm(&rings, 0, 1001, "first", 0); /* made up: it ran already */
	add_sample(&rings, 0, SWITCH_ID, 1001, 10);
	add_sample(&rings, 0, SWITCH_ID, 1001, 30);
	add_comm(&rings, 0, 1001, "second", 20); /* on another CPU */
	add_round(&rings, 0);
	add_sample(&rings, 1, CLOCK_ID, 1002, 40);
	struct session *session = open_session(&rings);
	for (size_t i = 0; i < 3;) {
		assert_true(next_time(session, &record));
		if (!record.is_sample)
			continue;
		struct sample sample;
		assert_true(session_decode(session, &record, &sample));
		names[i++] = untrusted_raw(
			thread_comm(machine_thread_or_new(session->machine, sample.pid, sample.tid, record.model_time), record.model_time));
	}
	assert_string_equal(names[0], "first");
	assert_string_equal(names[1], "second");
	assert_string_equal(names[2], ":1002");
	assert_int_equal(next_time(session, &record), 0);
	session_close(session);
}

static void test_losses_are_counted(void **state)
{
	struct rings rings = {0};
	struct record record;
	struct strbuf text = {0};

	add_lost(&rings, 0, RECORD_LOST, SWITCH_ID, 7, 10);
	add_round(&rings, 0);
	add_lost(&rings, 1, RECORD_LOST_SAMPLES, CLOCK_ID, 5, 0);
	struct session *session = open_session(&rings);
	while (next_time(session, &record))
		;
	assert_int_equal(session->lost, 7);
	assert_int_equal(session->event_counts[0].lost, 7);
	assert_int_equal(session->lost_samples, 5);
	assert_int_equal(session->event_counts[1].lost_samples, 5);
	session_loss_text(session, &text);
	assert_true(text.len);
	strbuf_deinit(&text);
	session_close(session);
}

/* Types that newer kernels have, and what is too short for its type. */
static void test_unreadable_records_are_passed_over(void **state)
{
	const struct record_header unknown = {.type = 60, .size = sizeof(unknown)}, cut = {.type = RECORD_COMM, .size = sizeof(cut)};
	struct rings rings = {0};
	struct record record;

	add(&rings, 0, &unknown, sizeof(unknown));
	add_sample(&rings, 0, CLOCK_ID, 1001, 10);
	add(&rings, 0, &cut, sizeof(cut));
	add_sample(&rings, 0, CLOCK_ID, 1001, 20);
	struct session *session = open_session(&rings);
	assert_int_equal(next_time(session, &record), 10);
	assert_int_equal(next_time(session, &record), 20);
	assert_int_equal(next_time(session, &record), 0);
	assert_int_equal(session->reader->diagnostics.unknown_records, 1);
	assert_int_equal(session->reader->diagnostics.broken_records, 1);
	session_close(session);
}

struct seen {
	uint64_t times[4];
	size_t count;
};

static void on_switch(void *context, const struct tracker_event *event)
{
	struct seen *seen = context;

	assert_true(seen->count < 4);
	seen->times[seen->count++] = event->time;
}

static void test_trackers_are_told(void **state)
{
	static const struct tracker_handler handlers[] = {{"sched:sched_switch", {0}, on_switch}, {0}};
	struct rings rings = {0};
	struct seen seen = {0};

	add_sample(&rings, 0, SWITCH_ID, 1001, 30);
	add_sample(&rings, 0, CLOCK_ID, 1002, 20);
	add_round(&rings, 0);
	add_sample(&rings, 1, SWITCH_ID, 1001, 25);
	struct session *session = open_session(&rings);
	struct tracker *tracker = tracker_create(session, handlers, &seen);
	assert_true(tracker_has(tracker, "sched:sched_switch"));
	assert_null(tracker_run(tracker));
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.times[0], 25);
	assert_int_equal(seen.times[1], 30);
	tracker_destroy(tracker);
	session_close(session);
}

/* ---- what runs for days ---- */

/* Sanitizers keep the heap's size to themselves: what is looked for there shows with fewer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PROCESSES = 100000 };
#else
enum { PROCESSES = 1000000 };
#endif
enum { IN_A_PASS = 1000, ALIVE = 50, STEP_NS = 20000, FIRST_PID = 2000 };

/* Processes that come and go: each forks, has a name and files of its own, and ends while others run. */
struct storm {
	uint32_t next;
	size_t before, most; /* bytes of the heap */
};

static void add_process(struct strbuf *out, uint32_t number)
{
	uint64_t now = (uint64_t)number * STEP_NS + 1;
	uint32_t pid = FIRST_PID + number, ended = pid - ALIVE;
	char name[16];

	snprintf(name, sizeof(name), "job-%u", number);
	made_task(out, RECORD_FORK, &(struct made_trailer){pid, pid, now, SWITCH_ID});
	made_comm(out, RECORD_MISC_COMM_EXEC, name, &(struct made_trailer){pid, pid, now + 1, SWITCH_ID});
	made_map(out, 0x400000, 0x1000, "/usr/bin/job", &(struct made_trailer){pid, pid, now + 2, SWITCH_ID});
	made_map(out, 0x7f0000000000, 0x1000, "/usr/lib/libc.so.6", &(struct made_trailer){pid, pid, now + 3, SWITCH_ID});
	if (number >= ALIVE)
		made_task(out, RECORD_EXIT, &(struct made_trailer){ended, ended, now + 4, SWITCH_ID});
}

static struct error *next_of_storm(void *context, struct reader_chunk **ret)
{
	struct storm *storm = context;
	struct strbuf out = {0};

	if (storm->next == PROCESSES)
		return NULL;
	for (size_t i = 0; i < IN_A_PASS; i++)
		add_process(&out, storm->next++);
	made_round(&out, 0);
	*ret = made_chunk(&out);
	size_t now = made_heap_bytes();
	if (now > storm->before && now - storm->before > storm->most)
		storm->most = now - storm->before;
	return NULL;
}

static void test_a_million_processes(void **state)
{
	enum { BYTES_MOST = 100 << 20 };
	struct storm storm = {.before = made_heap_bytes()};
	const struct reader_feed feed = {next_of_storm, &storm};
	struct session *session = open_session_on(&feed, true);
	struct record record;
	const struct thread *last;
	char name[16];

	while (next_time(session, &record))
		;
	assert_int_equal(session->record_counts[RECORD_FORK], PROCESSES);
	assert_true(session->machine->generation > 1);
	assert_true(storm.most < BYTES_MOST);
	assert_null(machine_thread(session->machine, FIRST_PID, UINT64_MAX));
	last = machine_thread(session->machine, FIRST_PID + PROCESSES - 1, UINT64_MAX);
	snprintf(name, sizeof(name), "job-%d", PROCESSES - 1);
	assert_string_equal(untrusted_raw(thread_comm(last, UINT64_MAX)), name);
	assert_string_equal(maps_find(thread_maps(last), 0x400010, UINT64_MAX)->dso->name, "/usr/bin/job");
	session_close(session);
}

/* What nobody will ask for is passed over: of threads, or of what programs map. Samples come all the same. */
static void test_what_nobody_asks_for(void **state)
{
	static const struct {
		struct session_options options;
		bool names, maps;
	} ways[] = {
		{.names = true, .maps = true},
		{{.kernel_only = true}, .names = true},
		{{.kernel_only = true, .threadless = true}},
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct session_options options = ways[i].options;
		struct rings rings = {0};
		const struct reader_feed feed = {next_pass, &rings};
		struct record record;
		struct error *error;
		size_t samples = 0;

		add_comm(&rings, 0, 1000, "named", 10);
		made_map(&rings.passes[0], 0x400000, 0x1000, "/usr/bin/job", &(struct made_trailer){1000, 1000, 20, SWITCH_ID});
		add_sample(&rings, 0, SWITCH_ID, 1000, 30);
		add_round(&rings, 0);
		struct session *session = open_session_with(&options, &feed);
		while (session_next_sample(session, &record, &error) > 0)
			samples++;
		assert_null(error);
		assert_int_equal(samples, 1);
		const struct thread *thread = machine_thread_or_new(session->machine, 1000, 1000, 30);
		assert_string_equal(untrusted_raw(thread_comm(thread, 30)), ways[i].names ? "named" : ":1000");
		assert_int_equal(maps_find(thread_maps(thread), 0x400010, 30) != NULL, ways[i].maps);
		session_close(session);
	}
}

int session_feed_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_over_rings),       cmocka_unit_test(test_delay_is_bounded),
		cmocka_unit_test(test_rounds_without_records), cmocka_unit_test(test_sideband_reaches_the_model),
		cmocka_unit_test(test_losses_are_counted),     cmocka_unit_test(test_unreadable_records_are_passed_over),
		cmocka_unit_test(test_trackers_are_told),      cmocka_unit_test(test_a_million_processes),
		cmocka_unit_test(test_what_nobody_asks_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

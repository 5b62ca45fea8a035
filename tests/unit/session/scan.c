/* Pass 1 of a large recording: what it finds depends neither on how many threads look for it nor on bytes that look like records. */
#include "base/mem.h"
#include "base/strbuf.h"
#include "made_records.h"
#include "session/session.h"
#include "session/session_internal.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ID = 11, OTHER_ID = 12, UNKNOWN_ID = 13, SIZE = 20 << 20, TID = 7 };

struct made_sample {
	struct record_header header;
	uint64_t identifier;
	uint32_t pid, tid;
	uint64_t time;
};

static void add_sample(struct strbuf *out, uint64_t number, uint16_t more)
{
	uint64_t id = number % 1000 == 5 ? UNKNOWN_ID : number % 3 ? ID : OTHER_ID;
	const struct made_sample sample = {
		{RECORD_SAMPLE, 2, (uint16_t)(sizeof(sample) + more)}, id, TID, TID, 1000 + number % 777 * 10 + number};
	strbuf_add(out, &sample, sizeof(sample));
}

static void add_others(struct strbuf *out, uint64_t number)
{
	if (number % 500 == 0)
		made_comm(out, 0, "name", &(struct made_trailer){TID, TID, 1000 + number, ID});
	if (number % 700 == 0)
		made_round(out, number);
}

static void make_plain(struct strbuf *out)
{
	for (uint64_t i = 0; out->len < SIZE; i++) {
		add_sample(out, i, 0);
		add_others(out, i);
	}
}

/* Wherever a thread begins to look, there seem to be records. */
static void make_traps(struct strbuf *out)
{
	enum { TRAPS = 2000 };
	static struct record_header traps[TRAPS];
	for (size_t i = 0; i < TRAPS; i++)
		traps[i] = (struct record_header){.type = RECORD_FINISHED_ROUND, .size = sizeof(traps[i])};
	for (uint64_t i = 0; out->len < SIZE; i++) {
		add_sample(out, i, sizeof(traps));
		strbuf_add(out, traps, sizeof(traps));
		add_others(out, i);
	}
}

static struct error *next_chunk(void *context, struct reader_chunk **ret)
{
	struct strbuf *records = context;
	if (records->len)
		*ret = made_chunk(records);
	return NULL;
}

static struct session *open_records(void (*make)(struct strbuf *out), unsigned int jobs)
{
	static const uint64_t ids[] = {ID, OTHER_ID};
	struct event_list events = {0};
	struct strbuf records = {0};
	struct session *session;
	make(&records);
	for (size_t i = 0; i < 2; i++) {
		struct event *event = event_list_add(&events, i ? "other" : "one");
		event->attr.type = PERF_TYPE_SOFTWARE;
		event->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		event->attr.sample_id_all = 1;
		vec_push(&event->ids, ids[i]);
	}
	const struct reader_feed feed = {next_chunk, &records};
	struct session_options options = {.reader = reader_open_feed("slices", &feed, &events, NULL), .jobs = jobs};
	assert_null(reader_spool(options.reader));
	assert_null(session_open(&options, &session));
	return session;
}

static void compare(void (*make)(struct strbuf *out), size_t taken_least, size_t taken_most)
{
	struct session *one = open_records(make, 1), *many = open_records(make, 4);
	assert_int_equal(one->private->slices_taken, 0);
	assert_in_range(many->private->slices_taken, taken_least, taken_most);
	assert_true(one->record_counts[RECORD_SAMPLE] > 1000);
	assert_true(one->record_counts[RECORD_COMM] > 0);
	assert_memory_equal(one->record_counts, many->record_counts, sizeof(one->record_counts));
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(one->event_counts[i].samples, many->event_counts[i].samples);
	assert_int_equal(one->first_time, many->first_time);
	assert_int_equal(one->last_time, many->last_time);
	assert_true(one->reader->diagnostics.broken_records > 0);
	assert_int_equal(one->reader->diagnostics.broken_records, many->reader->diagnostics.broken_records);
	assert_int_equal(one->reader->diagnostics.first_broken_offset, many->reader->diagnostics.first_broken_offset);
	assert_int_equal(session_piece_count(one), session_piece_count(many));
	assert_memory_equal(one->private->cuts.data, many->private->cuts.data, one->private->cuts.len * sizeof(uint64_t));
	session_close(one);
	session_close(many);
}

static void test_slices(void **state)
{
	compare(make_plain, 2, 2);
}

/* Only the first slice begins where a record is known to be. */
static void test_traps(void **state)
{
	compare(make_traps, 1, 1);
}

int session_scan_tests(void);
int session_scan_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_slices), cmocka_unit_test(test_traps)};
	return cmocka_run_group_tests_name("session/scan", tests, NULL, NULL);
}

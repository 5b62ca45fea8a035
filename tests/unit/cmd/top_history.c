/* perf top for days: processes come and go, each with a file and a sample of its own, and memory stays; what is shown is right
 * all the same. */
#include "base/clock.h"
#include "cmd/top/top.h"
#include "made_records.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FIRST_PID = 2000, ALIVE = 20, IN_A_ROUND = 100, PERIOD = 250000, ID = 11 };

/* Processes that fork from 1000, have a name of their own, one map of a file that nobody else has, one sample, and end. */
struct storm {
	uint32_t next, count;
};

static void add_sample(struct strbuf *out, uint32_t pid, uint64_t time)
{
	struct {
		struct record_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time, period;
	} record = {{RECORD_SAMPLE, CPUMODE_USER, sizeof(record)}, ID, 0x400010 + pid % 7 * 16, pid, pid, time, PERIOD};
	strbuf_add(out, &record, sizeof(record));
}

static void add_process(struct strbuf *out, uint32_t number)
{
	uint32_t pid = FIRST_PID + number, ended = pid - ALIVE;
	uint64_t now = (uint64_t)number * 5000000 + 1000;
	char name[16], file[32];
	snprintf(name, sizeof(name), "job-%u", number);
	snprintf(file, sizeof(file), "/nonexistent/job-%u", number);
	made_task(out, RECORD_FORK, &(struct made_trailer){pid, pid, now, ID});
	made_comm(out, RECORD_MISC_COMM_EXEC, name, &(struct made_trailer){pid, pid, now + 1, ID});
	made_map(out, 0x400000, 0x10000, file, &(struct made_trailer){pid, pid, now + 2, ID});
	add_sample(out, pid, now + 3);
	if (number >= ALIVE)
		made_task(out, RECORD_EXIT, &(struct made_trailer){ended, ended, now + 4, ID});
}

static struct error *next_of_storm(void *context, struct reader_chunk **ret)
{
	struct storm *storm = context;
	struct strbuf out = {0};
	if (storm->next == storm->count)
		return NULL;
	for (size_t i = 0; i < IN_A_ROUND; i++)
		add_process(&out, storm->next++);
	made_round(&out, 0);
	*ret = made_chunk(&out);
	return NULL;
}

struct fixture {
	struct top_options options;
	struct top top;
	struct storm storm;
};

static void open_top(struct fixture *fixture, uint32_t processes)
{
	static const struct symbol_options symbols = {.buildid_dir = "/nonexistent", .proc = "/nonexistent"};
	const struct reader_feed feed = {next_of_storm, &fixture->storm};
	struct event_list events = {0};
	struct event *event = event_list_add(&events, "cpu-clock");
	*fixture = (struct fixture){.storm.count = processes};
	event->attr.type = PERF_TYPE_SOFTWARE;
	event->attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	event->attr.sample_id_all = 1;
	vec_push(&event->ids, ID);
	struct top *top = &fixture->top;
	top->options = &fixture->options;
	fixture->options.delay_s = 1000000;
	top->interval.begin_ns = clock_now_ns(CLOCK_MONOTONIC);
	assert_null(session_open(&(struct session_options){.reader = reader_open_feed("storm", &feed, &events, NULL), .streaming = true},
				 &top->report.session));
	top->report.session->machine->drops_files = true;
	top->report.opening.resolver = resolver_create(top->report.session->machine, &symbols);
	const struct fold_options options = {.threads = true, .records = FOLD_RECORDS_COPIED, .jobs = 1};
	top_history_open(top, &top->rows, &options);
	event_list_deinit(&events);
}

static void close_top(struct fixture *fixture)
{
	top_history_close(&fixture->top.rows);
	resolver_destroy(fixture->top.report.opening.resolver);
	session_close(fixture->top.report.session);
}

/* Each row is one process: its name is that of its number, its file the one that it had mapped. */
static void check_rows(const struct fold *fold)
{
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_actor *actor = &fold->actors[fold->entries[i].actor];
		const struct fold_frame *frame = &fold->frames[fold->entries[i].leaf];
		char name[16], file[32];
		snprintf(name, sizeof(name), "job-%u", actor->thread->tid - FIRST_PID);
		snprintf(file, sizeof(file), "/nonexistent/%s", name);
		assert_string_equal(untrusted_raw(actor->comm), name);
		assert_string_equal(frame->map->dso->name, file);
		assert_int_equal(fold->entries[i].period > PERIOD, 0);
	}
}

/* A screen after each ten rounds, or what was sampled is set aside so often and shown now and then. Returns how much memory it took at
 * most, and in the first half. */
static size_t run_storm(uint32_t processes, unsigned int shown_every, size_t *ret_half)
{
	struct fixture fixture;
	struct error *error = NULL;
	size_t before = made_heap_bytes(), most = 0, entries = 0;
	unsigned int rounds = 0;
	open_top(&fixture, processes);
	while (top_take_round(&fixture.top, &error)) {
		if (++rounds % 10)
			continue;
		if (rounds / 10 % shown_every) {
			top_history_set_aside(&fixture.top, &fixture.top.rows);
		} else {
			const struct fold *fold = top_history_next(&fixture.top, &fixture.top.rows, true);
			top_history_release(&fixture.top.rows);
			check_rows(fold);
			entries = fold->entry_count > entries ? fold->entry_count : entries;
		}
		if (rounds % 40)
			continue;
		size_t now = made_heap_bytes(); /* which takes as long as a screen */
		if (now > before && now - before > most)
			most = now - before;
		if (fixture.storm.next <= processes / 2)
			*ret_half = most;
	}
	assert_null(error);
	assert_int_equal(fixture.top.report.session->record_counts[RECORD_SAMPLE], processes);
	assert_true(processes < 100000 || fixture.top.report.session->machine->generation > 0);
	/* 1000 processes between two screens, which fade within 21 of them */
	assert_true(entries > 10000 && entries < 25000);
	check_rows(fixture.top.rows.shown);
	close_top(&fixture);
	return most;
}

/* Under a sanitizer the heap is the sanitizer's, which keeps what was freed: only what is accessed is looked at then. */
static void check_memory(unsigned int shown_each)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	size_t half;
	run_storm(30000, shown_each, &half);
#else
	size_t half, all = run_storm(200000, shown_each, &half);
	assert_true(all < half + half / 4);
#endif
}

static void test_memory_stays(void **state)
{
	check_memory(1);
}

static void test_memory_stays_while_nothing_is_shown(void **state)
{
	check_memory(7);
}

/* Beside a storm of new programs only these keys keep their files. */
static void keys_that_keep_files(void **state)
{
	static const struct {
		const char *name;
		bool keeps;
	} keys[] = {{"cpu", false}, {"cgroup", false}, {"weight", false}, {"trace", false}, {"symbol_daddr", true}, {"dcacheline", true}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct report report = {0};
		vec_push(&report.extras.keys, key_find("socket", false));
		vec_push(&report.extras.keys, key_find(keys[i].name, false));
		assert_int_equal(top_keeps_files(&report), keys[i].keeps);
		vec_deinit(&report.extras.keys);
	}
	assert_true(top_keeps_files(&(struct report){.by_line = true}));
	assert_false(top_keeps_files(&(struct report){0}));
}

int cmd_top_history_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_stays), cmocka_unit_test(test_memory_stays_while_nothing_is_shown),
					   cmocka_unit_test(keys_that_keep_files)};
	return cmocka_run_group_tests_name("cmd/top_history", tests, NULL, NULL);
}

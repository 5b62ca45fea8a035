/* The flight recorder's ring, sums of the hour before, and the order of what differs. */
#include "cmd/agent/flight_internal.h"
#include "perfdata/records.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static const struct record_header no_record = {.type = RECORD_SAMPLE, .size = sizeof(no_record)};

/* `texts`: "COMM\0FUNCTION\0IN", whose first letter is the row. */
static void add(struct flight_ring *ring, uint64_t time, uint64_t value, enum where_kind kind, uint32_t pid, const char *comm,
		const char *function)
{
	char texts[64] = "";
	size_t comm_size = strlen(comm) + 1;
	memcpy(texts, comm, comm_size);
	strcpy(texts + comm_size, function);
	const struct flight_entry entry = {.time = time,
					   .row = (uint64_t)(unsigned char)*function,
					   .value_ns = value,
					   .pid = pid,
					   .tid = pid,
					   .record_size = sizeof(no_record),
					   .texts_size = (uint32_t)(comm_size + strlen(function) + 2),
					   .kind = kind};
	flight_ring_add(ring, &entry, &no_record, texts);
}

static size_t count_of(const struct flight_ring *ring)
{
	struct flight_cursor cursor = {0};
	size_t count = 0;
	while (flight_ring_next(ring, &cursor))
		count++;
	return count;
}

/* What is too old goes, in pieces; what is too much, too. The newest stays. */
static void ring(void **state)
{
	struct flight_ring held = {0};
	for (uint64_t i = 1; i <= 10000; i++)
		add(&held, i, 1, WHERE_CPU, 1, "comm", "function");
	assert_int_equal(count_of(&held), 10000);
	assert_int_equal(held.dropped, 0);
	flight_ring_drop(&held, 5000, UINT64_MAX);
	size_t left = count_of(&held);
	assert_true(left >= 5001 && left < 10000);
	assert_int_equal(held.dropped, 10000 - left);
	struct flight_cursor cursor = {0};
	const struct flight_entry *first = flight_ring_next(&held, &cursor);
	assert_int_equal(first->time, held.dropped + 1);
	assert_string_equal(flight_entry_texts(first), "comm");
	assert_memory_equal(flight_entry_record(first), &no_record, sizeof(no_record));
	flight_ring_drop(&held, 0, 100000);
	assert_true(held.bytes <= 100000 && count_of(&held) > 0);
	flight_ring_deinit(&held);
}

/* Slices of ten seconds, of the last hour, of what ended before. */
static void history(void **state)
{
	struct flight_history sums = {0};
	uint64_t now = 100 * S;
	size_t slices;
	flight_history_add(&sums, 1, 5 * S); /* nothing has begun */
	flight_history_turn(&sums, now);
	for (int i = 0; i < 500; i++) {
		flight_history_add(&sums, 1, i == 490 ? 5 * S : 1 * S);
		flight_history_add(&sums, 2, 1);
		flight_history_turn(&sums, now += 5 * S);
		flight_history_turn(&sums, now += 5 * S);
	}
	assert_int_equal(flight_history_ns(&sums, now, &slices), 3600 * S);
	assert_int_equal(slices, 360);
	struct flight_before before = flight_history_of(&sums, 1, now);
	assert_true(before.most == 5e8);
	assert_true(before.average > 1.01e8 && before.average < 1.02e8);
	before = flight_history_of(&sums, 1, now - 100 * S);
	assert_true(before.most == 1e8 && before.average == 1e8);
	assert_true(flight_history_of(&sums, 3, now).most == 0);
	flight_history_deinit(&sums);
}

static void check_row(const struct table *table, size_t row, const char *function, double change)
{
	assert_string_equal(table->rows.data[row].cells[6].text, function);
	assert_true(table->rows.data[row].cells[0].real > change - 0.001 && table->rows.data[row].cells[0].real < change + 0.001);
}

/* Who is late, who asks, what is more than ever, and of that at last what may be for want of work. */
static void order(void **state)
{
	struct flight_ring held = {0};
	struct flight_history sums = {0};
	flight_history_turn(&sums, S);
	for (uint64_t i = 1; i <= 60; i++) {
		flight_history_add(&sums, 'u', i % 2 ? 4 * S : 0); /* usual: as much as now, every other slice */
		flight_history_add(&sums, 'm', 1 * S);
		flight_history_turn(&sums, S + 10 * i * S);
	}
	const struct flight_span span = {1000 * S, 1010 * S};
	add(&held, 1009 * S, 4 * S, WHERE_LOCK, 3, "x", "usual");
	add(&held, 1009 * S, 60 * S, WHERE_TIMER, 4, "x", "idle"); /* nine of these seconds were in the span */
	add(&held, 1005 * S, 3 * S, WHERE_CPU, 5, "x", "more");
	add(&held, 1006 * S, 2 * S, WHERE_LOCK, 6, "x", "new");
	add(&held, 1004 * S, 300 * MS, WHERE_DISK, 7, "x", "late");
	add(&held, 1004 * S + 1, 5 * S, WHERE_CPU, 7, "x", "behind"); /* the call */
	add(&held, 1005 * S, 1 * S, WHERE_CPU, 8, "x", "asks");
	add(&held, 999 * S, 100 * S, WHERE_CPU, 9, "x", "old");
	const struct flight_causes causes = {
		.list = {{.time = 1004 * S, .begin = 1004 * S - 250 * MS, .pid = 7, .tid = 7}, {.time = 1005 * S, .pid = 8}}, .count = 2};
	struct table *table = flight_table(&held, &sums, span, &causes);
	assert_int_equal(table->rows.len, 7);
	check_row(table, 0, "late", 30);
	assert_string_equal(table->rows.data[0].cells[8].text, "250.0 ms of the call");
	check_row(table, 1, "asks", 100);
	assert_string_equal(table->rows.data[1].cells[8].text, "of who asks");
	check_row(table, 2, "behind", 500);
	check_row(table, 3, "more", 200);
	assert_string_equal(table->rows.data[3].cells[8].text, "more than in the hour before");
	check_row(table, 4, "new", 200);
	check_row(table, 5, "idle", 900);
	check_row(table, 6, "usual", 200);
	assert_null(table->rows.data[6].cells[8].text);
	table_destroy(table);
	flight_ring_deinit(&held);
	flight_history_deinit(&sums);
}

static void check_trigger(const char *text, enum flight_trigger_kind kind, double level, uint64_t ns, const char *begin, const char *end)
{
	flight_trigger_list list = {0};
	assert_null(flight_triggers_parse(text, &list));
	assert_int_equal(list.len, 1);
	const struct flight_trigger *trigger = &list.data[0];
	assert_int_equal(trigger->kind, kind);
	assert_true(trigger->level == level);
	assert_int_equal(trigger->ns, ns);
	if (begin) {
		char found[100];
		snprintf(found, sizeof(found), "%s:%s", trigger->system, trigger->begin);
		assert_string_equal(found, begin);
		snprintf(found, sizeof(found), "%s:%s", trigger->end_system, trigger->end);
		assert_string_equal(found, end);
	}
	flight_triggers_deinit(&list);
}

static void triggers(void **state)
{
	check_trigger("load>8", FLIGHT_LOAD, 8, 0, NULL, NULL);
	check_trigger("io-pressure>30%", FLIGHT_PRESSURE, 30, 0, NULL, NULL);
	check_trigger("futex>100ms", FLIGHT_LATENCY, 0, 100 * MS, "syscalls:sys_enter_futex", "syscalls:sys_exit_futex");
	check_trigger("probe_app:work>2s", FLIGHT_LATENCY, 0, 2 * S, "probe_app:work", "probe_app:work__return");
	check_trigger("a:b..c:d>1us", FLIGHT_LATENCY, 0, 1000, "a:b", "c:d");
	struct flight_settings settings = {0};
	assert_int_equal(flight_wait_ns(&settings), 50 * MS);
	assert_null(flight_triggers_parse("load>1, futex>20ms,\tflock>1s", &settings.triggers));
	assert_int_equal(settings.triggers.len, 3);
	assert_int_equal(flight_wait_ns(&settings), 10 * MS);
	flight_triggers_deinit(&settings.triggers);
}

/* Calls that come faster than anybody can look at them. */
static bool one_more(void *context, struct slow_call *ret)
{
	++*(uint64_t *)context;
	*ret = (struct slow_call){.begin = S, .end = 2 * S, .pid = 3, .tid = 4};
	return true;
}

static uint64_t none_missed(const void *context)
{
	return 0 * *(const uint64_t *)context;
}

/* A look at them ends, and those of the other triggers are looked at as well. */
static void calls_without_end(void **state)
{
	const struct flight_trigger trigger = {.text = (char *)"getppid>1ns", .kind = FLIGHT_LATENCY};
	const flight_trigger_list nothing = {0};
	uint64_t taken[2] = {0};
	struct flight_watch *watch = NULL;
	struct flight_cause cause;
	assert_null(flight_watch_open(&nothing, &watch));
	for (size_t i = 0; i < 2; i++)
		flight_watch_add_calls(watch, &trigger, &(struct flight_calls){one_more, none_missed, NULL, &taken[i]});
	for (uint64_t look = 1; look <= 3; look++) {
		uint64_t count = 0;
		while (count < UINT64_C(10) * FLIGHT_CALLS_MOST && flight_watch_next(watch, &cause))
			count++;
		assert_int_equal(count, 2 * FLIGHT_CALLS_MOST);
		assert_int_equal(taken[0], look * FLIGHT_CALLS_MOST);
		assert_int_equal(taken[1], look * FLIGHT_CALLS_MOST);
	}
	assert_string_equal(cause.what, "getppid>1ns: a call took 1000.000 ms (process 3, thread 4)");
	flight_watch_close(watch);
}

static void check_gaps(const struct flight_gaps *held, uint64_t since, const char *first, const char *second)
{
	struct table *table = table_create();
	flight_gaps_tell(held, since, table);
	assert_int_equal(table->header.len, (first != NULL) + (second != NULL));
	if (first)
		assert_string_equal(table->header.data[0], first);
	if (second)
		assert_string_equal(table->header.data[1], second);
	table_destroy(table);
}

/* Of the waits that are missing in all, those since a recording began. */
static void gaps(void **state)
{
	struct flight_gaps held = {0};
	check_gaps(&held, 0, NULL, NULL);
	flight_gaps_add(&held, 1 * S, (struct flight_waits){0, 0});
	flight_gaps_add(&held, 2 * S, (struct flight_waits){3, 0});
	flight_gaps_add(&held, 3 * S, (struct flight_waits){3, 0});
	flight_gaps_add(&held, 4 * S, (struct flight_waits){4, 2});
	assert_int_equal(held.rounds.len, 2);
	check_gaps(&held, 0, "4 waits are missing: too many threads and stacks at once",
		   "2 waits are missing: the kernel did not report when they ended");
	check_gaps(&held, 3 * S, "1 wait is missing: too many threads and stacks at once",
		   "2 waits are missing: the kernel did not report when they ended");
	check_gaps(&held, 5 * S, NULL, NULL);
	flight_gaps_drop(&held, 5 * S);
	assert_int_equal(held.rounds.len, 1);
	flight_gaps_add(&held, 6 * S, (struct flight_waits){4, 3});
	check_gaps(&held, 5 * S, "1 wait is missing: the kernel did not report when it ended", NULL);
	flight_gaps_deinit(&held);
}

static bool is_stuck(void *context)
{
	for (;;)
		pause();
	return context;
}

static bool is_done(void *context)
{
	return *(const bool *)context;
}

static enum flight_written ending(struct flight_writer *writer)
{
	enum flight_written written;
	while ((written = flight_writer_look(writer, 0)) == FLIGHT_WRITES)
		usleep(1000);
	return written;
}

static void writer(void **state)
{
	struct flight_writer one = {0};
	bool good = true, bad = false;
	assert_int_equal(flight_writer_look(&one, 0), FLIGHT_NONE);
	assert_true(flight_writer_start(&one, S, is_done, &good));
	assert_int_equal(ending(&one), FLIGHT_WRITTEN);
	assert_true(flight_writer_start(&one, S, is_done, &bad));
	assert_int_equal(ending(&one), FLIGHT_FAILED);
	assert_int_equal(flight_writer_look(&one, 0), FLIGHT_NONE);
}

/* It has a minute; then another one may write. Of those that even SIGKILL doesn't end there are four at most. */
static void stuck_writer(void **state)
{
	struct flight_writer one = {0}, other = {0};
	bool good = true;
	assert_true(flight_writer_start(&one, S, is_stuck, NULL));
	assert_int_equal(flight_writer_look(&one, 60 * S), FLIGHT_WRITES);
	assert_int_equal(flight_writer_look(&one, 61 * S), FLIGHT_FAILED);
	assert_int_equal(flight_writer_look(&one, 61 * S), FLIGHT_NONE);
	assert_true(flight_writer_start(&one, 61 * S, is_done, &good));
	assert_int_equal(ending(&one), FLIGHT_WRITTEN);
	while (one.stuck_count)
		flight_writer_look(&one, 0);
	for (; other.stuck_count < FLIGHT_STUCK; other.stuck_count++) {
		assert_true(flight_writer_start(&one, S, is_stuck, NULL));
		other.stuck[other.stuck_count] = one.pid;
	}
	assert_false(flight_writer_start(&other, S, is_done, &good));
	for (size_t i = 0; i < FLIGHT_STUCK; i++)
		kill(other.stuck[i], SIGKILL);
	while (other.stuck_count)
		flight_writer_look(&other, 0);
	assert_true(flight_writer_start(&other, S, is_done, &good));
	assert_int_equal(ending(&other), FLIGHT_WRITTEN);
}

int cmd_agent_flight_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring),
		cmocka_unit_test(history),
		cmocka_unit_test(order),
		cmocka_unit_test(triggers),
		cmocka_unit_test(writer),
		cmocka_unit_test(stuck_writer),
		cmocka_unit_test(calls_without_end),
		cmocka_unit_test(gaps),
	};
	return cmocka_run_group_tests_name("cmd/agent_flight", tests, NULL, NULL);
}

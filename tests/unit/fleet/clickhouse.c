/* Batches for ClickHouse, times and conditions of questions to it. */
#include "base/mem.h"
#include "fleet/clickhouse/batch.h"
#include "fleet/clickhouse/period.h"
#include "fleet/clickhouse/where.h"
#include "made/windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct window *two_stacks(uint8_t number)
{
	struct window *window = made_window(number);
	made_window_add(window, 0, 7, 1, "main;work", 3, 3000);
	made_window_add(window, 0, 8, 1, "main;work", 2, 2000); /* another thread of the same name and labels: the same row */
	made_window_add(window, 1, 9, 0, "main;wait", 1, 1);
	return window;
}

static void rows_are_added_up_and_described_once(void **state)
{
	struct window *window = two_stacks(1);
	struct strbuf bytes = {0}, again = {0};
	struct clickhouse_batch batch;
	clickhouse_encode(window, NULL, &bytes);
	clickhouse_encode(window, NULL, &again);
	assert_int_equal(bytes.len, again.len);
	assert_memory_equal(bytes.data, again.data, bytes.len);
	assert_null(clickhouse_batch_open(bytes.data, bytes.len, &batch));
	assert_int_equal(batch.parts[PART_SAMPLES].rows, 2);
	assert_int_equal(batch.parts[PART_STACKS].rows, 2);
	assert_int_equal(batch.parts[PART_FRAMES].rows, 3);
	assert_int_equal(batch.parts[PART_LABELS].rows, 2);
	assert_int_equal(batch.parts[PART_WINDOWS].rows, 1);
	assert_int_equal(batch.id_count, 2 + 3 + 2);
	assert_int_equal(batch.second % 10, 0);
	window_destroy(window);
	strbuf_deinit(&bytes);
	strbuf_deinit(&again);
}

static uint32_t described(struct window *window, struct clickhouse_known *known)
{
	struct strbuf bytes = {0};
	struct clickhouse_batch batch;
	clickhouse_encode(window, known, &bytes);
	assert_null(clickhouse_batch_open(bytes.data, bytes.len, &batch));
	uint32_t rows = batch.parts[PART_FRAMES].rows + batch.parts[PART_STACKS].rows + batch.parts[PART_LABELS].rows;
	assert_int_equal(batch.parts[PART_SAMPLES].rows, 2);
	strbuf_deinit(&bytes);
	return rows;
}

/* What was encoded isn't known before the engine has taken it. */
static void what_is_known_is_left_out_that_day(void **state)
{
	struct window *window = two_stacks(1);
	struct clickhouse_known known;
	struct strbuf bytes = {0};
	struct clickhouse_batch batch;
	clickhouse_known_init(&known);
	assert_int_equal(described(window, &known), 7);
	assert_int_equal(described(window, &known), 7);
	clickhouse_encode(window, &known, &bytes);
	assert_null(clickhouse_batch_open(bytes.data, bytes.len, &batch));
	clickhouse_batch_known(&batch, &known);
	assert_int_equal(described(window, &known), 0);
	made_window_add(window, 1, 9, 0, "main;other", 1, 1);
	made_window_add(window, 1, 9, 0, "main;other", 1, 1);
	window->begin_ns += UINT64_C(86400000000000);
	window->end_ns += UINT64_C(86400000000000);
	window->samples->rows.len -= 2;
	assert_int_equal(described(window, &known), 7);
	clickhouse_known_deinit(&known);
	strbuf_deinit(&bytes);
	window_destroy(window);
}

static void damaged_batches_are_told(void **state)
{
	struct window *window = two_stacks(1);
	struct strbuf bytes = {0};
	struct clickhouse_batch batch;
	clickhouse_encode(window, NULL, &bytes);
	for (size_t size = 0; size < bytes.len; size++) {
		char *copy = mem_alloc(size + 1); /* so that a sanitizer sees what is read behind it */
		memcpy(copy, bytes.data, size);
		char *exact = mem_resize(copy, size ? size : 1);
		struct error *error = clickhouse_batch_open(exact, size, &batch);
		assert_non_null(error);
		error_free(error);
		free(exact);
	}
	bytes.data[0] ^= 1;
	struct error *error = clickhouse_batch_open(bytes.data, bytes.len, &batch);
	assert_non_null(error);
	error_free(error);
	strbuf_deinit(&bytes);
	window_destroy(window);
}

static void expect_period(const char *text, uint64_t from, uint64_t to)
{
	struct fleet_period period;
	assert_null(fleet_period_parse(text, 1000000000, &period));
	assert_int_equal(period.from, from);
	assert_int_equal(period.to, to);
}

static void times_are_read(void **state)
{
	static const char *const wrong[] = {"",		 "2h",	       "-",	      "-x", "-1h,-2h", "@5,@5", "@1,@99999999999",
					    "yesterday", "2026-13-01", "-2h,-1h,now", "@"};
	struct fleet_period period;
	setenv("TZ", "UTC", 1);
	expect_period(NULL, 1000000000 - 3600, 1000000001);
	expect_period("-2h", 1000000000 - 7200, 1000000001);
	expect_period("-1d,-90m", 1000000000 - 86400, 1000000000 - 5400);
	expect_period("-30s,now", 1000000000 - 30, 1000000001);
	expect_period("@5,@6", 5, 6);
	expect_period("2001-09-08", 999907200, 999907200 + 86400);
	expect_period("2001-09-08 01:02,2001-09-08T01:02:03", 999907200 + 3720, 999907200 + 3723);
	expect_period("2001-09-07,2001-09-08", 999907200 - 86400, 999907200 + 86400);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct error *error = fleet_period_parse(wrong[i], 1000000000, &period);
		if (!error)
			fail_msg("'%s' is taken for a time", wrong[i]);
		error_free(error);
	}
}

static bool expect_sql(const char *condition, const char *sql)
{
	struct strbuf text = {0};
	bool by_host = false;
	assert_null(fleet_where_add(condition, &text, &by_host));
	assert_string_equal(strbuf_str(&text), sql);
	strbuf_deinit(&text);
	return by_host;
}

static void conditions_are_literals_in_sql(void **state)
{
	assert_true(expect_sql("host='a'", "(host = 'a')"));
	assert_true(expect_sql(
		"HOST like \"a%\" AND not service == 'x' or event not in ('a', \"b\")",
		"(labels GLOBAL IN (SELECT id FROM labels WHERE values[indexOf(names, 'HOST')] LIKE 'a%') AND NOT service = 'x' OR event NOT IN "
		"('a', 'b'))"));
	assert_false(expect_sql("comm = 'it''s \\ \"'", "(stack GLOBAL IN (SELECT id FROM stacks WHERE comm = 'it\\'s \\\\ \"'))"));
	assert_true(expect_sql("((host < '\n'))", "(((host < '\\x0A')))"));
}

int fleet_clickhouse_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_added_up_and_described_once),
		cmocka_unit_test(what_is_known_is_left_out_that_day),
		cmocka_unit_test(damaged_batches_are_told),
		cmocka_unit_test(times_are_read),
		cmocka_unit_test(conditions_are_literals_in_sql),
	};
	return cmocka_run_group_tests_name("fleet: ClickHouse", tests, NULL, NULL);
}

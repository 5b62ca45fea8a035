/* Keys by name; ids by hash; sorting in passes. */
#include "analysis/report/keys/keys.h"
#include "base/id_table.h"
#include "base/radix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void keys_have_names(void **state)
{
	static const struct {
		const char *typed, *found;
	} names[] = {{"comm", "comm"},
		     {"sym", "symbol"},
		     {"symbol", "symbol"},
		     {"overhead", "overhead"},
		     {"overhead_children", "overhead_children"},
		     {"sample", "sample"},
		     {"DSO", "dso"},
		     {"weight", "weight"},
		     {"local_w", "local_weight"},
		     {"trace", "trace"},
		     {"parent", "parent"}};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct key *key = key_find(names[i].typed, false);
		assert_non_null(key);
		assert_string_equal(key->name, names[i].found);
	}
	assert_null(key_find("nonsense", false));
	assert_null(key_find("", false));
	assert_null(key_find("ipc_nul", false));
}

/* Every row of the table has what its domain needs. */
static void rows_are_complete(void **state)
{
	for (const struct key *key = key_table; key->name; key++) {
		assert_non_null(key->title);
		if (key->domain == KEY_TOTAL)
			continue;
		assert_true(key->string || key->number);
		assert_true(key->domain == KEY_EXTRA ? key->extract && key->words == 1 : key->identify != NULL);
		assert_true(key->words <= KEY_WORDS_MAX);
	}
}

static void ids_are_found(void **state)
{
	struct id_table table = {0};
	struct id_probe probe;
	assert_int_equal(id_table_first(&table, 7, &probe), ID_NONE);
	for (uint32_t i = 0; i < 10000; i++)
		id_table_insert(&table, i % 100, i); /* every hash a hundred times */
	for (uint32_t hash = 0; hash < 100; hash++) {
		uint32_t count = 0;
		for (uint32_t id = id_table_first(&table, hash, &probe); id != ID_NONE; id = id_table_next(&table, &probe)) {
			assert_int_equal(id % 100, hash);
			count++;
		}
		assert_int_equal(count, 100);
	}
	assert_int_equal(id_table_first(&table, 100, &probe), ID_NONE);
	id_table_deinit(&table);
}

static uint64_t value_of(const void *context, uint32_t index)
{
	return ((const uint64_t *)context)[index];
}

static void sorting_is_stable(void **state)
{
	enum { COUNT = 5000 };
	static uint64_t values[COUNT];
	static uint32_t order[COUNT];
	uint64_t random = 1;
	for (uint32_t i = 0; i < COUNT; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		values[i] = i % 3 ? random >> (i % 60) : 42;
		order[i] = i;
	}
	radix_sort(order, COUNT, value_of, values);
	for (uint32_t i = 1; i < COUNT; i++) {
		assert_true(values[order[i - 1]] <= values[order[i]]);
		if (values[order[i - 1]] == values[order[i]])
			assert_true(order[i - 1] < order[i]);
	}
	radix_sort(order, 0, value_of, values);
}

int analysis_keys_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_have_names),
		cmocka_unit_test(rows_are_complete),
		cmocka_unit_test(ids_are_found),
		cmocka_unit_test(sorting_is_stable),
	};
	return cmocka_run_group_tests_name("analysis/keys", tests, NULL, NULL);
}

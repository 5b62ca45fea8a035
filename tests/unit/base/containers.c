/* Growing strings and arrays, arenas, interned strings, the 64-bit map, the cursor: against simple models with many elements. */
#include "base/arena.h"
#include "base/buildid.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void strings(void **state)
{
	struct strbuf text = {0};
	assert_string_equal(strbuf_str(&text), "");
	strbuf_add_u64(&text, UINT64_MAX, 0);
	strbuf_add_u64(&text, 0, 3);
	strbuf_add_hex(&text, 0xdeadbeef, 10);
	strbuf_add_hex(&text, UINT64_MAX, 4);
	assert_string_equal(strbuf_str(&text), "18446744073709551615  0  deadbeefffffffffffffffff");
	strbuf_clear(&text);
	static const double values[] = {0, 0.05, 1.25, 999.99999, 4.42606071, 1e14, 1e30, -2.5};
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		for (unsigned int digits = 0; digits <= 10; digits += 5) {
			char expected[60];
			snprintf(expected, sizeof(expected), "%.*f", (int)digits, values[i]);
			strbuf_add_fixed(&text, values[i], digits);
			assert_string_equal(strbuf_str(&text), expected);
			strbuf_clear(&text);
		}
	}
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&text, "%d,%s", i,
			      i % 100 ? "" : "a longer piece of text that makes the buffer grow in the middle of one call");
	assert_int_equal(strlen(text.data), text.len);
	strbuf_clear(&text);
	strbuf_add_chars(&text, 'x', 3);
	char *taken = strbuf_detach(&text);
	assert_string_equal(taken, "xxx");
	free(taken);
	taken = strbuf_detach(&text);
	assert_string_equal(taken, "");
	free(taken);
	strbuf_deinit(&text);
}

static void arrays(void **state)
{
	VEC(int) numbers = {0};
	for (int i = 0; i < 10000; i++)
		vec_push(&numbers, i);
	*vec_add(&numbers) = 10000;
	assert_int_equal(numbers.len, 10001);
	for (int i = 0; i <= 10000; i++)
		assert_int_equal(numbers.data[i], i);
	assert_int_equal(*vec_last(&numbers), 10000);
	vec_deinit(&numbers);
}

static void arenas(void **state)
{
	struct arena arena = {0}, other = {0};
	char *first = arena_strdup(&arena, "first"), *theirs = arena_printf(&other, "%d", 42);
	for (size_t size = 0; size < 5000; size += 7) {
		uint8_t *bytes = arena_alloc(&arena, size);
		assert_int_equal((uintptr_t)bytes % 8, 0);
		memset(bytes, 0xff, size);
	}
	uint8_t *large = arena_zalloc(&arena, 10 << 20);
	assert_int_equal(large[(10 << 20) - 1], 0);
	arena_combine(&arena, &other);
	arena_deinit(&other);
	assert_string_equal(first, "first");
	assert_string_equal(theirs, "42");
	arena_deinit(&arena);
}

static void interning(void **state)
{
	struct intern table = {0};
	const char *pointers[2000];
	char name[20];
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "name-%d", i);
		pointers[i] = intern_string(&table, name);
	}
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "name-%d+tail", i);
		assert_ptr_equal(intern_bytes(&table, name, strcspn(name, "+")), pointers[i]);
	}
	assert_ptr_equal(intern_bytes(&table, "a\0b", 3), intern_string(&table, "a"));
	assert_ptr_not_equal(intern_string(&table, ""), intern_string(&table, "a"));
	intern_deinit(&table);
}

static void map(void **state)
{
	struct map64 map = {0};
	bool is_new;
	assert_null(map64_find(&map, 0));
	for (uint64_t i = 0; i < 20000; i++) {
		*map64_insert(&map, i * 4096, &is_new) = i;
		assert_true(is_new);
	}
	for (uint64_t i = 0; i < 20000; i++) {
		assert_int_equal(*map64_find(&map, i * 4096), i);
		assert_int_equal(*map64_insert(&map, i * 4096, &is_new), i);
		assert_false(is_new);
	}
	assert_null(map64_find(&map, 1));
	assert_int_equal(map.count, 20000);
	map64_deinit(&map);
}

/* What there is room for, nothing moves for. */
static void room_in_maps(void **state)
{
	enum { COUNT = 1000 };
	struct map64 map = {0};
	map64_reserve(&map, COUNT);
	*map64_insert(&map, 5, NULL) = 7;
	const uint64_t *first = map64_find(&map, 5);
	for (uint64_t i = 1; i < COUNT; i++)
		map64_insert(&map, 1000 + i, NULL);
	assert_ptr_equal(map64_find(&map, 5), first);
	assert_int_equal(*first, 7);
	assert_int_equal(map.count, COUNT);
	map64_reserve(&map, 10 * COUNT);
	assert_ptr_equal(map64_find(&map, 5), first);
	map64_deinit(&map);
}

static void hashes_differ(void **state)
{
	uint64_t words[4] = {1, 2, 3, 4}, others[4] = {1, 2, 4, 3};
	struct hash128 a = hash_words(words, 4, 0), b = hash_words(others, 4, 0), c = hash_words(words, 3, 0), d = hash_words(words, 4, 1);
	assert_true(a.lo != b.lo && a.lo != c.lo && a.lo != d.lo && a.hi != b.hi);
	assert_true(hash_bytes("abc", 3) == hash_bytes("abcd", 3));
	assert_true(hash_bytes("abc", 3) != hash_bytes("abcd", 4));
}

static void cursors(void **state)
{
	const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 'h', 'i', 0, 'x'};
	struct cursor cursor = cursor_init(data, sizeof(data), false), swapped = cursor_init(data, sizeof(data), true);
	assert_int_equal(cursor_u8(&cursor), 1);
	assert_int_equal(cursor_u16(&cursor), 0x0302);
	assert_int_equal(cursor_u32(&cursor), 0x07060504);
	assert_string_equal(cursor_string(&cursor), "hi");
	assert_null(cursor_string(&cursor));
	assert_true(cursor.failed);
	assert_int_equal(cursor_u8(&cursor), 0);
	assert_int_equal(cursor_u64(&swapped), 0x0102030405060768);
	assert_int_equal(cursor_left(&swapped), 3);
	assert_null(cursor_bytes(&swapped, SIZE_MAX));
	assert_true(swapped.failed);
}

static void build_ids(void **state)
{
	struct buildid id = {.data = {0, 0xff, 0x10, 0xab}, .size = 4}, same = id, other = {.data = {0, 0xff, 0x10}, .size = 3};
	char text[41];
	assert_string_equal(buildid_format(&id, text), "00ff10ab");
	assert_string_equal(buildid_format(&(struct buildid){0}, text), "");
	assert_true(buildid_equal(&id, &same));
	assert_false(buildid_equal(&id, &other));
	same.data[3] = 0;
	assert_false(buildid_equal(&id, &same));
}

/* What hash_mix() makes into x. */
static uint64_t unmixed(uint64_t x)
{
	const uint64_t factor = 0xd6e8feb86659fd93u;
	uint64_t inverse = factor; /* right in the lowest 3 bits; each step doubles them */
	for (int i = 0; i < 5; i++)
		inverse *= 2 - factor * inverse;
	for (int i = 0; i < 2; i++)
		x = (x ^ x >> 32) * inverse;
	return x ^ x >> 32;
}

/* Keys that somebody has chosen so that an unkeyed hash ends in the same bits for all of them: inserting goes by few others. */
static void chosen_keys(void **state)
{
	enum { COUNT = 30000 };
	struct map64 map = {0};
	for (uint64_t i = 0; i < COUNT; i++) {
		assert_true(hash_mix(unmixed(i << 24)) == i << 24);
		map64_insert(&map, unmixed(i << 24), NULL);
	}
	assert_int_equal(map.count, COUNT);
	assert_true(map.passed < 8 * COUNT);
	map64_deinit(&map);
	for (uint64_t i = 0; i < COUNT; i++) /* pairs that a sum with a known factor makes one */
		map64_insert(&map, hash_combine(i, 0 - i * 0x9e3779b97f4a7c15u), NULL);
	assert_int_equal(map.count, COUNT);
	assert_true(map.passed < 8 * COUNT);
	map64_deinit(&map);
}

/* Each entry once, and none of a map that has never held one. */
static void walks_over_maps(void **state)
{
	struct map64 map = {0};
	uint64_t keys = 0, values = 0;
	map64_each (slot, &map)
		keys++;
	assert_int_equal(keys, 0);
	for (uint64_t i = 0; i < 1000; i++)
		*map64_insert(&map, i, NULL) = i * i;
	map64_each (slot, &map) {
		keys += slot->key;
		values += slot->value;
	}
	assert_int_equal(keys, 999 * 1000 / 2);
	assert_int_equal(values, 332833500);
	map64_deinit(&map);
	*map64_insert(&map, 7, NULL) = (uintptr_t)&map;
	map64_each (slot, &map)
		assert_ptr_equal(map64_pointer(slot), &map);
	map64_deinit(&map);
}

/* Names of what is kept are the same tomorrow. */
static void ids_of_bytes(void **state)
{
	assert_true(hash_id("function", 8, 0) == hash_id("function+", 8, 0));
	assert_true(hash_id("function", 8, 0) != hash_id("function", 8, 1));
	assert_true(hash_id("function", 8, 0) != hash_id("functions", 9, 0));
}

/* They begin with a cache line, whatever their size, and are all zero. */
static void tables(void **state)
{
	for (size_t count = 1; count < (4 << 20); count = count * 3 + 1) {
		uint8_t *table = mem_zalloc_table(count, 1);
		assert_int_equal((uintptr_t)table % 64, 0);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(table[i], 0);
		free(table);
	}
}

/* Against a plain table: keys that share runs of slots, in and out. */
static void test_map_remove(void **state)
{
	enum { KEYS = 64, STEPS = 100000 };
	bool there[KEYS] = {0};
	size_t count = 0;
	uint64_t drawn = 1;
	struct map64 map = {0};

	assert_false(map64_remove(&map, 5));
	for (size_t step = 0; step < STEPS; step++) {
		drawn = drawn * 6364136223846793005u + 1442695040888963407u;
		size_t key = drawn >> 58;
		if (drawn >> 40 & 1) {
			*map64_insert(&map, key, NULL) = key * 3;
			count += !there[key];
			there[key] = true;
		} else {
			assert_int_equal(map64_remove(&map, key), there[key]);
			count -= there[key];
			there[key] = false;
		}
		assert_int_equal(map.count, count);
		for (size_t i = 0; i < KEYS; i++) {
			const uint64_t *value = map64_find(&map, i);
			assert_int_equal(value != NULL, there[i]);
			assert_true(!value || *value == i * 3);
		}
	}
	map64_deinit(&map);
}

int base_containers_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_remove), cmocka_unit_test(chosen_keys),
		cmocka_unit_test(ids_of_bytes),	   cmocka_unit_test(strings),
		cmocka_unit_test(arrays),	   cmocka_unit_test(arenas),
		cmocka_unit_test(interning),	   cmocka_unit_test(map),
		cmocka_unit_test(room_in_maps),	   cmocka_unit_test(hashes_differ),
		cmocka_unit_test(walks_over_maps), cmocka_unit_test(cursors),
		cmocka_unit_test(build_ids),	   cmocka_unit_test(tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Numbers are read strictly: tables of what is one and what is not. */
#include "base/number.h"
#include "base/digits.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void integers(void **state)
{
	uint64_t u = 7;
	int64_t s = 7;
	uint32_t w = 7;
	assert_true(number_parse_u64("18446744073709551615", &u) && u == UINT64_MAX);
	assert_true(number_parse_u64("0x10", &u) && u == 16);
	assert_true(number_parse_u64("010", &u) && u == 8);
	static const char *const wrong[] = {"", " 1", "1 ", "-1", "+1", "1x", "0x", "18446744073709551616", "09", "a"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(number_parse_u64(wrong[i], &u));
	assert_int_equal(u, 8);
	assert_true(number_parse_s64("-9223372036854775808", &s) && s == INT64_MIN);
	assert_false(number_parse_s64("-9223372036854775809", &s));
	assert_false(number_parse_s64("9223372036854775808", &s));
	assert_false(number_parse_s64("--1", &s));
	assert_true(number_parse_u32("4294967295", &w) && w == UINT32_MAX);
	assert_false(number_parse_u32("4294967296", &w));
	assert_true(number_parse_hex("ffff", &u) && u == 0xffff);
	assert_true(number_parse_hex("0xFf", &u) && u == 255);
	assert_false(number_parse_hex("fg", &u));
}

static void fractions(void **state)
{
	double d = 7;
	assert_true(number_parse_double("-0.5", &d) && d == -0.5);
	assert_false(number_parse_double("nan", &d));
	assert_false(number_parse_double("inf", &d));
	assert_false(number_parse_double("1.5%", &d));
	assert_false(number_parse_double("", &d));
}

static void units(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} sizes[] = {{"512", 512}, {"16K", 16384}, {"4m", 4 << 20}, {"1G", 1 << 30}, {"0.5KB", 512}, {"3B", 3}},
	  times[] = {{"10", 10000000}, {"10ns", 10}, {"1.5s", 1500000000}, {"2m", 120000000000}, {"3us", 3000}};
	uint64_t value;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		assert_true(number_parse_size(sizes[i].text, &value) && value == sizes[i].value);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		assert_true(number_parse_duration(times[i].text, "ms", &value) && value == times[i].value);
	static const char *const wrong[] = {"", "K", "1X", "-1K", "1 K", "99999999999999T"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(number_parse_size(wrong[i], &value));
}

static void timestamps(void **state)
{
	uint64_t ns;
	assert_true(number_parse_timestamp("12.5", &ns) && ns == 12500000000);
	assert_true(number_parse_timestamp("1234.000000001", &ns) && ns == 1234000000001);
	assert_true(number_parse_timestamp("7", &ns) && ns == 7000000000);
	assert_false(number_parse_timestamp("7s", &ns));
	assert_false(number_parse_timestamp(".5", &ns));
	assert_false(number_parse_timestamp("99999999999999999999", &ns));
}

static void lists(void **state)
{
	int *list;
	size_t count;
	static const int expected[] = {0, 1, 2, 3, 7};
	assert_true(number_parse_list("7,0-3,2", &list, &count));
	assert_int_equal(count, 5);
	assert_memory_equal(list, expected, sizeof(expected));
	free(list);
	static const char *const wrong[] = {"", "1,", "3-1", "a", "1-", "1;2", "0-99999999", "1,,2"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(number_parse_list(wrong[i], &list, &count));
}

static void formats(void **state)
{
	char bytes[16], grouped[32];
	assert_string_equal(number_format_bytes(0, bytes), "0 B");
	assert_string_equal(number_format_bytes(1536, bytes), "1.5 KB");
	assert_string_equal(number_format_bytes(UINT64_MAX, bytes), "16 EB");
	assert_string_equal(number_format_grouped(0, grouped), "0");
	assert_string_equal(number_format_grouped(999, grouped), "999");
	assert_string_equal(number_format_grouped(1234567, grouped), "1,234,567");
	assert_string_equal(number_format_grouped(UINT64_MAX, grouped), "18,446,744,073,709,551,615");
}

/* Every number of digits, of their least and their greatest, in narrow and wide columns, as printf() has them. */
static void digits(void **state)
{
	for (unsigned int base = 10; base <= 16; base += 6)
		for (uint64_t power = 1, next = 0; next != 1; power = next) {
			next = power > UINT64_MAX / base ? 1 : power * base;
			const uint64_t values[] = {power - 1, power, power + power / 2, next == 1 ? UINT64_MAX : next - 1};
			for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
				for (int width = 0; width <= 22; width++) {
					char expected[64], seen[22 + DIGITS_ROOM];
					snprintf(expected, sizeof(expected), base == 10 ? "%*" PRIu64 : "%*" PRIx64, width, values[i]);
					char *end = (base == 10 ? digits_put_u64 : digits_put_hex)(seen, values[i], (unsigned int)width);
					*end = '\0';
					assert_string_equal(seen, expected);
				}
		}
	char seen[DIGITS_ROOM];
	for (uint64_t value = 1; value; value = value > UINT64_MAX / 3 ? 0 : value * 3) {
		char expected[64];
		snprintf(expected, sizeof(expected), "%16" PRIx64, value);
		*digits_put_address(seen, value) = '\0';
		assert_string_equal(seen, expected);
		snprintf(expected, sizeof(expected), "%" PRIx32, (uint32_t)value);
		*digits_put_short_hex(seen, (uint32_t)value) = '\0';
		assert_string_equal(seen, expected);
	}
	*digits_put_short_hex(seen, 0) = '\0';
	assert_string_equal(seen, "0");
	*digits_put_address(seen, UINT32_MAX) = '\0';
	assert_string_equal(seen, "        ffffffff");
	*digits_put_fraction(seen, 7012, 9) = '\0';
	assert_string_equal(seen, "000007012");
	*digits_put_fraction(seen, 123456, 6) = '\0';
	assert_string_equal(seen, "123456");
}

/* What looks digits up by threes: each number of three, and others around the bounds where another way is taken. */
static void digits_by_threes(void **state)
{
	char seen[11 + DIGITS_ROOM], expected[64];
	for (uint32_t value = 0; value < 1000; value++) {
		snprintf(expected, sizeof(expected), "%03u", value);
		*digits_put_three(seen, value) = '\0';
		assert_string_equal(seen, expected);
	}
	for (uint64_t value = 0; value < 10000000; value = value < 1100 ? value + 1 : value * 3 - value / 2) {
		snprintf(expected, sizeof(expected), "%06" PRIu64, value % 1000000);
		*digits_put_six(seen, (uint32_t)(value % 1000000)) = '\0';
		assert_string_equal(seen, expected);
		for (int width = 3; width <= 11; width++) {
			snprintf(expected, sizeof(expected), "%*" PRIu64, width, value);
			*digits_put_column(seen, value, (unsigned int)width) = '\0';
			assert_string_equal(seen, expected);
		}
	}
	*digits_put_column(seen, UINT64_MAX, 6) = '\0';
	assert_string_equal(seen, "18446744073709551615");
}

int base_number_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits_by_threes),
		cmocka_unit_test(digits),
		cmocka_unit_test(integers),
		cmocka_unit_test(fractions),
		cmocka_unit_test(units),
		cmocka_unit_test(timestamps),
		cmocka_unit_test(lists),
		cmocka_unit_test(formats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

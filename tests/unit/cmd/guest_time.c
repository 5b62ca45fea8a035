/* A guest's times on the host. */
#include "cmd/inject/guest_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { FIRST_NS = 1070, LATER_NS = 2070 };

static const struct record_time_conv GUEST = {.header.size = sizeof(GUEST), .shift = 3, .multiplier = 4, .zero = 10, .cap_zero = 1};
static const struct record_time_conv HOST = {.header.size = sizeof(HOST), .shift = 4, .multiplier = 32, .zero = 100, .cap_zero = 1};

static void without_clocks_times_are_counters(void **state)
{
	struct guest_time time = {.scale = 1};
	assert_int_equal(guest_time_on_host(&time, FIRST_NS), FIRST_NS);
	time.offset = 70;
	assert_int_equal(guest_time_on_host(&time, FIRST_NS), 1000);
	time.offset = -(uint64_t)30; /* the guest's counter is behind */
	assert_int_equal(guest_time_on_host(&time, FIRST_NS), 1100);
	time.scale = 2;
	assert_int_equal(guest_time_on_host(&time, FIRST_NS), 550);
	assert_int_equal(guest_time_on_host(&time, 0), 0);
}

static void clocks_of_both(void **state)
{
	struct guest_time time = {.scale = 1};
	guest_time_take(&time.guest, &GUEST);
	assert_int_equal(guest_time_on_host(&time, FIRST_NS), (FIRST_NS - 10) * 8 / 4);
	guest_time_take(&time.host, &HOST);
	assert_int_equal(guest_time_on_host(&time, FIRST_NS), 100 + (FIRST_NS - 10) * 8 / 4 * 32 / 16);
	time.offset = 64;
	time.scale = 2;
	assert_int_equal(guest_time_on_host(&time, LATER_NS), 100 + ((LATER_NS - 10) * 8 / 4 - 64) / 2 * 32 / 16);
}

static void clocks_that_tell_nothing(void **state)
{
	struct record_time_conv record = GUEST;
	struct guest_time time = {.scale = 1};
	record.cap_zero = 0;
	guest_time_take(&time.guest, &record);
	record = GUEST;
	record.header.size = offsetof(struct record_time_conv, cycles); /* of an older recorder */
	guest_time_take(&time.guest, &record);
	record = GUEST;
	record.multiplier = 0;
	guest_time_take(&time.guest, &record);
	record = HOST;
	record.shift = 64;
	guest_time_take(&time.host, &record);
	assert_int_equal(guest_time_on_host(&time, FIRST_NS), FIRST_NS);
}

static void a_short_counter_goes_on(void **state)
{
	struct record_time_conv record = HOST;
	struct guest_time time = {.scale = 1};
	record.cap_short = 1;
	record.cycles = 0x12345000;
	record.mask = 0xfff;
	guest_time_take(&time.host, &record);
	assert_int_equal(guest_time_on_host(&time, 0x010), 100 + 0x12345010 * 2ull);
}

static void long_times_are_exact(void **state)
{
	const uint64_t long_ago = (1ull << 60) + 1;
	struct guest_time time = {.scale = 1, .offset = 1ull << 60};
	assert_int_equal(guest_time_on_host(&time, long_ago), 1);
	time = (struct guest_time){.scale = 0.25};
	assert_true(guest_time_on_host(&time, UINT64_MAX) == UINT64_MAX); /* no larger one */
}

int cmd_guest_time_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_clocks_times_are_counters),
		cmocka_unit_test(clocks_of_both),
		cmocka_unit_test(clocks_that_tell_nothing),
		cmocka_unit_test(a_short_counter_goes_on),
		cmocka_unit_test(long_times_are_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

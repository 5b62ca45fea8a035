/* The round sorter against its contract, against a plain list, and against hostile streams. */
#include "session/order.h"
#include "capture/rounds.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static size_t pop_all(struct order *order, uint64_t *times, size_t room)
{
	struct order_item item;
	size_t count = 0;
	while (order_pop(order, &item)) {
		assert_true(count < room);
		times[count++] = item.time;
	}
	return count;
}

/* The drawing in order.h. */
static void test_contract(void **state)
{
	static const uint64_t rounds[3][6] = {{1, 2, 3, 2}, {4, 6, 8, 3, 5, 7}, {9, 12, 8, 11}};
	static const size_t lengths[3] = {4, 6, 4};
	static const uint64_t expected[4][6] = {{0}, {1, 2, 2, 3, 3}, {4, 5, 6, 7, 8, 8}, {9, 11, 12}};
	static const size_t expected_lengths[4] = {0, 5, 6, 3};
	struct order order = {0};
	uint64_t times[16], offset = 0;
	for (size_t round = 0; round < 4; round++) {
		for (size_t i = 0; round < 3 && i < lengths[round]; i++)
			order_push(&order, rounds[round][i], offset++);
		if (round < 3)
			order_finish_round(&order);
		else
			order_finish(&order);
		assert_int_equal(pop_all(&order, times, 16), expected_lengths[round]);
		assert_memory_equal(times, expected[round], expected_lengths[round] * sizeof(*times));
	}
	order_deinit(&order);
}

/* What one large round has needed goes back when rounds are small again. */
static void test_large_round(void **state)
{
	enum { MANY = 100000, ROUNDS = 4, FEW = 100 };
	struct order order = {0};
	struct order_item item;
	uint64_t offset = 0;
	for (uint64_t i = 0; i < MANY; i++) /* of three rings */
		order_push(&order, i / 3 + i % 3 * MANY, offset++);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		order_finish_round(&order);
		while (order_pop(&order, &item))
			;
		for (uint64_t i = 0; i < FEW; i++)
			order_push(&order, (4 + round) * MANY + i, offset++);
	}
	assert_true(order.incoming.cap + order.scratch.cap + order.ready[0].items.cap + order.ready[1].items.cap < MANY / 2);
	order_deinit(&order);
}

/* What the kernel's perf does, in the simplest words: a list kept sorted, of which a round takes what isn't newer than the newest before
 * it. */
struct plain {
	order_items items;
	uint64_t newest, limit;
};

static void plain_push(struct plain *plain, struct order_item item)
{
	size_t at = plain->items.len;
	while (at > 0 && plain->items.data[at - 1].time > item.time)
		at--;
	if (at == plain->items.len)
		plain->newest = item.time;
	vec_push(&plain->items, item);
	for (size_t i = plain->items.len - 1; i > at; i--)
		plain->items.data[i] = plain->items.data[i - 1];
	plain->items.data[at] = item;
}

static void plain_release(struct plain *plain, uint64_t limit, struct order *order)
{
	size_t count = 0;
	struct order_item item;
	while (order_pop(order, &item)) {
		assert_true(count < plain->items.len);
		assert_int_equal(item.time, plain->items.data[count].time);
		assert_int_equal(item.offset, plain->items.data[count].offset);
		assert_true(item.time <= limit);
		count++;
	}
	assert_true(count == plain->items.len || plain->items.data[count].time > limit);
	for (size_t i = count; i < plain->items.len; i++)
		plain->items.data[i - count] = plain->items.data[i];
	plain->items.len -= count;
}

static void test_random(void **state)
{
	uint64_t random = 1;
	for (int run = 0; run < 300; run++) {
		struct order order = {0};
		struct plain plain = {0};
		uint64_t base = 0, offset = 0, disorder = 1 + (random = hash_mix(random)) % 200;
		for (int i = 0; i < 500; i++) {
			random = hash_mix(random + 1);
			struct order_item item = {1 + base + random % disorder, offset++};
			if (random % 97 == 0)
				item.time += 10000;
			base += random >> 60;
			order_push(&order, item.time, item.offset);
			plain_push(&plain, item);
			if (random >> 32 & 15)
				continue;
			order_finish_round(&order);
			plain_release(&plain, plain.limit, &order);
			plain.limit = plain.newest;
		}
		order_finish(&order);
		plain_release(&plain, UINT64_MAX, &order);
		assert_int_equal(plain.items.len, 0);
		order_deinit(&order);
		vec_deinit(&plain.items);
	}
}

/* Far-future records that never go, and a round after each of many others: must not cost a pass over what is held each time. */
static void test_hostile_rounds(void **state)
{
	struct order order = {0};
	struct order_item item;
	uint64_t offset = 0, delivered = 0;
	for (uint64_t i = 0; i < 300000; i++)
		order_push(&order, UINT64_MAX / 2 + i, offset++);
	for (uint64_t i = 0; i < 300000; i++) {
		order_push(&order, 1 + i, offset++);
		if (i % 3 == 0)
			order_push(&order, UINT64_MAX / 4 + i, offset++);
		order_finish_round(&order);
		while (order_pop(&order, &item))
			delivered++;
	}
	order_finish(&order);
	while (order_pop(&order, &item))
		delivered++;
	assert_int_equal(delivered, offset);
	order_deinit(&order);
}

enum { LATE_MS = 1000000, LATE_CPUS = 2, LATE_PASSES = 600, LATE_COUNT = LATE_CPUS * LATE_PASSES };

/* When the record of this CPU and millisecond can be read: the other CPU's at once, this one is stopped from 100 to 180 and from 400 to
 * 489. */
static uint64_t visible_ms(unsigned int cpu, uint64_t ms)
{
	if (cpu && ms >= 100 && ms < 180)
		return 180;
	return cpu && ms >= 400 && ms < 489 ? 489 : ms;
}

/* A recorder that looks every millisecond, while a CPU delivers what it has noted milliseconds before. */
static void test_late_records(void **state)
{
	struct order order = {0};
	struct rounds marks = {0};
	struct order_item item;
	uint64_t offset = 0, last = 0, delivered = 0, marked = 0;

	for (uint64_t pass = 1; pass <= LATE_PASSES; pass++) {
		uint64_t begun = pass * LATE_MS;
		for (unsigned int cpu = 0; cpu < LATE_CPUS; cpu++)
			for (uint64_t ms = pass > 100 ? pass - 100 : 0; ms <= pass; ms++)
				if (visible_ms(cpu, ms) == pass)
					order_push(&order, ms * LATE_MS + cpu + 1, offset++);
		bool mark = rounds_end(&marks, begun, begun + LATE_MS / 10);
		if (mark)
			order_finish_round(&order);
		marked += mark;
		for (; mark && order_pop(&order, &item); last = item.time, delivered++)
			assert_true(item.time > last);
	}
	assert_in_range(marked, 5, LATE_PASSES / 90 + 1);
	assert_true(delivered > LATE_COUNT / 2); /* while the stream goes on, not only at its end */
	order_finish(&order);
	for (; order_pop(&order, &item); last = item.time, delivered++)
		assert_true(item.time > last);
	assert_int_equal(delivered, offset);
	assert_int_equal(offset, LATE_COUNT);
	order_deinit(&order);
}

/* Those that nobody asks for hold back and let go as if they were there: what is left comes in the same rounds. */
static void test_passed(void **state)
{
	enum { ROUNDS = 3000, SPREAD = 40 };
	struct order all = {0}, chosen = {0};
	struct order_item item = {0}, other;
	uint64_t random = 5;
	for (uint64_t round = 0, offset = 0; round < ROUNDS; round++) {
		for (uint64_t count = random % 4; count > 0; count--, offset++) {
			random = hash_mix(random);
			uint64_t time = round * 10 + random % SPREAD;
			order_push(&all, time, offset);
			if (random >> 32 & 3)
				order_pass(&chosen, time);
			else
				order_push(&chosen, time, offset);
		}
		random = hash_mix(random);
		order_finish_round(&all);
		order_finish_round(&chosen);
		while (order_pop(&chosen, &other)) {
			do
				assert_true(order_pop(&all, &item));
			while (item.offset != other.offset);
		}
		while (order_pop(&all, &item))
			;
		assert_int_equal(chosen.limit, all.limit);
		assert_int_equal(chosen.released, all.released);
	}
	order_deinit(&all);
	order_deinit(&chosen);
}

int session_order_tests(void);
int session_order_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contract),       cmocka_unit_test(test_large_round),  cmocka_unit_test(test_random),
		cmocka_unit_test(test_hostile_rounds), cmocka_unit_test(test_late_records), cmocka_unit_test(test_passed),
	};
	return cmocka_run_group_tests_name("session/order", tests, NULL, NULL);
}

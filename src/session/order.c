/* The round sorter (the contract is in order.h).
 *
 * What is drained from one ring is ascending, so the sort is a natural merge sort: it finds the ascending stretches and merges them
 * pairwise; a round of n records from c rings costs n log c steps. What is left over from earlier rounds is kept as sorted runs, each at
 * least twice as long as the next one: hostile streams (a round mark after every record, times far in the future) cost a logarithm, not a
 * square.
 */
#include "session/order.h"

#include "base/search.h"

#include <string.h>

void order_deinit(struct order *order)
{
	vec_deinit(&order->incoming);
	vec_deinit(&order->scratch);
	vec_deinit(&order->spare);
	vec_deinit(&order->bounds);
	for (size_t i = 0; i < 2; i++)
		vec_deinit(&order->ready[i].items);
	for (size_t i = 0; i < order->runs.len; i++)
		vec_deinit(&order->runs.data[i].items);
	vec_deinit(&order->runs);
}

static inline void note_newest(struct order *order, uint64_t time)
{
	if ((!order->held && !order->passed) || time > order->newest)
		order->newest = time;
}

void order_push(struct order *order, uint64_t time, uint64_t offset)
{
	note_newest(order, time);
	order->held++;
	vec_push(&order->incoming, (struct order_item){.time = time, .offset = offset});
}

void order_pass(struct order *order, uint64_t time)
{
	note_newest(order, time);
	if (!order->passed || time > order->newest_passed)
		order->newest_passed = time;
	order->passed = true;
}

void order_push_all(struct order *order, const struct order_item *items, size_t count, const struct order_times *times)
{
	note_newest(order, times->newest);
	if (times->passed && (!order->passed || times->newest_passed > order->newest_passed))
		order->newest_passed = times->newest_passed;
	order->passed |= times->passed;
	order->held += count;
	if (!count) /* there may be no memory yet */
		return;
	vec_reserve(&order->incoming, order->incoming.len + count);
	memcpy(order->incoming.data + order->incoming.len, items, count * sizeof(*items));
	order->incoming.len += count;
}

static bool item_before(const struct order_item *a, const struct order_item *b)
{
	return a->time < b->time || (a->time == b->time && a->offset < b->offset);
}

/* Merges two sorted stretches into `to`. */
static void merge(const struct order_item *a, size_t a_count, const struct order_item *b, size_t b_count, struct order_item *to)
{
	const struct order_item *a_end = a + a_count, *b_end = b + b_count;
	while (a < a_end && b < b_end)
		*to++ = item_before(b, a) ? *b++ : *a++;
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
	memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

/* Where ascending stretches begin, and the end. */
static void find_stretches(struct order *order)
{
	const order_items *items = &order->incoming;
	order->bounds.len = 0;
	vec_push(&order->bounds, 0);
	for (size_t i = 1; i < items->len; i++)
		if (items->data[i].time < items->data[i - 1].time)
			vec_push(&order->bounds, i);
	vec_push(&order->bounds, items->len);
}

static void sort_incoming(struct order *order)
{
	find_stretches(order);
	size_t *bounds = order->bounds.data;
	size_t stretches = order->bounds.len - 1;
	if (stretches > 1)
		vec_reserve(&order->scratch, order->incoming.len);
	while (stretches > 1) {
		const struct order_item *from = order->incoming.data;
		struct order_item *to = order->scratch.data;
		size_t merged = 0;
		for (size_t i = 0; i < stretches; i += 2) {
			size_t begin = bounds[i], middle = bounds[i + 1], end = i + 2 <= stretches ? bounds[i + 2] : middle;
			merge(from + begin, middle - begin, from + middle, end - middle, to + begin);
			bounds[merged++] = begin;
		}
		bounds[merged] = order->incoming.len;
		stretches = merged;
		order->scratch.len = order->incoming.len;
		order_items sorted = order->scratch;
		order->scratch = order->incoming;
		order->incoming = sorted;
	}
}

static size_t run_left(const struct order_run *run)
{
	return run->items.len - run->at;
}

/* How many of the run's items are not newer than `limit`. */
static size_t run_count_until(const struct order_run *run, uint64_t limit)
{
	return partition_point(i, run_left(run), run->items.data[run->at + i].time <= limit);
}

/* `count` items from the place `at` on. */
static void copy_items(const order_items *items, size_t at, size_t count, order_items *ret)
{
	if (!count) /* there may be no memory yet */
		return;
	vec_reserve(ret, count);
	memcpy(ret->data, items->data + at, count * sizeof(*ret->data));
	ret->len = count;
}

/* Takes `count` items from the run into the first of what is ready. All of a run that comes first are handed over as they lie. */
static void take(struct order *order, struct order_run *run, size_t count)
{
	struct order_run *ready = &order->ready[0];
	order->held -= count;
	if (!ready->items.len && count == run_left(run)) {
		struct order_run unused = *ready;
		*ready = *run;
		*run = unused;
		return;
	}
	const size_t begin = run->at;
	run->at += count;
	if (!ready->items.len) {
		copy_items(&run->items, begin, count, &ready->items);
		return;
	}
	vec_reserve(&order->scratch, run_left(ready) + count);
	merge(ready->items.data + ready->at, run_left(ready), run->items.data + begin, count, order->scratch.data);
	order->scratch.len = run_left(ready) + count;
	order_items merged = order->scratch;
	order->scratch = ready->items;
	*ready = (struct order_run){.items = merged};
}

static void drop_empty_runs(struct order *order)
{
	size_t kept = 0;
	for (size_t i = 0; i < order->runs.len; i++) {
		struct order_run *run = &order->runs.data[i];
		if (run_left(run)) {
			order->runs.data[kept++] = *run;
			continue;
		}
		vec_deinit(&order->spare);
		order->spare = run->items;
	}
	order->runs.len = kept;
}

/* Merges the newest runs until each is at least twice as long as the next. */
static void compact_runs(struct order *order)
{
	while (order->runs.len >= 2) {
		struct order_run *a = &order->runs.data[order->runs.len - 2], *b = a + 1;
		if (run_left(a) >= 2 * run_left(b))
			return;
		struct order_run both = {0};
		size_t count = run_left(a) + run_left(b);
		vec_reserve(&both.items, count);
		merge(a->items.data + a->at, run_left(a), b->items.data + b->at, run_left(b), both.items.data);
		both.items.len = count;
		vec_deinit(&a->items);
		vec_deinit(&b->items);
		*a = both;
		order->runs.len--;
	}
}

static void add_run(struct order *order, struct order_run run)
{
	vec_push(&order->runs, run);
	compact_runs(order);
}

/* The round that was finished, sorted: `count` of its items are ready, and the rest becomes a run. The larger part stays as it lies. */
static void take_round(struct order *order, size_t count)
{
	struct order_run *ready = &order->ready[1], rest = {0};
	order_items round = order->incoming;
	size_t left = round.len - count;
	order->held -= count;
	if (left > count) {
		copy_items(&round, 0, count, &ready->items);
		rest = (struct order_run){.items = round, .at = count};
		order->incoming = order->spare;
		order->spare = (order_items){0};
	} else {
		copy_items(&round, count, left, &rest.items);
		round.len = count;
		order->incoming = ready->items;
		*ready = (struct order_run){.items = round};
	}
	order->incoming.len = 0;
	if (left)
		add_run(order, rest);
}

/* What a single large round has left behind, as the one with all that runs already. */
static void shed(order_items *items, size_t needed)
{
	enum { SMALL = 4096, MUCH = 8 };
	if (items->cap > SMALL && items->cap / MUCH > needed) {
		vec_deinit(items);
		*items = (order_items){0};
	}
}

static void release(struct order *order, uint64_t limit)
{
	order_items *const unused[] = {&order->scratch, &order->spare, &order->ready[0].items, &order->ready[1].items};
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		shed(unused[i], order->held);
	order->ready[1].at = order->ready[1].items.len = 0;
	order->ready[0].at = order->ready[0].items.len = 0;
	order->passed &= order->newest_passed > limit;
	sort_incoming(order);
	for (size_t i = order->runs.len; i-- > 0;) {
		struct order_run *run = &order->runs.data[i];
		size_t run_count = run_count_until(run, limit);
		if (run_count)
			take(order, run, run_count);
	}
	drop_empty_runs(order);
	const struct order_run fresh = {.items = order->incoming};
	take_round(order, run_count_until(&fresh, limit));
}

void order_finish_round(struct order *order)
{
	release(order, order->limit);
	order->released = order->limit;
	order->limit = order->newest;
}

void order_finish(struct order *order)
{
	release(order, UINT64_MAX);
}

/* Up to `room` items, until one of two runs is at its end. */
static size_t merge_some(struct order_run *a, struct order_run *b, struct order_item *ret, size_t room)
{
	const struct order_item *x = a->items.data + a->at, *x_end = a->items.data + a->items.len;
	const struct order_item *y = b->items.data + b->at, *y_end = b->items.data + b->items.len;
	size_t count = 0;
	while (count < room && x < x_end && y < y_end)
		ret[count++] = item_before(y, x) ? *y++ : *x++;
	a->at = (size_t)(x - a->items.data);
	b->at = (size_t)(y - b->items.data);
	return count;
}

size_t order_take(struct order *order, struct order_item *ret, size_t room)
{
	struct order_run *a = &order->ready[0], *b = &order->ready[1];
	size_t count = 0;
	if (run_left(a) && run_left(b))
		count = merge_some(a, b, ret, room);
	for (size_t i = 0; i < 2 && count < room; i++) {
		struct order_run *run = &order->ready[i];
		size_t left = run_left(run), taken = left < room - count ? left : room - count;
		if (taken)
			memcpy(ret + count, run->items.data + run->at, taken * sizeof(*ret));
		run->at += taken;
		count += taken;
	}
	return count;
}

const struct order_item *order_take_all(struct order *order, size_t *ret_count)
{
	struct order_run *ready = &order->ready[run_left(&order->ready[1]) > 0];
	size_t count = *ret_count = run_left(&order->ready[0]) + run_left(&order->ready[1]);
	if (!count)
		return NULL;
	if (run_left(ready) < count) {
		vec_reserve(&order->scratch, count);
		order_take(order, order->scratch.data, count);
		return order->scratch.data;
	}
	ready->at = ready->items.len;
	return ready->items.data + ready->items.len - count;
}

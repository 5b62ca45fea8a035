/* Stacks in order: all of them, equal beginnings shared, and what hangs below a node of the trie as found by looking at every stack. */
#include "analysis/report/callgraph_trie.h"
#include "base/mem.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIECES = 600, ENTRIES = 3000, FRAMES_MOST = 24, SECTIONS = 3 };

struct stacks {
	struct fold fold;
	uint32_t sections[ENTRIES];
};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

/* Few different frames, so that beginnings are alike; kernel pieces are shorter. A stack may have one piece, two or none. */
static struct stacks *make_stacks(void)
{
	struct stacks *stacks = mem_zalloc(sizeof(*stacks));
	struct fold *fold = &stacks->fold;
	uint64_t seed = 7;
	uint32_t frames = 0;
	fold->pieces = mem_zalloc_array(PIECES, sizeof(*fold->pieces));
	fold->entries = mem_zalloc_array(ENTRIES, sizeof(*fold->entries));
	fold->frame_ids = mem_zalloc_array(PIECES * FRAMES_MOST, sizeof(*fold->frame_ids));
	fold->piece_count = PIECES;
	fold->entry_count = ENTRIES;
	for (uint32_t i = 0; i < PIECES; i++) {
		uint32_t count = draw(&seed, FRAMES_MOST + 1);
		fold->pieces[i] = (struct fold_piece){.frames = frames, .frame_count = count & INT32_MAX, .kernel = i % 2};
		while (count--)
			fold->frame_ids[frames++] = draw(&seed, 2);
	}
	for (uint32_t i = 0; i < ENTRIES; i++) {
		fold->entries[i] = (struct fold_entry){
			.count = 1 + draw(&seed, 5), .period = draw(&seed, 1000), .inner = FOLD_NONE, .outer = FOLD_NONE};
		if (draw(&seed, 3))
			fold->entries[i].inner = draw(&seed, PIECES / 2) * 2 + 1;
		if (draw(&seed, 9))
			fold->entries[i].outer = draw(&seed, PIECES / 2) * 2;
		stacks->sections[i] = draw(&seed, SECTIONS + 1) ?: FOLD_NONE;
	}
	return stacks;
}

static uint32_t shared_outermost(const struct fold *fold, const struct fold_piece *a, const struct fold_piece *b)
{
	uint32_t shared = 0;
	while (shared < a->frame_count && shared < b->frame_count &&
	       *fold_piece_frame(fold, a, a->frame_count - 1 - shared) == *fold_piece_frame(fold, b, b->frame_count - 1 - shared))
		shared++;
	return shared;
}

/* Pieces share frames with some that were made before, if not always as many as they could. */
static void share_frames(struct fold *fold)
{
	uint64_t seed = 5;
	for (uint32_t i = 2; i < fold->piece_count; i++) {
		struct fold_piece *piece = &fold->pieces[i];
		uint32_t other = draw(&seed, i / 2) * 2 + i % 2, before[FRAMES_MOST], after[FRAMES_MOST];
		uint32_t count = fold_piece_copy(fold, piece, before);
		piece->shared = shared_outermost(fold, piece, &fold->pieces[other]);
		while (piece->shared && fold->pieces[other].shared >= piece->shared)
			other = fold->pieces[other].outer;
		piece->outer = other;
		assert_int_equal(fold_piece_copy(fold, piece, after), count);
		assert_memory_equal(before, after, count * sizeof(*after));
		for (uint32_t own = 0; own < piece->shared; own++)
			fold->frame_ids[piece->frames + count - 1 - own] = UINT32_MAX;
	}
}

static void free_stacks(struct stacks *stacks)
{
	free(stacks->fold.pieces);
	free(stacks->fold.entries);
	free(stacks->fold.frame_ids);
	free(stacks);
}

/* Whether two stacks have the same first frames. */
static bool begin_alike(const struct stack_order *order, size_t a, size_t b, uint32_t frames)
{
	const struct fold_entry *x = stack_order_entry(order, a), *y = stack_order_entry(order, b);
	uint32_t x_depth = stack_order_depth(order, x), y_depth = stack_order_depth(order, y);
	if (x_depth < frames || y_depth < frames)
		return false;
	for (uint32_t i = 0; i < frames; i++)
		if (stack_order_frame(order, x, x_depth, i) != stack_order_frame(order, y, y_depth, i))
			return false;
	return true;
}

static void check_order(const struct stacks *stacks, const struct stack_order *order)
{
	bool seen[ENTRIES] = {false};
	size_t wanted = 0;
	for (size_t i = 0; i < ENTRIES; i++)
		wanted += stacks->sections[i] != FOLD_NONE;
	assert_int_equal(order->count, wanted);
	for (size_t i = 0; i < order->count; i++) {
		uint32_t entry = order->entries[i];
		assert_false(seen[entry]);
		seen[entry] = true;
		if (!i)
			continue;
		uint32_t before = stacks->sections[order->entries[i - 1]], shared = stack_order_shared(order, i - 1, i);
		assert_true(before <= stacks->sections[entry] && stacks->sections[entry] != FOLD_NONE);
		assert_true(before == stacks->sections[entry] || !shared);
		assert_true(begin_alike(order, i - 1, i, shared));
	}
}

static uint32_t position_of(const struct callgraph_trie *trie, uint32_t stack)
{
	return trie->positions ? trie->positions[stack] : stack;
}

static uint32_t frames_of(const struct callgraph_trie *trie, uint32_t stack)
{
	return stack_order_depth(trie->order, stack_order_entry(trie->order, position_of(trie, stack)));
}

/* What was found by looking at every stack of every node. */
struct looked_at {
	size_t frames, nodes;
};

/* The stacks [first, last) are one node at each smaller depth. Those of a node begin alike and weigh what it weighs; one that has ended
 * stands alone. */
static void check_nodes(const struct callgraph_trie *trie, uint32_t first, uint32_t last, uint32_t depth, struct looked_at *looked)
{
	for (uint32_t end; first < last; first = end) {
		end = callgraph_trie_end(trie, first, last, depth);
		assert_true(end > first && end <= last);
		if (frames_of(trie, first) <= depth) {
			assert_int_equal(end, first + 1);
			continue;
		}
		uint64_t period = 0, count = 0;
		for (uint32_t i = first; i < end; i++) {
			const struct fold_entry *entry = stack_order_entry(trie->order, position_of(trie, i));
			assert_true(begin_alike(trie->order, position_of(trie, first), position_of(trie, i), depth + 1));
			period += entry->period;
			count += entry->count;
		}
		struct trie_weight weight = callgraph_trie_sum(trie, first, end);
		assert_true(weight.period == period && weight.count == count);
		looked->frames += end - first;
		looked->nodes++;
		check_nodes(trie, first, end, depth + 1, looked);
	}
}

/* No frame of a stack is missing. */
static void check_trie(const struct callgraph_trie *trie)
{
	struct looked_at looked = {0};
	size_t wanted = 0;
	check_nodes(trie, 0, (uint32_t)trie->count, 0, &looked);
	for (uint32_t i = 0; i < trie->count; i++)
		wanted += frames_of(trie, i);
	assert_int_equal(looked.frames, wanted);
	assert_true(looked.nodes < wanted);
}

static void are_a_trie(struct stacks *stacks)
{
	for (int outside_in = 0; outside_in < 2; outside_in++) {
		struct stack_order *order = stack_order_create(&stacks->fold, stacks->sections, outside_in, 2);
		check_order(stacks, order);
		for (unsigned int jobs = 1; jobs < 4; jobs++) {
			struct callgraph_trie trie;
			callgraph_trie_init(&trie, order, NULL, order->count, jobs);
			check_trie(&trie);
			callgraph_trie_deinit(&trie);
		}
		stack_order_destroy(order);
	}
}

static void stacks_are_a_trie(void **state)
{
	struct stacks *stacks = make_stacks();
	are_a_trie(stacks);
	share_frames(&stacks->fold);
	are_a_trie(stacks);
	free_stacks(stacks);
}

/* Of stacks that were chosen, neighbours or not. */
static void some_stacks_are_a_trie(void **state)
{
	struct stacks *stacks = make_stacks();
	share_frames(&stacks->fold);
	for (int outside_in = 0; outside_in < 2; outside_in++) {
		struct stack_order *order = stack_order_create(&stacks->fold, stacks->sections, outside_in, 2);
		uint32_t some[ENTRIES], count = 0;
		for (uint32_t i = 0; i < order->count; i += i % 7 ? 1 : 3)
			some[count++] = i;
		struct callgraph_trie trie;
		callgraph_trie_init(&trie, order, some, count, 1);
		check_trie(&trie);
		callgraph_trie_deinit(&trie);
		stack_order_destroy(order);
	}
	free_stacks(stacks);
}

/* Stacks that differ in their last frame alone: nodes grow with the stacks and not with their frames. */
static void shared_frames_are_one_node(void **state)
{
	enum { DEEP = 90 };
	struct stacks *stacks = make_stacks();
	struct fold *fold = &stacks->fold;
	fold->frame_ids = mem_resize(fold->frame_ids, PIECES * (DEEP + 1) * sizeof(*fold->frame_ids));
	for (uint32_t i = 0; i < PIECES; i++) {
		fold->pieces[i] = (struct fold_piece){.frames = i * (DEEP + 1), .frame_count = DEEP + 1};
		for (uint32_t at = 0; at <= DEEP; at++)
			fold->frame_ids[i * (DEEP + 1) + at] = at ? at : 1000 + i; /* innermost first */
		fold->entries[i].outer = i;
		fold->entries[i].inner = FOLD_NONE;
		stacks->sections[i] = 1;
	}
	fold->entry_count = PIECES;
	struct stack_order *order = stack_order_create(fold, stacks->sections, true, 1);
	struct callgraph_trie trie;
	struct looked_at looked = {0};
	callgraph_trie_init(&trie, order, NULL, order->count, 1);
	check_nodes(&trie, 0, PIECES, 0, &looked);
	assert_int_equal(looked.nodes, DEEP + PIECES);
	callgraph_trie_deinit(&trie);
	stack_order_destroy(order);
	free_stacks(stacks);
}

static void *order_stacks(void *stacks)
{
	return stack_order_create(&((struct stacks *)stacks)->fold, ((struct stacks *)stacks)->sections, false, 1);
}

/* Two stacks that differ in the last of very many frames: how deep they are must not matter. */
static void deep_stacks_need_little_stack(void **state)
{
	enum { DEEP = 65000, STACK = 256 << 10 };
	struct stacks *stacks = make_stacks();
	struct fold *fold = &stacks->fold;
	pthread_attr_t attributes;
	pthread_t thread;
	void *order;
	fold->frame_ids = mem_resize(fold->frame_ids, 2 * DEEP * sizeof(*fold->frame_ids));
	fold->piece_count = fold->entry_count = 2;
	for (uint32_t i = 0; i < 2; i++) {
		fold->pieces[i] = (struct fold_piece){.frames = i * DEEP, .frame_count = DEEP};
		for (uint32_t at = 0; at < DEEP; at++)
			fold->frame_ids[i * DEEP + at] = at + 1 < DEEP ? 7 : 9 - i;
		fold->entries[i].inner = i;
		fold->entries[i].outer = FOLD_NONE;
		stacks->sections[i] = 1;
	}
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	assert_int_equal(pthread_create(&thread, &attributes, order_stacks, stacks), 0);
	pthread_join(thread, &order);
	pthread_attr_destroy(&attributes);
	assert_int_equal(((struct stack_order *)order)->entries[0], 1);
	assert_int_equal(stack_order_shared(order, 0, 1), DEEP - 1);
	stack_order_destroy(order);
	free_stacks(stacks);
}

int analysis_stack_order_tests(void);
int analysis_stack_order_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_a_trie),
		cmocka_unit_test(some_stacks_are_a_trie),
		cmocka_unit_test(shared_frames_are_one_node),
		cmocka_unit_test(deep_stacks_need_little_stack),
	};
	return cmocka_run_group_tests_name("analysis/stack_order", tests, NULL, NULL);
}

/* Pieces of stacks in a set: each once, with the frames that it came with, those that several have in common kept once; and sets merged. */
#include "analysis/report/fold_internal.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STACKS = 4000, FRAMES_MOST = 60, FRAMES = 50, OTHERS_MOST = 4 };

struct stack_of_frames {
	uint32_t frames[FRAMES_MOST + OTHERS_MOST]; /* innermost first */
	uint32_t count;
	bool kernel;
};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

/* A program returns some way and calls again: each stack begins as the one before, the innermost third or so is new. */
static struct stack_of_frames *make_stacks(void)
{
	struct stack_of_frames *stacks = mem_zalloc_array(STACKS, sizeof(*stacks));
	uint32_t path[FRAMES_MOST], depth = 0;
	uint64_t seed = 3;
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t wanted = 40 + draw(&seed, FRAMES_MOST - 39), kept = depth - (depth ? draw(&seed, depth / 3 + 1) : 0);
		depth = kept < wanted ? kept : wanted;
		while (depth < wanted)
			path[depth++] = draw(&seed, FRAMES);
		stacks[i].count = depth;
		stacks[i].kernel = i % 5 == 0;
		for (uint32_t at = 0; at < depth; at++)
			stacks[i].frames[at] = path[depth - 1 - at];
	}
	return stacks;
}

/* Frames from `inner` on are known as the outermost ones of the piece `callers`; or not, if that is FOLD_NONE. Returns the piece's id. */
static uint32_t add_calling(struct fold_set *set, const struct stack_of_frames *stack, uint32_t inner, uint32_t callers)
{
	struct fold_item item = {.entry = {.entry = {.inner = FOLD_NONE, .outer = FOLD_NONE, .count = 1}}};
	struct fold_stretch *stretch = stack->kernel ? &item.inner : &item.outer;
	*stretch = (struct fold_stretch){
		.present = true, .frames = stack->frames, .count = inner, .caller_count = stack->count - inner, .callers = callers};
	stretch->callers_hash =
		fold_pieces_callers_hash(fold_pieces_hash_begin(stack->kernel), stack->frames + inner, stack->count - inner);
	fold_set_add(set, &item, 1);
	return stack->kernel ? item.entry.entry.inner : item.entry.entry.outer;
}

static uint32_t add_stack(struct fold_set *set, const struct stack_of_frames *stack)
{
	return add_calling(set, stack, stack->count, FOLD_NONE);
}

static void check_piece(const struct fold_set *set, uint32_t id, const struct stack_of_frames *stack)
{
	const struct set_piece *piece = fold_pieces_of(set, id);
	assert_int_equal(piece->frame_count, stack->count);
	assert_int_equal(piece->kernel, stack->kernel);
	for (uint32_t at = 0; at < stack->count; at++) {
		const struct set_piece *owner = piece;
		while (owner->shared >= stack->count - at)
			owner = fold_pieces_of(set, owner->outer);
		assert_int_equal(owner->kernel, stack->kernel);
		assert_int_equal(owner->own[owner->frame_count - (stack->count - at)], stack->frames[at]);
	}
}

static bool is_same(const struct stack_of_frames *a, const struct stack_of_frames *b)
{
	return a->count == b->count && a->kernel == b->kernel && !memcmp(a->frames, b->frames, a->count * sizeof(*a->frames));
}

static size_t frames_kept(const struct fold_set *set)
{
	size_t count = 0;
	for (unsigned int i = 0; i < FOLD_SHARDS; i++)
		count += set->pieces[i].frame_count;
	return count;
}

static void shared_frames_are_kept_once(void **state)
{
	struct stack_of_frames *stacks = make_stacks();
	struct fold_set *set = mem_zalloc(sizeof(*set));
	fold_set_init(set, &(struct fold_options){0}, NULL);
	fold_set_actor(set, 0, 0);
	set->shares_frames = true;
	uint32_t *ids = mem_alloc_array(STACKS, sizeof(*ids));
	size_t frames = 0;
	for (uint32_t i = 0; i < STACKS; i++) {
		ids[i] = add_stack(set, &stacks[i]);
		frames += stacks[i].count;
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		assert_int_equal(add_stack(set, &stacks[i]), ids[i]);
		check_piece(set, ids[i], &stacks[i]);
	}
	for (uint32_t i = 0; i < 300; i++)
		for (uint32_t other = 0; other < i; other++)
			assert_true((ids[i] == ids[other]) == is_same(&stacks[i], &stacks[other]));
	assert_true(frames_kept(set) < frames / 2);
	fold_set_deinit(set);
	free(set);
	free(ids);
	free(stacks);
}

/* Stacks of which all but the innermost frames are those of another one, which is known: the pieces are the same as if they weren't. */
static void callers_are_known(void **state)
{
	struct stack_of_frames *stacks = make_stacks();
	for (int shares = 0; shares < 2; shares++) {
		struct fold_set *set = mem_zalloc(sizeof(*set));
		uint32_t *ids = mem_alloc_array(STACKS, sizeof(*ids));
		fold_set_init(set, &(struct fold_options){0}, NULL);
		fold_set_actor(set, 0, 0);
		set->shares_frames = shares;
		for (uint32_t i = 0; i < STACKS; i++) {
			struct stack_of_frames other = stacks[i];
			uint32_t inner = i % 4, more = OTHERS_MOST / 2 * (i % 3);
			memmove(other.frames + more, other.frames + inner, (other.count - inner) * sizeof(*other.frames));
			other.count += more - inner;
			ids[i] = i % 7 ? add_calling(set, &stacks[i], inner, add_stack(set, &other))
				       : add_calling(set, &stacks[i], inner, FOLD_NONE);
			check_piece(set, ids[i], &stacks[i]);
		}
		for (uint32_t i = 0; i < STACKS; i++) {
			assert_int_equal(add_stack(set, &stacks[i]), ids[i]);
			assert_int_equal(add_calling(set, &stacks[i], i % 5, ids[i]), ids[i]);
		}
		fold_set_deinit(set);
		free(set);
		free(ids);
	}
	free(stacks);
}

static struct hash128 key_of(uint64_t number)
{
	return hash_words(&number, 1, 7);
}

/* Parts of chains that came before, more of them than the table begins with: what is found is what was added, and most is. */
static void parts_are_found(void **state)
{
	enum { PARTS = 100000 };
	struct fold_recent recent;
	uint32_t found = 0;
	fold_recent_init(&recent);
	for (int turn = 0; turn < 3; turn++) {
		for (uint32_t i = 0; i < PARTS; i++) {
			struct fold_stretch stretch = {.callers = FOLD_NONE, .callers_hash = i * 3, .caller_count = i % 255 + 1};
			const struct hash128 key = key_of(i);
			if (!fold_recent_find(&recent, &key, &stretch)) {
				fold_recent_add(&recent, &key, &stretch, i + 5);
				continue;
			}
			assert_true(turn && stretch.callers == i + 5 && stretch.callers_hash == i * 3 &&
				    stretch.caller_count == i % 255 + 1);
			found++;
		}
	}
	assert_true(found > PARTS);
	fold_recent_deinit(&recent);
}

static uint32_t count_found(struct fold_recent *recent, uint32_t parts)
{
	struct fold_stretch stretch;
	uint32_t found = 0;
	for (uint32_t i = 0; i < parts; i++) {
		const struct hash128 key = key_of(i);
		found += fold_recent_find(recent, &key, &stretch);
	}
	return found;
}

/* A part that is added takes the place of one other, also where the table becomes larger. */
static void growing_forgets_nothing(void **state)
{
	enum { BEFORE = 4000, PARTS = 4200 };
	const struct fold_stretch stretch = {.callers = FOLD_NONE, .caller_count = 9};
	struct fold_recent recent;
	uint32_t before = 0;
	fold_recent_init(&recent);
	const uint64_t mask = recent.mask;
	for (uint32_t i = 0; i < PARTS; i++) {
		const struct hash128 key = key_of(i);
		fold_recent_add(&recent, &key, &stretch, i);
		if (i < BEFORE)
			continue;
		uint32_t found = count_found(&recent, i + 1);
		assert_true(found >= before);
		before = found;
	}
	assert_true(recent.mask > mask);
	fold_recent_deinit(&recent);
}

/* A part of more frames than the table can say isn't in it; and where nothing comes again, nothing is looked for after a while. */
static void parts_that_do_not_pay(void **state)
{
	struct fold_recent recent;
	struct fold_stretch stretch = {.callers = FOLD_NONE, .caller_count = 256};
	uint32_t sought = 0;
	fold_recent_init(&recent);
	for (uint32_t i = 0; i < 100000; i++) {
		const struct hash128 key = key_of(i / 2);
		sought += fold_recent_pays(&recent);
		assert_false(fold_recent_find(&recent, &key, &stretch));
		fold_recent_add(&recent, &key, &stretch, 1);
	}
	assert_in_range(sought, 1000, 20000);
	fold_recent_deinit(&recent);
}

/* Two sets have some of the stacks each and some both: merged they have each once. */
static void merged_sets_have_each_once(void **state)
{
	struct stack_of_frames *stacks = make_stacks();
	struct fold_set *into = mem_zalloc(sizeof(*into)), *from = mem_zalloc(sizeof(*from));
	uint32_t *ids = mem_alloc_array(STACKS, sizeof(*ids));
	fold_set_init(into, &(struct fold_options){0}, NULL);
	fold_set_init(from, &(struct fold_options){0}, NULL);
	fold_set_actor(into, 0, 0);
	fold_set_actor(from, 0, 0);
	into->shares_frames = from->shares_frames = true;
	for (uint32_t i = 0; i < STACKS * 2 / 3; i++)
		add_stack(into, &stacks[i]);
	for (uint32_t i = STACKS / 3; i < STACKS; i++)
		ids[i] = add_stack(from, &stacks[i]);
	fold_set_end(into, false);
	fold_set_end(from, true);
	fold_pieces_reserve(into, from);
	for (unsigned int number = 0; number < FOLD_SHARDS; number++)
		fold_pieces_copy(into, from, number);
	for (unsigned int number = 0; number < FOLD_SHARDS; number++)
		fold_pieces_join(into, from, number);
	for (uint32_t i = STACKS / 3; i < STACKS; i++)
		check_piece(into, fold_pieces_of(from, ids[i])->hash, &stacks[i]);
	fold_set_deinit(from);
	for (uint32_t i = 0; i < STACKS; i++) {
		size_t before = frames_kept(into);
		check_piece(into, add_stack(into, &stacks[i]), &stacks[i]);
		assert_int_equal(frames_kept(into), before);
	}
	fold_set_deinit(into);
	free(into);
	free(from);
	free(ids);
	free(stacks);
}

/* Pieces of all sizes, also such as are larger than a chunk: each is found where it is, and walking meets all of them. */
static void pieces_larger_than_chunks(void **state)
{
	enum { PIECES = 300, LARGEST = 5 << FOLD_CHUNK_BITS };
	struct fold_set *set = mem_zalloc(sizeof(*set));
	uint32_t *frames = mem_alloc_array(LARGEST, sizeof(*frames)), ids[PIECES], counts[PIECES], met = 0;
	uint64_t seed = 7;
	fold_set_init(set, &(struct fold_options){0}, NULL);
	for (uint32_t i = 0; i < LARGEST; i++)
		frames[i] = i * 7 % FRAMES;
	for (uint32_t i = 0; i < PIECES; i++) {
		counts[i] = draw(&seed, i % 10 ? 3000 : LARGEST);
		/* In one shard. */
		const struct fold_stretch stretch = {.frames = frames, .count = counts[i], .callers = FOLD_NONE, .hash = i};
		ids[i] = fold_pieces_add(set, &stretch, false);
	}
	for (uint32_t i = 0; i < PIECES; i++) {
		assert_int_equal(fold_pieces_of(set, ids[i])->frame_count, counts[i]);
		assert_memory_equal(fold_pieces_of(set, ids[i])->own, frames, counts[i] * sizeof(*frames));
		const struct fold_stretch stretch = {.frames = frames, .count = counts[i], .callers = FOLD_NONE, .hash = i};
		assert_int_equal(fold_pieces_add(set, &stretch, false), ids[i]);
	}
	for (uint32_t at = fold_pieces_next(&set->pieces[0], 0); at != FOLD_NONE; at = fold_pieces_after(&set->pieces[0], at))
		assert_int_equal(at * FOLD_SHARDS, ids[met++]);
	assert_int_equal(met, PIECES);
	fold_set_deinit(set);
	free(set);
	free(frames);
}

/* Entries of a whole file are kept small: sums that outgrow their place, and which record was the first. */
static void small_entries_say_the_same(void **state)
{
	const uint64_t records[4] = {0}, periods[] = {1, UINT32_MAX, (uint64_t)5 << 32, 7};
	struct fold_set *set = mem_zalloc(sizeof(*set));
	uint64_t sum = 0;
	fold_set_init(set, &(struct fold_options){0}, (const uint8_t *)records);
	fold_set_actor(set, 0, 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct set_entry entry = {.entry = {.inner = FOLD_NONE, .outer = FOLD_NONE, .count = 1, .period = periods[i]},
					  .time = 9 - i % 3,
					  .first = (const void *)&records[i]};
		fold_set_entry(set, &entry, 0);
		sum += periods[i];
		const struct set_entry kept = fold_set_get(set, &set->entries[0], 0);
		assert_int_equal(set->entries[0].count, 1);
		assert_true(kept.entry.period == sum && kept.entry.count == i + 1);
		assert_int_equal(kept.time, i < 3 ? 9 - i : 7);
		assert_ptr_equal(kept.first, &records[i < 3 ? i : 2]);
	}
	fold_set_deinit(set);
	free(set);
}

int analysis_fold_set_tests(void);
int analysis_fold_set_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_frames_are_kept_once),
		cmocka_unit_test(callers_are_known),
		cmocka_unit_test(parts_are_found),
		cmocka_unit_test(growing_forgets_nothing),
		cmocka_unit_test(parts_that_do_not_pay),
		cmocka_unit_test(merged_sets_have_each_once),
		cmocka_unit_test(pieces_larger_than_chunks),
		cmocka_unit_test(small_entries_say_the_same),
	};
	return cmocka_run_group_tests_name("analysis/fold_set", tests, NULL, NULL);
}

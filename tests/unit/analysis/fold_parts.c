/* Parts of a fold: the same entries, and no more of what they refer to than they use. */
#include "analysis/report/fold_parts.h"
#include "analysis/report/fold_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EVENTS = 40, ENTRIES = 3000, PIECES = 500, FRAMES = 900, ACTORS = 30, EXTRAS = 60 };

struct recording {
	struct session session;
	struct reader reader;
	struct fold_private private;
	struct fold fold;
	struct fold_entry entries[ENTRIES];
	struct fold_detail details[ENTRIES];
	struct fold_piece pieces[PIECES];
	struct fold_frame frames[FRAMES];
	struct fold_actor actors[ACTORS];
	uint32_t frame_ids[PIECES * 8];
	uint32_t functions[FRAMES];
	uint64_t extras[EXTRAS * 2];
};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

static struct recording *make_recording(void)
{
	struct recording *made = mem_zalloc(sizeof(*made));
	uint64_t seed = 3;
	for (uint32_t i = 0; i < FRAMES; i++) {
		made->frames[i].ip = i;
		made->functions[i] = i / 3 * 3;
	}
	for (uint32_t i = 0; i < PIECES; i++) {
		made->pieces[i] = (struct fold_piece){.frames = i * 8, .frame_count = draw(&seed, 9), .kernel = i % 2};
		for (uint32_t at = 0; at < 8; at++)
			made->frame_ids[i * 8 + at] = draw(&seed, FRAMES);
	}
	for (uint32_t i = 0; i < ACTORS; i++)
		made->actors[i].thread = (const struct thread *)(uintptr_t)(i + 1);
	for (uint32_t i = 0; i < EXTRAS * 2; i++)
		made->extras[i] = i;
	/* A third is of the first event. */
	for (uint32_t i = 0; i < ENTRIES; i++) {
		uint32_t inner = draw(&seed, PIECES * 2), outer = draw(&seed, PIECES + 9);
		made->entries[i] = (struct fold_entry){.leaf = draw(&seed, FRAMES), .actor = draw(&seed, ACTORS), .count = i + 1};
		made->details[i] = (struct fold_detail){.extra = draw(&seed, EXTRAS)};
		made->entries[i].inner = inner < PIECES ? inner : FOLD_NONE;
		made->entries[i].outer = outer < PIECES ? outer : FOLD_NONE;
		made->entries[i].event = i % 3 ? draw(&seed, EVENTS) & 0xff : 0;
	}
	made->reader.events.events.len = EVENTS;
	made->session.reader = &made->reader;
	made->fold = (struct fold){.session = &made->session,
				   .entries = made->entries,
				   .details = made->details,
				   .entry_count = ENTRIES,
				   .pieces = made->pieces,
				   .piece_count = PIECES,
				   .actors = made->actors,
				   .actor_count = ACTORS,
				   .frame_ids = made->frame_ids,
				   .frames = made->frames,
				   .frame_count = FRAMES,
				   .functions = made->functions,
				   .extras = made->extras,
				   .extra_words = 2,
				   .private = &made->private};
	return made;
}

static void check_entry(const struct fold *part, const struct fold_entry *entry, const struct recording *made,
			const struct fold_entry *wanted)
{
	uint32_t depth = fold_depth(&made->fold, wanted);
	assert_int_equal(entry->count, wanted->count);
	assert_int_equal(fold_depth(part, entry), depth);
	assert_int_equal(part->frames[entry->leaf].ip, wanted->leaf);
	assert_ptr_equal(part->actors[entry->actor].thread, made->actors[wanted->actor].thread);
	assert_memory_equal(part->extras + 2 * fold_extra(part, entry), made->extras + 2 * fold_extra(&made->fold, wanted),
			    2 * sizeof(uint64_t));
	for (uint32_t at = 0; at < depth; at++) {
		uint32_t frame = fold_frame_id(part, entry, at), original = fold_frame_id(&made->fold, wanted, at);
		assert_int_equal(part->frames[frame].ip, original);
		assert_int_equal(part->frames[part->functions[frame]].ip, made->functions[original]);
	}
}

/* The work of all parts goes with the entries, however many events there are. */
static void parts_have_what_they_use(void **state)
{
	struct recording *made = make_recording();
	struct fold_parts *parts = fold_parts_create(&made->fold);
	size_t elements = 0, entries = 0, uses = 0, whole = 0;
	for (uint32_t index = 0; index < EVENTS; index++) {
		const struct event event = {.index = index}, *const events[] = {&event};
		const struct fold *part = fold_parts_take(parts, events, 1);
		if (part == &made->fold) {
			whole++;
			continue;
		}
		size_t at = 0;
		for (size_t i = 0; i < ENTRIES; i++) {
			if (made->entries[i].event != index)
				continue;
			check_entry(part, &part->entries[at++], made, &made->entries[i]);
			uses += 3 + 3 * (size_t)fold_depth(&made->fold, &made->entries[i]);
		}
		assert_int_equal(part->entry_count, at);
		entries += at;
		elements += part->frame_count + part->piece_count + part->actor_count;
	}
	assert_int_equal(whole, 1);
	assert_true(entries > ENTRIES / 2 && elements <= uses);
	fold_parts_destroy(parts);
	free(made);
}

static void events_of_a_group_are_one_part(void **state)
{
	struct recording *made = make_recording();
	struct fold_parts *parts = fold_parts_create(&made->fold);
	const struct event last = {.index = EVENTS - 1}, first = {.index = 5}, *const events[] = {&last, &first};
	const struct fold *part = fold_parts_take(parts, events, 2);
	size_t at = 0;
	for (size_t i = 0; i < ENTRIES; i++)
		if (made->entries[i].event == 5 || made->entries[i].event == EVENTS - 1)
			check_entry(part, &part->entries[at++], made, &made->entries[i]);
	assert_int_equal(part->entry_count, at);
	fold_parts_destroy(parts);
	free(made);
}

int analysis_fold_parts_tests(void);
int analysis_fold_parts_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(parts_have_what_they_use), cmocka_unit_test(events_of_a_group_are_one_part)};
	return cmocka_run_group_tests_name("analysis/fold_parts", tests, NULL, NULL);
}

/* Lines by address, and the last stack of each address space: their text is that which one makes anew. */
#include "analysis/script/lines.h"
#include "analysis/script/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DEPTH = 40 };

/* Lines are of different lengths, and the innermost one has its own look: it is no address behind a call. */
static void add_frame(uint64_t word, bool innermost, struct strbuf *out)
{
	strbuf_printf(out, "%c %016llx ", innermost ? '>' : '<', (unsigned long long)word);
	strbuf_add_chars(out, 'x', 20 + word % 50);
	strbuf_add_char(out, '\n');
}

static size_t add_stack(struct script_recents *recents, uint64_t space, const uint64_t *words, size_t count, struct strbuf *out)
{
	size_t ends[SCRIPT_RECENT_FRAMES], start = out->len, new = count;
	struct script_recent *recent = script_recents_take(recents, space, words, count, &new);
	if (!recent)
		new = count;
	for (size_t i = 0; i < new; i++) {
		add_frame(words[i], i == 0, out);
		ends[i] = out->len;
	}
	if (recent)
		script_recent_finish(recent, start, ends, new, out);
	return new;
}

static void check_stack(struct script_recents *recents, uint64_t space, const uint64_t *words, size_t count, struct strbuf *out,
			struct strbuf *plain)
{
	strbuf_clear(plain);
	for (size_t i = 0; i < count; i++)
		add_frame(words[i], i == 0, plain);
	size_t start = out->len;
	add_stack(recents, space, words, count, out);
	assert_string_equal(out->data + start, plain->data);
}

/* Stacks that go down and up again, of several address spaces in turn. */
static void stacks_read_the_same(void **state)
{
	struct script_recents *recents = script_recents_create();
	struct strbuf out = {0}, plain = {0};
	static uint64_t stacks[40][DEPTH];
	size_t depths[40] = {0};
	uint32_t random = 1;
	for (unsigned int i = 0; i < 20000; i++) {
		random = random * 1664525 + 1013904223;
		size_t space = random >> 8 & 1 ? 0 : (random >> 16) % 40, kept = depths[space] ? (random >> 9) % (depths[space] + 1) : 0;
		uint64_t *stack = stacks[space], words[DEPTH];
		size_t depth = kept + (random >> 20) % 6;
		depth = depth > DEPTH ? DEPTH : depth ? depth : 1;
		for (size_t j = kept; j < depth; j++)
			stack[j] = (random >> 12) % 3 + j;
		depths[space] = depth;
		for (size_t j = 0; j < depth; j++)
			words[j] = stack[depth - 1 - j];
		strbuf_clear(&out);
		strbuf_add_str(&out, "before\n");
		check_stack(recents, space, words, depth, &out, &plain);
	}
	strbuf_deinit(&out);
	strbuf_deinit(&plain);
	script_recents_destroy(recents);
}

/* A stack of which most is that before costs only its new lines; one that is the last one again, none. */
static void outer_frames_are_known(void **state)
{
	struct script_recents *recents = script_recents_create();
	struct strbuf out = {0};
	uint64_t words[DEPTH];
	for (size_t i = 0; i < DEPTH; i++)
		words[i] = i;
	assert_int_equal(add_stack(recents, 7, words, DEPTH, &out), DEPTH);
	assert_int_equal(add_stack(recents, 7, words, DEPTH, &out), DEPTH); /* its text is kept now */
	assert_int_equal(add_stack(recents, 7, words, DEPTH, &out), 0);
	words[2] = 100;
	assert_int_equal(add_stack(recents, 7, words, DEPTH, &out), 3);
	assert_int_equal(add_stack(recents, 7, words + 1, DEPTH - 1, &out), 1); /* it returned: another innermost frame */
	assert_int_equal(add_stack(recents, 8, words, DEPTH, &out), DEPTH);
	strbuf_deinit(&out);
	script_recents_destroy(recents);
}

/* Text that is larger than what is kept. */
static void long_lines_are_not_kept(void **state)
{
	struct script_recents *recents = script_recents_create();
	struct strbuf out = {0};
	uint64_t words[DEPTH] = {0};
	for (unsigned int i = 0; i < 3; i++) {
		size_t ends[DEPTH], new;
		struct script_recent *recent = script_recents_take(recents, 1, words, DEPTH, &new);
		assert_int_equal(new, DEPTH);
		strbuf_clear(&out);
		for (size_t j = 0; j < DEPTH; j++) {
			strbuf_add_chars(&out, 'y', 4000);
			ends[j] = out.len;
		}
		if (recent)
			script_recent_finish(recent, 0, ends, new, &out);
		assert_int_equal(out.len, 4000 * DEPTH);
	}
	strbuf_deinit(&out);
	script_recents_destroy(recents);
}

/* Whatever was pushed out: a line that is known is the right one. */
static void lines_are_those_of_their_keys(void **state)
{
	struct script_lines *lines = script_lines_create();
	struct strbuf out = {0}, text = {0};
	size_t known = 0;
	for (unsigned int i = 0; i < 300000; i++) {
		unsigned int number = i % 2 ? i / 2 % 100 : i;
		struct script_line_key key = {.address = number / 4, .shown = number % 2, .file = 1 + number % 4 / 2, .look = 3};
		strbuf_clear(&out);
		strbuf_clear(&text);
		strbuf_printf(&text, "%u", number);
		strbuf_add_chars(&text, 'z', number % 100);
		if (script_lines_add(lines, &key, &out)) {
			known++;
			assert_string_equal(out.data, text.data);
		} else {
			assert_int_equal(out.len, 0);
			script_lines_keep(lines, &key, text.data, text.len);
		}
	}
	assert_true(known > 100000);
	strbuf_clear(&text);
	strbuf_add_chars(&text, 'w', 100000);
	const struct script_line_key key = {.address = 1, .file = 9};
	script_lines_keep(lines, &key, text.data, text.len); /* too long */
	assert_false(script_lines_add(lines, &key, &out));
	strbuf_deinit(&out);
	strbuf_deinit(&text);
	script_lines_destroy(lines);
}

int analysis_script_recent_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_read_the_same),
		cmocka_unit_test(outer_frames_are_known),
		cmocka_unit_test(long_lines_are_not_kept),
		cmocka_unit_test(lines_are_those_of_their_keys),
	};
	return cmocka_run_group_tests_name("analysis/script_recent", tests, NULL, NULL);
}

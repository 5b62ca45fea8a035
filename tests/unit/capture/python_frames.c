/* Names of Python's functions that are wanted while chains are made: files of a few functions each, before the chain that needs them. */
#include "capture/python/python_frames.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct taken {
	unsigned int count, dropped;
	char name[64];
	struct buildid id;
};

static void take(void *context, const char *name, const struct buildid *id, const struct strbuf *image)
{
	struct taken *taken = context;

	assert_true(image->len > 64);
	taken->count++;
	strncpy(taken->name, name, sizeof(taken->name) - 1);
	taken->id = *id;
}

static void drop(void *context, const struct buildid *id)
{
	((struct taken *)context)->dropped++;
}

/* A code of two lines with two instructions each. */
static void add(struct python_frames *frames, uint32_t number, const char *name, uint32_t first_line)
{
	static const uint8_t lines[] = {0x80 | 10 << 3 | 1, 0, 0, 0x80 | 11 << 3 | 1, 0, 0};
	struct user_stacks_python_code code = {.number = number, .first_line = first_line};

	code.name = (struct user_stacks_text){(uint32_t)strlen(name), 1};
	code.file = (struct user_stacks_text){4, 1};
	memcpy(code.name_text, name, strlen(name));
	memcpy(code.file_text, "a.py", 4);
	memcpy(code.lines, lines, sizeof(lines));
	python_frames_add(frames, &code, sizeof(lines));
}

/* Each of another function. */
static void add_many(struct python_frames *frames, uint32_t first, uint32_t count)
{
	char name[16];

	for (uint32_t i = first; i < first + count; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		add(frames, i, name, 10 + i);
	}
}

static uint64_t frame(uint32_t number, uint32_t begun)
{
	return USER_STACKS_PYTHON_MARK | (uint64_t)number << 24 | begun;
}

static void names_are_there_before_chains(void **state)
{
	struct taken taken = {0};
	const struct python_frames_taker taker = {.take = take, .context = &taken};
	struct python_frames *frames = python_frames_create(&taker);
	const uint64_t chain[] = {0x1234, frame(1, 1), frame(1, 3)}, later[] = {frame(2, 1), frame(9, 1), frame(1, 1)};
	uint64_t places[3], again[3];

	add(frames, 1, "f", 10);
	assert_int_equal(python_frames_place(frames, chain, 3, places), 3);
	assert_int_equal(taken.count, 1);
	assert_string_equal(taken.name, "/[python]/1/[python]");
	assert_true(places[0] == 0x1234 && python_frames_is_place(places[1]) && places[2] == places[1] + 1); /* a line on */
	struct map_description first = python_frames_map(frames, python_frames_file_of(frames, places[1]), 5);
	assert_true(places[1] >= first.start && places[2] < first.end && first.pid == 5 && buildid_equal(&first.build_id, &taken.id));

	/* The same function of another process needs no file; of a code that nobody told of there is no frame. */
	add(frames, 3, "f", 10);
	add(frames, 2, "g", 20);
	assert_int_equal(python_frames_place(frames, later, 3, again), 2);
	assert_int_equal(taken.count, 2);
	assert_true(again[1] == places[1]);
	struct map_description second = python_frames_map(frames, python_frames_file_of(frames, again[0]), 5);
	assert_true(again[0] >= second.start && again[0] < second.end && second.start == first.end);
	assert_string_equal(second.name, "/[python]/2/[python]");
	assert_int_equal(python_frames_place(frames, (const uint64_t[]){frame(3, 1)}, 1, again), 1);
	assert_true(again[0] == places[1] && taken.count == 2);
	python_frames_destroy(frames);
}

static void one_file_without_a_taker(void **state)
{
	struct python_frames *frames = python_frames_create(NULL);
	struct strbuf image = {0};
	struct buildid id = {0};
	uint64_t place;

	assert_false(python_frames_make_file(frames, &image, &id));
	add(frames, 1, "f", 10);
	assert_int_equal(python_frames_place(frames, (const uint64_t[]){frame(1, 1)}, 1, &place), 1);
	struct map_description map = python_frames_map(frames, python_frames_file_of(frames, place), 5);
	assert_true(place >= map.start && place < map.end && !map.build_id.size);
	assert_string_equal(map.name, PYTHON_FRAMES_FILE);
	assert_true(python_frames_make_file(frames, &image, &id) && image.len && id.size);
	strbuf_deinit(&image);
	python_frames_destroy(frames);
}

/* Codes are a process's to choose: what is full takes no more of them, and goes on with those that it has. */
static void codes_are_left_out_when_it_is_full(void **state)
{
	struct python_frames *frames = python_frames_create(NULL);
	uint64_t places[4];

	python_frames_limit(frames, 4096);
	add_many(frames, 0, 1000);
	uint64_t left_out = python_frames_left_out(frames), kept = 1000 - left_out;
	assert_true(kept > 4 && kept < 4096 / 64);
	uint32_t last = (uint32_t)kept - 1;
	assert_int_equal(
		python_frames_place(frames, (const uint64_t[]){frame(0, 1), frame(last, 1), frame(last + 1, 1), frame(999, 1)}, 4, places),
		2);
	assert_true(places[0] != places[1]);
	/* A number that is given to another code is no longer the first one's. */
	add(frames, 0, "other", 1);
	assert_int_equal(python_frames_place(frames, (const uint64_t[]){frame(0, 1)}, 1, places), 0);
	assert_int_equal(python_frames_left_out(frames), left_out + 1);
	assert_int_equal(python_frames_books(frames), 0);
	python_frames_destroy(frames);
}

/* What is told of for months goes on: the newest codes have places, those of the book before as well, others have gone with their files. */
static void names_begin_anew_when_it_is_full(void **state)
{
	struct taken taken = {0};
	const struct python_frames_taker taker = {.take = take, .drop = drop, .context = &taken};
	struct python_frames *frames = python_frames_create(&taker);
	struct python_teller teller = {0};
	uint64_t newest, before, place;
	uint32_t first = 0, last = 0; /* of the present book */

	python_frames_limit(frames, 16384);
	for (uint64_t books = 0; books < 6; books = python_frames_books(frames), first = last) {
		while (python_frames_books(frames) == books)
			add_many(frames, last++, 1);
		last--;
		assert_true(last - first > 4 && last - first < 16384 / 64);
		assert_true(python_teller_forgets(&teller, frames) && !python_teller_forgets(&teller, frames));
		assert_int_equal(python_frames_place(frames, (const uint64_t[]){frame(last, 1)}, 1, &newest), 1);
		assert_int_equal(python_frames_place(frames, (const uint64_t[]){frame(last - 1, 1)}, 1, &before), 1);
		struct map_description now = python_frames_map(frames, python_frames_file_of(frames, newest), 5);
		struct map_description then = python_frames_map(frames, python_frames_file_of(frames, before), 5);
		assert_true(newest >= now.start && newest < now.end && before >= then.start && before < then.end);
		assert_true((then.end <= now.start || now.end <= then.start) && buildid_equal(&now.build_id, &taken.id));
	}
	assert_int_equal(python_frames_left_out(frames), 0);
	assert_int_equal(python_frames_place(frames, (const uint64_t[]){frame(0, 1)}, 1, &place), 0);
	assert_true(taken.dropped > 0 && taken.dropped < taken.count);
	python_frames_destroy(frames);
}

static void a_teller_forgets_before_it_is_full(void **state)
{
	struct python_frames *frames = python_frames_create(NULL);
	struct python_teller teller = {0};

	assert_false(python_teller_forgets(&teller, frames));
	teller.codes = USER_STACKS_CODES - 1;
	assert_true(python_teller_forgets(&teller, frames));
	assert_int_equal(teller.codes, 0);
	assert_false(python_teller_forgets(&teller, frames));
	python_frames_destroy(frames);
}

static size_t written_of(struct python_frames *frames, const char *part)
{
	char *text = NULL;
	size_t size;
	FILE *output = open_memstream(&text, &size);

	log_set_output(output);
	python_frames_warn(frames);
	log_set_output(stderr);
	fclose(output);
	assert_true(!size || strstr(text, part));
	free(text);
	return size;
}

static void what_is_left_out_is_told(void **state)
{
	struct python_frames *frames = python_frames_create(NULL);

	assert_int_equal(written_of(NULL, ""), 0);
	add(frames, 0, "f", 10);
	assert_int_equal(written_of(frames, ""), 0);
	python_frames_limit(frames, 1);
	add(frames, 1, "g", 10);
	assert_true(written_of(frames, "names and lines of 1 code objects did not fit into") > 0);
	python_frames_destroy(frames);
}

/* Nor are there more lines: where one is missing it is the function's first. */
static void lines_are_left_out_when_it_is_full(void **state)
{
	struct python_frames *frames = python_frames_create(NULL);
	const uint64_t chain[] = {frame(1, 1), frame(1, 3)};
	uint64_t places[2];

	add(frames, 1, "f", 10);
	python_frames_limit(frames, 1);
	assert_int_equal(python_frames_place(frames, chain, 2, places), 2);
	assert_true(places[0] == places[1]);
	python_frames_destroy(frames);
}

int capture_python_frames_tests(void);
int capture_python_frames_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_there_before_chains),      cmocka_unit_test(one_file_without_a_taker),
		cmocka_unit_test(codes_are_left_out_when_it_is_full), cmocka_unit_test(what_is_left_out_is_told),
		cmocka_unit_test(lines_are_left_out_when_it_is_full), cmocka_unit_test(names_begin_anew_when_it_is_full),
		cmocka_unit_test(a_teller_forgets_before_it_is_full),
	};
	return cmocka_run_group_tests_name("capture/python/python_frames", tests, NULL, NULL);
}

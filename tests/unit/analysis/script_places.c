/* What is remembered of addresses is what was kept of them, however many there are; names are kept once, and within bounds. */
#include "analysis/script/places.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SYMBOLS = 1000, PLACES = 400000, KERNEL = 7 };

static const struct symbol *make_symbols(void)
{
	struct symbol *symbols = mem_zalloc_array(SYMBOLS, sizeof(*symbols));
	for (size_t i = 0; i < SYMBOLS; i++)
		symbols[i].name = mem_printf("function_%zu", i);
	return symbols;
}

static void free_symbols(const struct symbol *symbols)
{
	for (size_t i = 0; i < SYMBOLS; i++)
		free((char *)symbols[i].name);
	free((struct symbol *)symbols);
}

static uint32_t name_of(struct script_places *places, const struct symbol *symbol)
{
	return script_places_name(places, symbol, strlen(symbol->name));
}

static void assert_text(const struct script_places *places, uint32_t name, const char *expected)
{
	size_t length;
	const char *text = script_places_text(places, name, &length);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(text, expected, length);
}

/* Files' addresses and the kernel's. */
static struct script_place place_of(size_t i)
{
	struct script_place place = {.address = i / 3 * 16, .file = (uint32_t)(i % 3 + 1)};
	if (place.file == 3)
		place = (struct script_place){.address = 0xffffffff81000000 + place.address, .file = KERNEL};
	return place;
}

static void found_as_kept(void **state)
{
	struct script_places places;
	const struct symbol *symbols = make_symbols();
	size_t known = 0;
	script_places_init(&places);
	for (unsigned int round = 0; round < 2; round++) {
		for (size_t i = 0; i < PLACES; i++) {
			struct script_place place = place_of(i);
			char expected[32];
			snprintf(expected, sizeof(expected), " function_%zu+0x", i % SYMBOLS);
			if (script_places_find(&places, &place)) {
				known++;
				assert_true(round);
				assert_int_equal(place.offset, i);
				assert_text(&places, place.name, expected);
				continue;
			}
			place.name = name_of(&places, &symbols[i % SYMBOLS]);
			place.offset = (uint32_t)i;
			script_places_keep(&places, &place);
			struct script_place again = place_of(i);
			assert_true(script_places_find(&places, &again));
			assert_int_equal(again.offset, i);
		}
	}
	assert_in_range(known, 1, PLACES - 1);
	assert_int_equal(places.names.len, SYMBOLS);
	script_places_deinit(&places);
	free_symbols(symbols);
}

/* What comes again and again stays, though its set gets many others that come once. */
static void often_stays(void **state)
{
	struct script_places places;
	script_places_init(&places);
	struct script_place often = {.address = 0x1000, .file = 1, .name = SCRIPT_NAME_NONE, .offset = 5}, found = often;
	script_places_keep(&places, &often);
	for (size_t i = 1; i < 3000000; i++) {
		struct script_place once = {.address = 0x1000 + i * 8, .file = 1};
		script_places_keep(&places, &once);
		if (i % 4096 == 0)
			assert_true(script_places_find(&places, &found));
	}
	assert_int_equal(found.offset, 5);
	script_places_deinit(&places);
}

/* Addresses and files beyond what has room in a key are asked for each time. */
static void unusual_ones_are_not_kept(void **state)
{
	struct script_places places;
	struct script_place unusual[] = {{.address = (uint64_t)1 << 48, .file = 1}, {.address = 0x1000, .file = 1 << 16}};
	script_places_init(&places);
	for (size_t i = 0; i < 2; i++) {
		script_places_keep(&places, &unusual[i]);
		assert_false(script_places_find(&places, &unusual[i]));
	}
	script_places_deinit(&places);
}

static void names_are_bounded(void **state)
{
	enum { LONG = SCRIPT_NAME_LIMIT };
	struct script_places places;
	struct symbol *symbols = mem_zalloc_array(20000, sizeof(*symbols));
	struct script_place place = {.address = 0x1000, .file = 1};
	char name[LONG + 1] = {0};
	memset(name, 'n', LONG);
	script_places_init(&places);
	script_places_keep(&places, &place);
	for (size_t i = 0; i < 20000; i++) {
		symbols[i].name = name;
		assert_int_equal(name_of(&places, &symbols[i]), name_of(&places, &symbols[i]));
		script_places_bound(&places);
		assert_in_range(places.text.len, 1, (4 << 20) + LONG + 64);
	}
	assert_false(script_places_find(&places, &place)); /* its name is gone */
	assert_text(&places, SCRIPT_NAME_NONE, " [unknown]");
	script_places_deinit(&places);
	free(symbols);
}

int analysis_script_places_tests(void);
int analysis_script_places_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(found_as_kept), cmocka_unit_test(often_stays),
					   cmocka_unit_test(unusual_ones_are_not_kept), cmocka_unit_test(names_are_bounded)};
	return cmocka_run_group_tests_name("analysis/script_places", tests, NULL, NULL);
}

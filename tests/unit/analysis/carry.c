/* How much of a recording what it carries may be. */
#include "analysis/carry/carry_internal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Compressed to half, an eighth of a recording of more than 50 MB; as much as can be read back, at most. */
static void room(void **state)
{
	enum { MB = 1 << 20, SMALL = 8 * MB };
	assert_int_equal(carry_options_for(0).wanted, SMALL);
	assert_int_equal(carry_options_for(SMALL).wanted, SMALL);
	assert_int_equal(carry_options_for(100 * MB).wanted, 25 * MB);
	assert_int_equal(carry_options_for((uint64_t)1 << 40).wanted, FEATURE_CARRIED_MAX);
	assert_int_equal(carry_options_for((uint64_t)1 << 40).most, FEATURE_CARRIED_MAX);
}

/* An address that stands alone is known for a byte, but in code that is carried, where each instruction has its point, for the instruction;
 * both in virtual addresses, of which code only has those of its file. */
static void ends_in_code(void **state)
{
	enum { LOADED = 0x400000, CODE = 0x100, SIZE = 0x20 };
	const struct carry_point points[] = {
		{LOADED + CODE - 8, 1, false},	  {LOADED + CODE - 7, 0, true},	       /* before it */
		{LOADED + CODE + 4, 2, false},	  {LOADED + CODE + 5, 0, true},	       /* in it */
		{LOADED + CODE + SIZE, 1, false}, {LOADED + CODE + SIZE + 1, 0, true}, /* behind it */
	};
	static const struct carried_place expected[] = {
		{LOADED + CODE - 8, 1},	   {LOADED + CODE - 7, 0},	  {LOADED + CODE + 4, 2},
		{LOADED + CODE + SIZE, 1}, {LOADED + CODE + SIZE + 1, 0},
	};
	struct symtab_segment segment = {0, 0x1000, LOADED};
	const struct symtab symtab = {.segments = &segment, .segment_count = 1};
	struct carry carry = {0};
	struct carry_file file = {.symtab = &symtab};
	struct carried_file carried = {0};
	vec_push(&file.codes, (struct carried_code){.dso_addr = CODE, .size = SIZE});
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		vec_push(&file.points, points[i]);
	carry_places_settle(&carry, &file, &carried);
	assert_int_equal(carried.place_count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < carried.place_count; i++) {
		assert_int_equal(carried.places[i].vaddr, expected[i].vaddr);
		assert_int_equal(carried.places[i].answer, expected[i].answer);
	}
	vec_deinit(&file.codes);
	vec_deinit(&file.points);
	arena_deinit(&carry.arena);
}

int analysis_carry_tests(void);
int analysis_carry_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(room), cmocka_unit_test(ends_in_code)};
	return cmocka_run_group_tests_name("analysis/carry", tests, NULL, NULL);
}

/* perf-PID.map files: the later of overlapping lines is what is there. */
#include "symbol/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct symtab *parse(const char *text)
{
	char *copy = strdup(text);
	struct symbol_builder builder = {0};
	perf_map_parse(copy, strlen(copy), &builder);
	struct symtab *symtab = symtab_build(&builder, 0, NULL);
	free(copy);
	return symtab;
}

static const char *name_at(const struct symtab *symtab, uint64_t address)
{
	const struct symbol *symbol = symtab_find(symtab, address);
	return symbol ? symbol->name : "";
}

static void lines(void **state)
{
	struct symtab *symtab = parse("1000 20 a name with blanks\n"
				      "no line\n"
				      "1020 10\n"
				      "0x1040 8 prefixed\n"
				      "1060 0 unsized\n"
				      "2000 10 last");
	assert_string_equal(name_at(symtab, 0x101f), "a name with blanks");
	assert_string_equal(name_at(symtab, 0x1020), "");
	assert_string_equal(name_at(symtab, 0x1047), "prefixed");
	assert_string_equal(name_at(symtab, 0x1fff), "unsized");
	assert_string_equal(name_at(symtab, 0x200f), "last");
	assert_string_equal(name_at(symtab, 0x2010), "");
	symtab_destroy(symtab);
}

/* Against a model: one array with the last line's number for each address. */
static void newest_wins(void **state)
{
	enum { PLACES = 400, LINES = 60 };
	srandom(1);
	for (int round = 0; round < 300; round++) {
		char text[LINES * 24], *at = text;
		int owner[PLACES] = {0};
		for (int line = 1; line <= LINES; line++) {
			int start = (int)(random() % (PLACES - 50)), size = 1 + (int)(random() % 49);
			at += sprintf(at, "%x %x f%d\n", 0x1000 + start, size, line);
			for (int i = start; i < start + size; i++)
				owner[i] = line;
		}
		struct symtab *symtab = parse(text);
		for (int i = 0; i < PLACES; i++) {
			char expected[16] = "";
			if (owner[i])
				snprintf(expected, sizeof(expected), "f%d", owner[i]);
			assert_string_equal(name_at(symtab, 0x1000 + (uint64_t)i), expected);
		}
		symtab_destroy(symtab);
	}
}

int symbol_perf_map_tests(void);
int symbol_perf_map_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(newest_wins)};
	return cmocka_run_group_tests_name("symbol/perf_map", tests, NULL, NULL);
}

/* A list that was read ahead is the one that would be read now; each list is given away once. */
#include "symbol/kernel/kallsyms_ahead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void write_list(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_address(struct error *error, struct kallsyms *list, const char *name, uint64_t expected)
{
	uint64_t address;
	assert_null(error);
	assert_true(kallsyms_address(list, name, &address));
	assert_int_equal(address, expected);
	kallsyms_close(list);
}

static void test_taken_once(void **state)
{
	char path[] = "/tmp/kallsyms-XXXXXX", other[] = "/tmp/kallsyms-XXXXXX";
	struct kallsyms list = {0};
	close(mkstemp(path));
	close(mkstemp(other));
	write_list(path, "ffffffff81000000 T _text\nffffffff81000100 T walk\n");
	write_list(other, "ffffffff81000000 T _text\nffffffff81000200 T walk\n");
	struct kallsyms_ahead *ahead = kallsyms_ahead_start(path);
	assert_non_null(ahead);
	assert_address(kallsyms_ahead_take(ahead, other, &list), &list, "walk", 0xffffffff81000200);
	assert_address(kallsyms_ahead_take(ahead, path, &list), &list, "walk", 0xffffffff81000100);
	write_list(path, "ffffffff81000000 T _text\nffffffff81000300 T walk\n");
	assert_address(kallsyms_ahead_take(ahead, path, &list), &list, "walk", 0xffffffff81000300);
	assert_address(kallsyms_ahead_take(NULL, path, &list), &list, "walk", 0xffffffff81000300);
	kallsyms_ahead_destroy(ahead);
	kallsyms_ahead_destroy(kallsyms_ahead_start(path)); /* not wanted after all */
	unlink(path);
	unlink(other);
}

static void test_not_there(void **state)
{
	struct kallsyms list = {0};
	struct kallsyms_ahead *ahead = kallsyms_ahead_start("/nowhere/kallsyms");
	struct error *error = kallsyms_ahead_take(ahead, "/nowhere/kallsyms", &list);
	assert_non_null(error);
	error_free(error);
	kallsyms_ahead_destroy(ahead);
	kallsyms_ahead_destroy(kallsyms_ahead_start("/nowhere/kallsyms"));
	kallsyms_ahead_destroy(NULL);
}

int symbol_kallsyms_ahead_tests(void);
int symbol_kallsyms_ahead_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_taken_once), cmocka_unit_test(test_not_there)};
	return cmocka_run_group_tests_name("symbol/kallsyms_ahead", tests, NULL, NULL);
}

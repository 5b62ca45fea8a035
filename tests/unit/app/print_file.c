/* Files that a screen prints, by the process that writes them. */
#include "app/print_file.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { SMALL = 1000, LARGE = 200000 };
static char folder[] = "/tmp/print-file-XXXXXX";

static int enter(void **state)
{
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	return chdir("/") || rmdir(folder);
}

/* The process gets to write no larger file, as on a disk that is full. */
static struct print_file *prepare(rlim_t most)
{
	struct rlimit usual;
	void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
	const struct rlimit small = {most < usual.rlim_max ? most : usual.rlim_max, usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	struct print_file *prints = print_file_prepare("printed");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
	signal(SIGXFSZ, before);
	assert_non_null(prints);
	return prints;
}

static void numbers_and_what_has_no_room(void **state)
{
	static char text[LARGE];
	struct strbuf note = {0};
	memset(text, 'x', sizeof(text));
	struct print_file *prints = prepare(LARGE - 1);
	assert_int_equal(print_file_write(prints, PRINT_TEXT, text, SMALL), 0);
	assert_int_equal(print_file_write(prints, PRINT_TEXT, text, LARGE), -EFBIG);
	assert_int_not_equal(access("printed.1", F_OK), 0);
	assert_int_equal(print_file_write(prints, PRINT_TEXT, text, SMALL), 1);
	print_file_tell(prints, PRINT_CSV, text, LARGE, &note);
	assert_string_equal(strbuf_str(&note), "nothing was written: File too large");
	assert_int_not_equal(access("printed.0.csv", F_OK), 0);
	strbuf_deinit(&note);
	print_file_end(prints);
	assert_int_equal(unlink("printed.0"), 0);
	assert_int_equal(unlink("printed.1"), 0);
}

static void expect_file(struct print_file *prints, const char *function, const char *path)
{
	struct strbuf note = {0}, wanted = {0};
	print_file_tell_function(prints, function, "x", 1, &note);
	strbuf_printf(&wanted, "written to %s", path);
	assert_string_equal(strbuf_str(&note), strbuf_str(&wanted));
	strbuf_deinit(&note);
	strbuf_deinit(&wanted);
	assert_int_equal(unlink(path), 0);
}

/* Whatever a function is called, its file is in this folder, is seen, and is a new one. */
static void names_of_functions(void **state)
{
	struct print_file *prints = prepare(LARGE);
	struct strbuf note = {0};
	expect_file(prints, "ns::sum<int>(long)", "ns::sum_int__long_.annotation");
	expect_file(prints, "../../etc/passwd", "_._.._etc_passwd.annotation");
	expect_file(prints, ".\x1b[31m\n-rf é", "___31m_-rf___.annotation");
	print_file_tell_function(prints, "main", "first", 5, &note);
	expect_file(prints, "main", "main.annotation.1");
	assert_int_equal(unlink("main.annotation"), 0);
	strbuf_deinit(&note);
	print_file_end(prints);
}

int app_print_file_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_what_has_no_room),
		cmocka_unit_test(names_of_functions),
	};
	return cmocka_run_group_tests_name("app/print_file", tests, enter, leave);
}

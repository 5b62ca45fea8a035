/* Where tracefs is, on fake trees. What only other users can be refused is tested with the program (tests/live/test_doctor.py). */
#include "kernel/tracing/tracefs.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Makes the directories of `path` below `root`. */
static void make(const char *root, const char *path)
{
	cleanup_free char *copy = mem_printf("%s%s", root, path);

	for (char *slash = copy + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(copy, 0755);
		*slash = '/';
	}
	mkdir(copy, 0755);
}

static void check(const char *const *paths, enum tracefs_state expected, const char *found, const char *words)
{
	char root[] = "/tmp/test-tracefs-XXXXXX";
	cleanup_free char *path = NULL, *remove = NULL, *by_find = NULL;

	assert_non_null(mkdtemp(root));
	for (; *paths; paths++)
		make(root, *paths);
	assert_int_equal(tracefs_look(root, &path), expected);
	if (found)
		assert_string_equal(path + strlen(root), found);
	else
		assert_null(path);
	struct error *error = tracefs_find(root, &by_find);
	assert_int_equal(error != NULL, words != NULL);
	if (error) {
		assert_non_null(strstr(error_message(error), words));
		error_free(error);
	}
	remove = mem_printf("rm -r %s", root);
	assert_int_equal(system(remove), 0);
}

static void places(void **state)
{
	check((const char *const[]){"/sys/kernel/tracing/events", NULL}, TRACEFS_READABLE, "/sys/kernel/tracing", NULL);
	check((const char *const[]){"/sys/kernel/tracing", "/sys/kernel/debug/tracing/events", NULL}, TRACEFS_READABLE,
	      "/sys/kernel/debug/tracing", NULL);
	check((const char *const[]){"/sys/kernel/tracing", NULL}, TRACEFS_NOT_MOUNTED, NULL, "sudo mount -t tracefs");
	check((const char *const[]){"/sys/kernel", NULL}, TRACEFS_ABSENT, NULL, "CONFIG_TRACING");
}

int kernel_tracefs_tests(void);
int kernel_tracefs_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(places)};
	return cmocka_run_group_tests_name("kernel/tracefs", tests, NULL, NULL);
}

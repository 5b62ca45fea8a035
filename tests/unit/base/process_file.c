/* Paths as a process with another root directory means them: links stay inside, and whose they are is told. */
#include "base/files/process_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { OTHER = 65534 };

struct place {
	char root[64];
};

static void put(const struct place *place, const char *name, const char *target)
{
	char path[256];
	snprintf(path, sizeof(path), "%s%s", place->root, name);
	if (target) {
		assert_int_equal(symlink(target, path), 0);
		return;
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(name, file);
	fclose(file);
}

static int set_up(void **state)
{
	static const char *const directories[] = {"/tmp", "/usr", "/usr/lib"};
	struct place *place = calloc(1, sizeof(*place));
	char path[256];
	strcpy(place->root, "/tmp/process-root-XXXXXX");
	assert_non_null(mkdtemp(place->root));
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", place->root, directories[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	put(place, "/usr/lib/x.so.1", NULL);
	put(place, "/usr/lib/x.so", "x.so.1");
	put(place, "/lib", "usr/lib");
	put(place, "/lib64", "/usr/lib");
	put(place, "/tmp/up", "../../../../../../usr/lib/x.so.1");
	put(place, "/tmp/outside", "/etc/hostname");
	put(place, "/tmp/circle", "circle");
	put(place, "/tmp/foreign", "/lib64/x.so");
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;
	static const char *const names[] = {"/tmp/foreign",  "/tmp/circle",	"/tmp/outside", "/tmp/up", "/lib64", "/lib",
					    "/usr/lib/x.so", "/usr/lib/x.so.1", "/usr/lib",	"/usr",	   "/tmp",   ""};
	char path[256];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", place->root, names[i]);
		remove(path);
	}
	free(place);
	return 0;
}

static void links_stay_inside(void **state)
{
	static const char *const names[][2] = {
		{"/usr/lib/x.so.1", "/usr/lib/x.so.1"}, {"/lib/x.so", "/usr/lib/x.so.1"},
		{"/lib64/x.so", "/usr/lib/x.so.1"},	{"/tmp/up", "/usr/lib/x.so.1"},
		{"/tmp/outside", "/etc/hostname"},	{"//tmp/./../lib//x.so", "/usr/lib/x.so.1"},
		{"/tmp/foreign", "/usr/lib/x.so.1"},	{"/../../../etc/passwd", "/etc/passwd"},
		{"/not/there", "/not/there"},
	};
	const struct place *place = *state;
	size_t root = strlen(place->root);
	bool foreign = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = process_root_path(place->root, names[i][0], &foreign);
		assert_memory_equal(path, place->root, root);
		assert_string_equal(path + root, names[i][1]);
		assert_false(foreign);
		free(path);
	}
	assert_null(process_root_path(place->root, "/tmp/circle", NULL));
}

static int open_file(const struct place *place, const char *name, bool any_owner, bool *ret_foreign)
{
	*ret_foreign = false;
	return process_file_open(place->root, name, any_owner, ret_foreign);
}

static void files_are_found_inside(void **state)
{
	const struct place *place = *state;
	char text[64] = "";
	bool foreign;
	int fd = open_file(place, "/lib64/x.so", false, &foreign);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_string_equal(text, "/usr/lib/x.so.1");
	/* There is one of that name here, but not there. */
	assert_int_equal(access("/etc/passwd", F_OK), 0);
	put(place, "/tmp/passwd", "/etc/passwd");
	assert_int_equal(open_file(place, "/tmp/passwd", false, &foreign), -1);
	char path[256];
	snprintf(path, sizeof(path), "%s/tmp/passwd", place->root);
	unlink(path);
}

static void links_of_others(void **state)
{
	const struct place *place = *state;
	char path[256];
	bool foreign;
	if (geteuid())
		skip();
	snprintf(path, sizeof(path), "%s/tmp/foreign", place->root);
	assert_int_equal(lchown(path, OTHER, OTHER), 0);
	assert_int_equal(open_file(place, "/tmp/foreign", false, &foreign), -1);
	assert_true(foreign);
	int fd = open_file(place, "/tmp/foreign", true, &foreign);
	assert_true(fd >= 0);
	close(fd);
}

int base_process_file_tests(void);
int base_process_file_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(links_stay_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_are_found_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_of_others, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

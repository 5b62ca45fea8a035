/* Files that a program needs: those that the dynamic linker tells (ldd), and what its cache says. */
#include "symbol/elf/needed.h"

#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct found {
	VEC(char *) paths;
};

static void note(void *context, const char *path, const struct elf_file *elf)
{
	struct found *found = context;
	char *real = realpath(path, NULL);

	assert_non_null(real);
	for (size_t i = 0; i < found->paths.len; i++)
		assert_string_not_equal(found->paths.data[i], real);
	vec_push(&found->paths, real);
}

static bool has(const struct found *found, const char *path)
{
	char *real = realpath(path, NULL);
	bool any = false;

	for (size_t i = 0; real && i < found->paths.len; i++)
		any |= !strcmp(found->paths.data[i], real);
	free(real);
	return any;
}

static void forget(struct found *found)
{
	for (size_t i = 0; i < found->paths.len; i++)
		free(found->paths.data[i]);
	vec_deinit(&found->paths);
}

/* Ours is linked to several libraries, which need others. */
static void as_the_dynamic_linker(void **state)
{
	struct found found = {0};
	char program[4096], command[4200], line[4096], path[4096];
	size_t told = 0;
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	assert_true(length > 0);
	program[length] = '\0';
	snprintf(command, sizeof(command), "ldd '%s' 2>&1", program);
	FILE *ldd = popen(command, "r");
	if (!ldd)
		skip();
	needed_visit(program, note, &found);
	while (fgets(line, sizeof(line), ldd)) {
		const char *slash = strchr(line, '/');
		if (!slash || sscanf(slash, "%4095s", path) != 1)
			continue;
		if (!has(&found, path))
			print_message("%s is missing\n", path);
		assert_true(has(&found, path));
		told++;
	}
	pclose(ldd);
	if (told) /* and the program; some C libraries have no such tool, and programs may be static */
		assert_int_equal(found.paths.len, told + 1);
	assert_true(has(&found, program));
	forget(&found);
}

static void scripts(void **state)
{
	char folder[] = "/tmp/needed.XXXXXX", script[64];
	struct found found = {0};

	assert_non_null(mkdtemp(folder));
	snprintf(script, sizeof(script), "%s/script", folder);
	FILE *file = fopen(script, "w");
	fputs("#! /usr/bin/env sh\nexit\n", file);
	fclose(file);
	chmod(script, 0755);
	needed_visit(script, note, &found);
	assert_true(has(&found, "/bin/sh"));
	forget(&found);
	file = fopen(script, "w");
	fprintf(file, "#!%s\n", script); /* itself */
	fclose(file);
	needed_visit(script, note, &found);
	needed_visit("/nowhere/at/all", note, &found);
	needed_visit("no such program", note, &found);
	needed_visit(folder, note, &found);
	assert_int_equal(found.paths.len, 0);
	unlink(script);
	rmdir(folder);
}

static void put(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void cache(void **state)
{
	enum { HEAD = 48, ENTRY = 24, TEXTS = HEAD + 3 * ENTRY };
	static const char texts[] = "liba.so\0/a\0/b\0";
	uint8_t bytes[TEXTS + sizeof(texts)] = "glibc-ld.so.cache1.1";

	memcpy(bytes + TEXTS, texts, sizeof(texts));
	put(bytes + 20, 3);
	for (uint32_t i = 0; i < 3; i++) {
		put(bytes + HEAD + i * ENTRY + 4, TEXTS);
		put(bytes + HEAD + i * ENTRY + 8, TEXTS + 8 + 3 * i);
	}
	assert_string_equal(needed_in_cache(bytes, sizeof(bytes), "liba.so", 0), "/a");
	assert_string_equal(needed_in_cache(bytes, sizeof(bytes), "liba.so", 1), "/b");
	assert_null(needed_in_cache(bytes, sizeof(bytes), "liba.so", 3));
	assert_null(needed_in_cache(bytes, sizeof(bytes), "liba.so.1", 0));
	assert_null(needed_in_cache(bytes, sizeof(bytes), "lib", 0));
	/* Whatever else it says leads nowhere. */
	put(bytes + HEAD + 8, sizeof(bytes));
	put(bytes + HEAD + ENTRY + 4, UINT32_MAX);
	assert_string_equal(needed_in_cache(bytes, sizeof(bytes), "liba.so", 0), "");
	put(bytes + 20, UINT32_MAX);
	assert_null(needed_in_cache(bytes, sizeof(bytes), "liba.so", 0));
	assert_null(needed_in_cache(bytes, HEAD - 1, "liba.so", 0));
}

int symbol_needed_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_dynamic_linker), cmocka_unit_test(scripts), cmocka_unit_test(cache)};
	return cmocka_run_group_tests_name("symbol/needed", tests, NULL, NULL);
}

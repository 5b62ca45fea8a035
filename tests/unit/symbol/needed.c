/* Files that a program needs: those that the dynamic linker tells (ldd), and what its cache says. */
#include "symbol/elf/needed.h"

#include "base/vec.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
	needed_visit(program, UINT64_MAX, note, &found);
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
	needed_visit(script, UINT64_MAX, note, &found);
	assert_true(has(&found, "/bin/sh"));
	forget(&found);
	file = fopen(script, "w");
	fprintf(file, "#!%s\n", script); /* itself */
	fclose(file);
	needed_visit(script, UINT64_MAX, note, &found);
	needed_visit("/nowhere/at/all", UINT64_MAX, note, &found);
	needed_visit("no such program", UINT64_MAX, note, &found);
	needed_visit(folder, UINT64_MAX, note, &found);
	assert_int_equal(found.paths.len, 0);
	unlink(script);
	rmdir(folder);
}

/* ---- programs as their makers like ---- */

struct made {
	char folder[32], program[64], library[64]; /* lib.so in the same folder */
};

enum { NAMES_OF_SECTIONS = 17 };
static const char section_names[NAMES_OF_SECTIONS + 1] = "\0.dynamic\0.names";

/* A program with a dynamic section, and what this is linked to: texts one behind the other. */
static void write_program(const char *path, const Elf64_Dyn *dynamic, size_t count, const char *texts, size_t size)
{
	const uint64_t at = sizeof(Elf64_Ehdr), texts_at = at + count * sizeof(*dynamic), names_at = texts_at + size;
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_DYN,
				   .e_machine = EM_X86_64,
				   .e_version = EV_CURRENT,
				   .e_shoff = names_at + sizeof(section_names),
				   .e_ehsize = sizeof(header),
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = 4,
				   .e_shstrndx = 3};
	const Elf64_Shdr sections[] = {
		{0},
		{.sh_name = 1, .sh_type = SHT_DYNAMIC, .sh_offset = at, .sh_size = count * sizeof(*dynamic), .sh_link = 2},
		{.sh_name = 10, .sh_type = SHT_STRTAB, .sh_offset = texts_at, .sh_size = size},
		{.sh_name = 10, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof(section_names)}};
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fwrite(&header, sizeof(header), 1, file);
	fwrite(dynamic, sizeof(*dynamic), count, file);
	fwrite(texts, 1, size, file);
	fwrite(section_names, sizeof(section_names), 1, file);
	fwrite(sections, sizeof(sections), 1, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0755), 0);
}

/* It needs lib.so, and has it looked for in its own folder. */
static void make_program(struct made *ret)
{
	static const char texts[] = "\0lib.so\0$ORIGIN";
	static const Elf64_Dyn needs[] = {{DT_NEEDED, {1}}, {DT_RUNPATH, {8}}, {DT_NULL, {0}}}, nothing[] = {{DT_NULL, {0}}};

	strcpy(ret->folder, "/tmp/needed.XXXXXX");
	assert_non_null(mkdtemp(ret->folder));
	snprintf(ret->program, sizeof(ret->program), "%s/program", ret->folder);
	snprintf(ret->library, sizeof(ret->library), "%s/lib.so", ret->folder);
	write_program(ret->program, needs, 3, texts, sizeof(texts));
	write_program(ret->library, nothing, 1, texts, sizeof(texts));
}

static void remove_program(const struct made *made)
{
	unlink(made->program);
	unlink(made->library);
	rmdir(made->folder);
}

static void called_by_a_link(void **state)
{
	struct made made;
	struct found found = {0};
	char link[] = "/tmp/needed-link.XXXXXX", path[64];

	make_program(&made);
	assert_non_null(mkdtemp(link));
	snprintf(path, sizeof(path), "%s/name", link);
	assert_int_equal(symlink(made.program, path), 0);
	needed_visit(path, UINT64_MAX, note, &found);
	assert_true(has(&found, made.program) && has(&found, made.library));
	forget(&found);
	unlink(path);
	rmdir(link);
	remove_program(&made);
}

/* What has the name of a library and is none is left as it is: opening it could block, reading it take something away. */
static void no_regular_file(void **state)
{
	struct made made;
	struct found found = {0};
	uint8_t header[sizeof(Elf64_Ehdr)];
	int left = 0;

	make_program(&made);
	FILE *library = fopen(made.library, "r");
	assert_int_equal(fread(header, 1, sizeof(header), library), sizeof(header));
	fclose(library);
	assert_int_equal(unlink(made.library), 0);
	assert_int_equal(mkfifo(made.library, 0600), 0);
	int fifo = open(made.library, O_RDWR | O_CLOEXEC);
	assert_int_equal(write(fifo, header, sizeof(header)), sizeof(header));
	needed_visit(made.program, UINT64_MAX, note, &found);
	assert_int_equal(found.paths.len, 1);
	assert_int_equal(ioctl(fifo, FIONREAD, &left), 0);
	assert_int_equal(left, sizeof(header));
	close(fifo);
	forget(&found);
	remove_program(&made);
}

/* The kernel inflates no program, and what it would become may be large. */
static void compressed(void **state)
{
	struct made made;
	struct found found = {0};
	char command[512];

	make_program(&made);
	snprintf(command, sizeof(command), "gzip -c %s >%s && cat %s >%s", made.program, made.library, made.library, made.program);
	assert_int_equal(system(command), 0);
	needed_visit(made.program, UINT64_MAX, note, &found);
	assert_int_equal(found.paths.len, 0);
	remove_program(&made);
}

/* However many libraries it names: there is an end of time, and each takes little of it. */
static void more_than_anybody_needs(void **state)
{
	enum { COUNT = 1 << 16, LONG = 1 << 20 };
	struct made made;
	struct found found = {0};
	static Elf64_Dyn needs[COUNT];
	static char texts[LONG];

	make_program(&made);
	memset(texts, 'a', sizeof(texts) - 1);
	for (size_t i = 0; i < COUNT; i++)
		needs[i] = (Elf64_Dyn){DT_NEEDED, {i}};
	write_program(made.program, needs, COUNT, texts, sizeof(texts));
	needed_visit(made.program, UINT64_MAX, note, &found);
	assert_int_equal(found.paths.len, 1);
	forget(&found);
	remove_program(&made);
	make_program(&made);
	needed_visit(made.program, 0, note, &found);
	assert_int_equal(found.paths.len, 1);
	forget(&found);
	remove_program(&made);
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_dynamic_linker),
					   cmocka_unit_test(scripts),
					   cmocka_unit_test(called_by_a_link),
					   cmocka_unit_test(no_regular_file),
					   cmocka_unit_test(compressed),
					   cmocka_unit_test(more_than_anybody_needs),
					   cmocka_unit_test(cache)};
	return cmocka_run_group_tests_name("symbol/needed", tests, NULL, NULL);
}

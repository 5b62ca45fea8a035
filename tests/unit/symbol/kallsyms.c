/* The kernel's list of symbols, line by line: blocks end within lines, and the last line may have no end. */
#include "symbol/kernel/kallsyms.h"
#include "base/strbuf.h"
#include "symbol/resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES = 20000, FIRST = 0x1000 };

struct seen {
	size_t lines, wrong, most; /* most: then no more is wanted; 0 = all */
};

static bool look(void *context, uint64_t address, char type, const char *name, const char *module)
{
	struct seen *seen = context;
	char expected[64];
	snprintf(expected, sizeof(expected), "function_%zu", seen->lines);
	bool in_module = seen->lines % 3 == 2;
	seen->wrong += address != FIRST + seen->lines || type != 't' || strcmp(name, expected) || !module == in_module ||
		       (module && strcmp(module, "ext4"));
	return ++seen->lines != seen->most;
}

static void make_list(char *path)
{
	FILE *file = fdopen(mkstemp(path), "w");
	for (size_t i = 0; i < LINES; i++)
		fprintf(file, "%016zx t function_%zu%s%s", FIRST + i, i, i % 3 == 2 ? "\t[ext4]" : "", i + 1 < LINES ? "\n" : "");
	fclose(file);
}

static void lines(void **state)
{
	char path[] = "/tmp/kallsyms-XXXXXX";
	struct seen all = {0}, some = {.most = 7};
	uint64_t address = 0;
	make_list(path);
	assert_null(kallsyms_visit(path, look, &all));
	assert_int_equal(all.lines, LINES);
	assert_int_equal(all.wrong, 0);
	assert_null(kallsyms_visit(path, look, &some));
	assert_int_equal(some.lines, 7);
	assert_true(kallsyms_read_address(path, "function_19998", &address));
	assert_int_equal(address, FIRST + 19998);
	assert_false(kallsyms_read_address(path, "function_2", &address)); /* a module's */
	assert_false(kallsyms_read_address(path, "function", &address));
	assert_false(kallsyms_read_address("/nowhere/kallsyms", "function_0", &address));
	unlink(path);
}

/* The table outlives the list's text. */
static void check_raw_names(struct symtab *symtab)
{
	assert_int_equal(symtab->count, LINES - LINES / 3);
	for (size_t i = 0; i < symtab->count; i++) {
		char *name = symtab_raw_name(symtab, i);
		assert_string_equal(name, symtab_at(symtab, i)->name);
		free(name);
	}
	symtab_destroy(symtab);
}

/* A whole list, which is longer than what is parsed at a time. */
static void whole_list(void **state)
{
	char path[] = "/tmp/kallsyms-XXXXXX";
	struct kallsyms list;
	struct symbol_builder kernel = {0}, module = {0};
	make_list(path);
	assert_null(kallsyms_open(path, &list));
	assert_false(list.restricted);
	assert_int_equal(list.modules.len, 2);
	kallsyms_pick(&list, "ext4", 0, &module);
	kallsyms_give(&list, 0, &kernel);
	assert_null(list.text);
	assert_int_equal(kernel.symbols.len + module.symbols.len, LINES);
	assert_int_equal(module.symbols.len, LINES / 3);
	for (size_t i = 0; i < LINES; i++) {
		const struct symbol *symbol = i % 3 == 2 ? &module.symbols.data[i / 3] : &kernel.symbols.data[i - i / 3];
		char expected[64];
		snprintf(expected, sizeof(expected), "function_%zu", i);
		assert_string_equal(symbol->name, expected);
		assert_int_equal(symbol->start, FIRST + i);
	}
	symbol_builder_deinit(&module);
	check_raw_names(symtab_build(&kernel, SYMBOLS_FULL, path));
	unlink(path);
}

/* A line that fills a block, and what has not the form of a symbol, are passed over. */
static void odd_lines(void **state)
{
	enum { LONG = 200000 };
	char path[] = "/tmp/kallsyms-XXXXXX";
	uint64_t address = 0;
	FILE *file = fdopen(mkstemp(path), "w");
	fputs("\n0000000000001000 t\nno address\n", file);
	for (size_t i = 0; i < LONG; i++)
		fputc('x', file);
	fputs("\n0000000000002000 T _text\n", file);
	fclose(file);
	assert_true(kallsyms_read_address(path, "_text", &address));
	assert_int_equal(address, 0x2000);
	unlink(path);
}

int symbol_kallsyms_tests(void);
int symbol_kallsyms_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(whole_list), cmocka_unit_test(odd_lines)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

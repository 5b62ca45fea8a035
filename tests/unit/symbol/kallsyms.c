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

/* ---- packed ---- */

enum { MANY = 30000, TEXT = 0x100000 };

/* A kernel of many functions, some with aliases, data, and a module behind it. */
static void make_kernel(char *path, const char *last)
{
	FILE *file = fdopen(mkstemp(path), "w");
	fprintf(file, "0000000000000000 A absolute\n%016x T _text\n%016x T _stext\n", TEXT, TEXT);
	for (unsigned int i = 1; i < MANY; i++) {
		unsigned int address = TEXT + i * 32 + (i / 1000 << 16); /* some are larger than most */
		fprintf(file, "%016x %c a_function_of_the_kernel_%u\n", address, i % 5 ? 't' : 'W', i);
		if (i % 7 == 0)
			fprintf(file, "%016x T alias_%u\n%016x r constant_%u\n", address, i, address + 5, i);
	}
	fprintf(file, "%016x D _etext\n%016x t in_module\t[ext4]\n%s", 0x10000000, 0x20000000, last);
	fclose(file);
}

static void check_equal(const struct symtab *packed, const struct symtab *whole)
{
	assert_int_equal(packed->count, whole->count);
	for (size_t i = 0; i < whole->count; i++) {
		const struct symbol *a = symtab_at(packed, i), *b = symtab_at(whole, i);
		assert_int_equal(a->start, b->start);
		assert_int_equal(a->end, b->end);
		assert_int_equal(a->binding, b->binding);
		assert_int_equal(a->type, b->type);
		assert_string_equal(a->name, b->name);
		assert_ptr_equal(symtab_find(packed, b->start), a);
		assert_ptr_equal(symtab_find(packed, b->end - 1), a);
	}
}

/* The same table as from the whole list, in less memory, moved as well. */
static void packed_table(void **state)
{
	enum { MOVED = 0x5000 };
	char path[] = "/tmp/kallsyms-XXXXXX";
	struct kallsyms list = {0};
	struct symbol_builder builder = {0};
	make_kernel(path, "");
	assert_null(kallsyms_open(path, &list));
	kallsyms_give(&list, MOVED, &builder);
	struct symtab *whole = symtab_build(&builder, SYMBOLS_FULL, path);
	struct symtab *packed = kallsyms_packed(path, "_text", TEXT + MOVED, SYMBOLS_FULL);
	assert_non_null(packed);
	assert_int_equal(packed->source, SYMBOLS_FULL);
	check_equal(packed, whole);
	assert_ptr_equal(symtab_by_name(packed, "a_function_of_the_kernel_29998"),
			 symtab_find(packed, symtab_by_name(whole, "a_function_of_the_kernel_29998")->start));
	assert_null(symtab_by_name(packed, "in_module"));
	char *raw = symtab_raw_name(packed, 0);
	assert_string_equal(raw, "_stext");
	free(raw);
	symtab_destroy(whole);
	symtab_destroy(packed);
	unlink(path);
}

/* A kernel whose list isn't in order, is hidden or cut off: whoever asks reads the whole list. */
static void lists_that_are_not_packed(void **state)
{
	static const char *const lines[] = {"0000000000100020 t before\n", "0000000000100020 t inside\t[ext4]\n",
					    "0000000030000000 t behind_modules\n"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char path[] = "/tmp/kallsyms-XXXXXX";
		make_kernel(path, lines[i]);
		assert_null(kallsyms_packed(path, "_text", 0, SYMBOLS_FULL));
		unlink(path);
	}
	char path[] = "/tmp/kallsyms-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	fputs("0000000000000000 T _text\n0000000000000000 T function\n0000000000000000 T _etext\n", file);
	fclose(file);
	assert_null(kallsyms_packed(path, "_text", 0, SYMBOLS_FULL));
	file = fopen(path, "w");
	fputs("0000000000100000 T _text\n0000000000100010 T function\n", file);
	fclose(file);
	assert_null(kallsyms_packed(path, "_text", 0, SYMBOLS_FULL));
	unlink(path);
	assert_null(kallsyms_packed("/nowhere/kallsyms", "_text", 0, SYMBOLS_FULL));
}

int symbol_kallsyms_tests(void);
int symbol_kallsyms_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(whole_list), cmocka_unit_test(odd_lines),
					   cmocka_unit_test(packed_table), cmocka_unit_test(lists_that_are_not_packed)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

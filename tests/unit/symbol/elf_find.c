/* Symbols by name: those that the hash table leads to are those that are in the table. */
#include "symbol/elf/elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The C library: thousands of symbols, some names of several versions. */
static void open_library(struct elf_file *ret)
{
	Dl_info info;
	assert_true(dladdr((const void *)(uintptr_t)qsort, &info));
	assert_null(elf_open(info.dli_fname, ret));
	assert_non_null(elf_section(ret, ".gnu.hash"));
}

static void same_as_in_the_table(void **state)
{
	struct elf_file elf;
	struct elf_symbol each, found;
	open_library(&elf);
	const struct elf_section *table = elf_section(&elf, ".dynsym");
	uint64_t defined = 0;
	for (uint64_t i = 0; elf_symbol_at(&elf, table, i, &each); i++) {
		if (each.section == SHN_UNDEF)
			continue;
		assert_true(elf_symbol_find(&elf, each.name, &found));
		assert_string_equal(found.name, each.name);
		assert_int_not_equal(found.section, SHN_UNDEF);
		defined++;
	}
	assert_true(defined > 1000);
	assert_false(elf_symbol_find(&elf, "no_such_function_of_a_library", &found));
	elf_close(&elf);
}

/* Whatever its numbers are, nothing outside the section is read, and it ends. */
static void hash_tables_that_lie(void **state)
{
	struct elf_file elf;
	struct elf_symbol found;
	open_library(&elf);
	uint8_t *bytes = malloc(elf.size);
	uint32_t number;
	memcpy(bytes, elf.data, elf.size);
	const struct elf_section hashes = *elf_section(&elf, ".gnu.hash");
	const uint8_t *own = elf.data;
	elf.data = bytes;
	static const uint32_t lies[] = {0, 1, 0x7fffffff, 0x80000000, UINT32_MAX};
	for (uint64_t at = 0; at < 3; at++)
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			memcpy(&number, bytes + hashes.offset + 4 * at, 4);
			memcpy(bytes + hashes.offset + 4 * at, &lies[i], 4);
			if (elf_symbol_find(&elf, "qsort", &found))
				assert_string_equal(found.name, "qsort");
			memcpy(bytes + hashes.offset + 4 * at, &number, 4);
		}
	assert_true(elf_symbol_find(&elf, "qsort", &found));
	elf.data = own;
	free(bytes);
	elf_close(&elf);
}

int symbol_elf_find_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_in_the_table), cmocka_unit_test(hash_tables_that_lie)};
	return cmocka_run_group_tests_name("symbol/elf_find", tests, NULL, NULL);
}

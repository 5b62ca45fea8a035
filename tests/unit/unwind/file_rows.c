/* All rows of a file, part by part: at each address those that are found one by one. */
#include "unwind/file_rows.h"

#include "unwind/tables.h"

#include "base/search.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ALIGN = 256, PART = 0x3100 };

static const char *find_library(void)
{
	static const char *const paths[] = {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/aarch64-linux-gnu/libc.so.6",
					    "/lib64/libc.so.6"};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!access(paths[i], R_OK))
			return paths[i];
	return NULL;
}

static struct walk_row row_at(const struct file_rows *rows, uint64_t place)
{
	size_t after = partition_point(i, rows->rows.len, rows->rows.data[i].start <= place);
	assert_true(after);
	return rows->rows.data[after - 1];
}

static struct walk_row expect(const struct unwind_tables *tables, uint64_t address)
{
	struct cfi_row row;
	for (int i = 0; i < UNWIND_SECTIONS; i++)
		if (cfi_section_row(&tables->sections[i], address, &row))
			return walk_row_of(&tables->sections[i], &row);
	for (uint32_t i = 0; i < tables->runtime.section_count; i++) {
		const struct elf_section *section = &tables->runtime.sections[i];
		if (unwind_section_is_known(section) && address >= section->addr && address < section->addr + section->size)
			return (struct walk_row){.base = WALK_OTHER};
	}
	return (struct walk_row){.base = WALK_NONE};
}

/* Places from one that is looked at to the next. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEP = 17 };
#else
enum { STEP = 1 };
#endif

static void check_segment(const struct unwind_tables *tables, const struct file_rows *rows, const struct elf_segment *segment)
{
	for (uint64_t place = segment->offset; place < segment->offset + segment->filesz; place += STEP) {
		struct walk_row row = row_at(rows, place), expected = expect(tables, place - segment->offset + segment->vaddr);
		expected.start = row.start;
		/* A gap is one row, which says as much of its stubs as of what lies beside them. */
		if (row.base == WALK_OTHER && expected.base == WALK_NONE)
			expected.base = WALK_OTHER;
		assert_memory_equal(&row, &expected, sizeof(row));
	}
}

static void same_as_one_by_one(void **state)
{
	const char *path = find_library();
	if (!path) {
		print_message("no C library at its usual places\n");
		skip();
	}
	struct machine *machine = machine_create();
	struct symbol_options options = {.same_machine = true};
	struct resolver *resolver = resolver_create(machine, &options);
	struct file_rows rows = {0};
	machine_add_map(machine, &(struct map_description){.pid = 1, .tid = 1, .start = 0x10000, .end = 0x20000, .name = path}, 0);
	struct dso *dso = machine->dsos.data[0];
	uint64_t begin, end;
	assert_true(file_rows_extent(resolver, dso, ALIGN, &begin, &end));
	for (; begin < end; begin += PART) {
		size_t before = rows.rows.len;
		file_rows_collect(resolver, dso, begin, begin + PART < end ? begin + PART : end, &rows);
		assert_int_equal(rows.rows.data[before].start, begin);
	}
	assert_true(rows.rows.len > 1000);
	assert_int_equal(rows.rows.data[0].start % ALIGN, 0);
	for (size_t i = 1; i < rows.rows.len; i++)
		assert_true(rows.rows.data[i - 1].start < rows.rows.data[i].start);
	const struct unwind_tables *tables = resolver_attachment(resolver, dso, unwind_tables_make, unwind_tables_destroy);
	for (uint32_t i = 0; i < tables->runtime.segment_count; i++)
		if (tables->runtime.segments[i].type == PT_LOAD && tables->runtime.segments[i].flags & PF_X)
			check_segment(tables, &rows, &tables->runtime.segments[i]);
	file_rows_deinit(&rows);
	resolver_destroy(resolver);
	machine_destroy(machine);
}

static void nothing_of_what_is_not_there(void **state)
{
	struct machine *machine = machine_create();
	struct symbol_options options = {.same_machine = true};
	struct resolver *resolver = resolver_create(machine, &options);
	uint64_t begin, end;
	machine_add_map(machine, &(struct map_description){.pid = 1, .tid = 1, .start = 0x10000, .end = 0x20000, .name = "/nothing"}, 0);
	assert_false(file_rows_extent(resolver, machine->dsos.data[0], ALIGN, &begin, &end));
	resolver_destroy(resolver);
	machine_destroy(machine);
}

int unwind_file_rows_tests(void);
int unwind_file_rows_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_one_by_one), cmocka_unit_test(nothing_of_what_is_not_there)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

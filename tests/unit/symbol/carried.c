/* What a recording carries, written and read; and damaged. */
#include "symbol/carried/carried.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t BYTES[] = {0x55, 0x48, 0x89, 0xe5, 0xc3};

static struct carried_function functions[] = {{"inner", "a.h", 7}, {NULL, "a.c", 12}};
static struct carried_answer answers[] = {{functions, 2}, {functions + 1, 1}};
static struct carried_place places[] = {{0x1100, 1}, {0x1104, 2}, {0x1105, 0}};
static struct carried_name names[] = {{.address = 0x1200, .offset = 4, .name = "data"},
				      {.address = 0x1101, .relocation = true, .name = "later"}};
static struct carried_symbol symbols[] = {{0x100, 5, "outer", 1, 2, false, false}, {0x200, 8, "_Z1fv", 0, 2, true, true}};
static struct carried_segment segments[] = {{0, 0x1000, 0x1000}};
static struct carried_piece pieces[] = {{0, BYTES, 2}, {7, BYTES, 5}};
static struct carried_section sections[] = {{".eh_frame", 0x3000, 12, pieces, 2}};
static struct carried_load loads[] = {{0x1000, 0x2000, 0x500, 5}};
static struct carried_code codes[] = {{.dso_addr = 0x100,
				       .address = 0x1100,
				       .bytes = BYTES,
				       .size = 5,
				       .section = ".text",
				       .section_index = 3,
				       .names = names,
				       .name_count = 2}};
static struct carried_file files[] = {
	{.name = "/bin/a",
	 .inode = 5,
	 .source = 1,
	 .of_count = 90,
	 .has_functions = true,
	 .code_arch = "aarch64",
	 .symbols = symbols,
	 .segments = segments,
	 .unwind = {true, false, 62, 0x1100, loads, sections, 1, 1},
	 .answers = answers,
	 .places = places,
	 .codes = codes,
	 .symbol_count = 2,
	 .segment_count = 1,
	 .answer_count = 2,
	 .place_count = 3,
	 .code_count = 1},
	{.name = "/bin/b", .build_id = {{1, 2}, 2}},
	{.name = "/bin/b", .build_id = {{1, 3}, 2}, .path = "/bin/other"},
};
static struct carried_line lines[] = {{7, ""}, {12, "	return x;"}};
static struct carried_source sources[] = {{"a.c", lines, 2}};

static void encode(struct strbuf *out)
{
	struct carried carried = {.files = files, .file_count = 3, .sources = sources, .source_count = 1};
	carried_encode(&carried, out);
}

static void what_is_written_is_read(void **state)
{
	struct strbuf bytes = {0};
	encode(&bytes);
	struct carried *carried = carried_decode(bytes.data, bytes.len);
	assert_non_null(carried);
	const struct carried_file *file = carried_find(carried, &(struct dso){.name = "/bin/a", .inode = 5, .build_id = {{9}, 1}});
	assert_non_null(file);
	assert_int_equal(file->symbol_count, 2);
	assert_string_equal(file->symbols[1].name, "_Z1fv");
	assert_true(file->symbols[1].mangled && file->symbols[1].ifunc_alias && !file->symbols[0].mangled);
	assert_int_equal(file->segments[0].vaddr, 0x1000);
	assert_string_equal(file->code_arch, "aarch64");
	assert_true(file->unwind.is_64bit && !file->unwind.big_endian && file->unwind.machine == 62 && file->unwind.entry == 0x1100);
	assert_int_equal(file->unwind.loads[0].vaddr, 0x2000);
	assert_string_equal(file->unwind.sections[0].name, ".eh_frame");
	assert_int_equal(file->unwind.sections[0].pieces[1].offset, 7);
	assert_memory_equal(file->unwind.sections[0].pieces[1].bytes, BYTES, 5);
	assert_int_equal(file->of_count, 90);
	assert_null(carried_functions(file, 0x10ff));
	const struct carried_answer *answer = carried_functions(file, 0x1103);
	assert_int_equal(answer->count, 2);
	assert_string_equal(answer->functions[0].name, "inner");
	assert_null(answer->functions[1].name);
	assert_int_equal(carried_functions(file, 0x1104)->count, 1);
	assert_null(carried_functions(file, 0x1105));
	assert_null(carried_code_at(file, 0xff));
	assert_null(carried_code_at(file, 0x105));
	const struct carried_code *code = carried_code_at(file, 0x104);
	assert_memory_equal(code->bytes, BYTES, sizeof(BYTES));
	assert_string_equal(code->section, ".text");
	assert_string_equal(carried_code_name(code, 0x1200)->name, "data");
	assert_null(carried_code_name(code, 0x1101));
	assert_string_equal(carried_code_relocation(code, 0x1100, 4)->name, "later");
	assert_null(carried_code_relocation(code, 0x1100, 1));
	assert_string_equal(carried_source_line(carried, "a.c", 12), "	return x;");
	assert_string_equal(carried_source_line(carried, "a.c", 7), "");
	assert_null(carried_source_line(carried, "a.c", 8));
	assert_null(carried_source_line(carried, "b.c", 7));
	carried_destroy(carried);
	strbuf_deinit(&bytes);
}

static void files_of_one_name(void **state)
{
	struct strbuf bytes = {0};
	encode(&bytes);
	struct carried *carried = carried_decode(bytes.data, bytes.len);
	assert_string_equal(carried_find(carried, &(struct dso){.name = "/bin/b", .build_id = {{1, 3}, 2}})->path, "/bin/other");
	assert_null(carried_find(carried, &(struct dso){.name = "/bin/b", .build_id = {{1, 2}, 2}})->path);
	assert_null(carried_find(carried, &(struct dso){.name = "/bin/b", .build_id = {{1, 4}, 2}}));
	assert_non_null(carried_find(carried, &(struct dso){.name = "/bin/b"}));
	assert_null(carried_find(carried, &(struct dso){.name = "/bin/b", .inode = 1}));
	assert_null(carried_find(carried, &(struct dso){.name = "/bin/c"}));
	carried_destroy(carried);
	assert_null(carried_find(NULL, &(struct dso){.name = "/bin/b"}));
	strbuf_deinit(&bytes);
}

/* A section whose pieces lie outside of it, and one that is larger than all may be. */
static void impossible_sections(void **state)
{
	static const uint64_t sizes[] = {11, (uint64_t)CARRIED_UNWIND_MAX + 1, UINT64_MAX};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct strbuf bytes = {0};
		sections[0].size = sizes[i];
		encode(&bytes);
		assert_null(carried_decode(bytes.data, bytes.len));
		strbuf_deinit(&bytes);
	}
	sections[0].size = 12;
}

/* Few bytes can say large sections, which are zeros but for their pieces: all files together have a bound. */
static void many_large_sections(void **state)
{
	enum { FITTING = CARRIED_UNWIND_ALL / CARRIED_UNWIND_MAX };
	static struct carried_file large[FITTING + 1];
	struct carried_section section = {".debug_frame", 0, CARRIED_UNWIND_MAX, NULL, 0};
	for (size_t count = FITTING; count <= FITTING + 1; count++) {
		struct carried carried = {.files = large, .file_count = count};
		struct strbuf bytes = {0};
		large[0] = (struct carried_file){.name = "/bin/a", .unwind = {.sections = &section, .section_count = 1}};
		for (size_t i = 1; i < count; i++)
			large[i] = large[0];
		carried_encode(&carried, &bytes);
		struct carried *read = carried_decode(bytes.data, bytes.len);
		assert_int_equal(read != NULL, count == FITTING);
		carried_destroy(read);
		strbuf_deinit(&bytes);
	}
}

/* Each address that is looked up goes through all segments. */
static void many_segments(void **state)
{
	static struct carried_segment list[CARRIED_PARTS_MAX + 1];
	for (size_t count = CARRIED_PARTS_MAX; count <= CARRIED_PARTS_MAX + 1; count++) {
		struct carried_file file = {.name = "/bin/a", .segments = list, .segment_count = count};
		struct carried carried = {.files = &file, .file_count = 1};
		struct strbuf bytes = {0};
		carried_encode(&carried, &bytes);
		struct carried *read = carried_decode(bytes.data, bytes.len);
		assert_int_equal(read != NULL, count == CARRIED_PARTS_MAX);
		carried_destroy(read);
		strbuf_deinit(&bytes);
	}
}

/* Nobody writes an answer that says nothing: a list of them would take more memory than its bytes may. */
static void empty_answers(void **state)
{
	struct carried_answer empty = {functions, 0};
	struct carried_file file = {.name = "/bin/a", .answers = &empty, .answer_count = 1};
	struct carried carried = {.files = &file, .file_count = 1};
	for (empty.count = 0; empty.count < 2; empty.count++) {
		struct strbuf bytes = {0};
		carried_encode(&carried, &bytes);
		struct carried *read = carried_decode(bytes.data, bytes.len);
		assert_int_equal(read != NULL, empty.count);
		carried_destroy(read);
		strbuf_deinit(&bytes);
	}
}

/* Cut anywhere it is none; with any byte changed it is one that can be looked at, or none. */
static void damaged(void **state)
{
	struct strbuf bytes = {0};
	encode(&bytes);
	for (size_t i = 0; i < bytes.len; i++) {
		assert_null(carried_decode(bytes.data, i));
		char before = bytes.data[i];
		for (unsigned int change = 1; change < 256; change <<= 1) {
			bytes.data[i] = (char)(before ^ change);
			struct carried *carried = carried_decode(bytes.data, bytes.len);
			for (size_t k = 0; carried && k < carried->file_count; k++)
				for (uint64_t address = 0; address < 0x2000; address += 0x40) {
					const struct carried_answer *answer = carried_functions(&carried->files[k], address);
					assert_true(!answer || answer->count <= 256);
					carried_code_at(&carried->files[k], address);
				}
			carried_destroy(carried);
		}
		bytes.data[i] = before;
	}
	strbuf_deinit(&bytes);
}

/* Entries that say nothing: in memory each takes twelve times its bytes in the table. */
static void many_empty_pieces(void **state)
{
	enum { COUNT = 200000 };
	static struct carried_piece none[COUNT];
	struct carried_section section = {".eh_frame", 0x3000, 12, none, COUNT};
	struct carried_file file = {.name = "/bin/a", .unwind = {.sections = &section, .section_count = 1}};
	struct carried carried = {.files = &file, .file_count = 1};
	(void)state;
	for (size_t count = COUNT; count; count -= COUNT / 2) {
		struct strbuf out = {0};
		section.piece_count = count;
		carried_encode(&carried, &out);
		struct carried *read = carried_decode(out.data, out.len);
		assert_int_equal(read != NULL, count < COUNT);
		carried_destroy(read);
		strbuf_deinit(&out);
	}
}

int symbol_carried_tests(void);
int symbol_carried_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(files_of_one_name),	  cmocka_unit_test(damaged),
		cmocka_unit_test(impossible_sections),	   cmocka_unit_test(many_large_sections), cmocka_unit_test(empty_answers),
		cmocka_unit_test(many_segments),	   cmocka_unit_test(many_empty_pieces),
	};
	return cmocka_run_group_tests_name("symbol/carried", tests, NULL, NULL);
}

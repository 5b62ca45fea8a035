/* Programs of Go: functions, names and rules from the table of their runtime, in each of its forms, and from one that is damaged. Real
 * programs are in tests/live/test_record_auto.py. */
#include "unwind/go_frames.h"

#include "symbol/elf/go_table.h"
#include "unwind/cfi.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	TEXT = 0x1000,
	NAMES = 0x80,
	NUMBERS = 0x100,
	FUNCTIONS = 0x140,
	SAID = 0x80 /* of each function, from FUNCTIONS on */,
	SIZE = 0x240
};

struct form {
	uint32_t magic;
	unsigned int words; /* before the places of parts */
	size_t entry;	    /* bytes of an address */
	unsigned int flags;
};
static const struct form forms[] = {{0xfffffffa, 2, 8, 33}, {0xfffffff0, 3, 4, 33}, {0xfffffff1, 3, 4, 37}};

struct program {
	uint8_t bytes[SIZE];
	struct elf_section sections[3];
	struct elf_file elf;
};

static void put(struct program *program, size_t at, uint64_t value, size_t size)
{
	uint32_t half = (uint32_t)value;

	if (size == sizeof(value))
		memcpy(program->bytes + at, &value, size);
	else
		memcpy(program->bytes + at, &half, sizeof(half));
}

/* Two functions of 64 bytes: main.first, whose stack pointer moves by 24 from byte 4 to 60, and runtime.last, which nobody calls. */
static void make(struct program *program, const struct form *form, uint16_t machine)
{
	static const uint8_t numbers[] = {0, 2, 4, 48, 56, 47, 4, 0, 2, 64, 0}; /* 0 for 4, +24 for 56, -24 for 4, end; 0 for 64, end */
	const uint64_t parts[] = {NAMES, 0, 0, NUMBERS, FUNCTIONS}, base = form->entry == 8 ? TEXT : 0;

	memset(program, 0, sizeof(*program));
	put(program, 0, form->magic, 4);
	program->bytes[6] = 1;
	program->bytes[7] = 8;
	put(program, 8, 2, 8);
	if (form->words == 3)
		put(program, 8 + 2 * 8, TEXT, 8);
	for (size_t i = 0; i < 5; i++)
		put(program, 8 + (form->words + i) * 8, parts[i], 8);
	memcpy(program->bytes + NAMES, "\0main.first\0runtime.last", 25);
	memcpy(program->bytes + NUMBERS, numbers, sizeof(numbers));
	for (size_t i = 0; i < 3; i++)
		put(program, FUNCTIONS + i * 2 * form->entry, base + i * 64, form->entry);
	for (size_t i = 0; i < 2; i++) {
		size_t said = SAID + i * 0x40, behind = FUNCTIONS + said + form->entry;
		put(program, FUNCTIONS + (i * 2 + 1) * form->entry, said, form->entry);
		put(program, behind, i ? 12 : 1, 4);
		put(program, behind + 12, i ? 8 : 1, 4);
		program->bytes[behind + form->flags] = (uint8_t)i;
	}
	program->sections[0].name = "";
	program->sections[1] = (struct elf_section){.name = ".gopclntab", .type = SHT_PROGBITS, .addr = 0x5000, .size = SIZE};
	program->sections[2] = (struct elf_section){.name = ".text", .type = SHT_PROGBITS, .addr = TEXT, .size = 128};
	program->elf = (struct elf_file){.data = program->bytes,
					 .size = SIZE,
					 .is_64bit = true,
					 .machine = machine,
					 .sections = program->sections,
					 .section_count = 3};
}

static void tells_functions(void **state)
{
	struct go_function function;
	struct program program;
	struct go_table table;

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		make(&program, &forms[i], EM_X86_64);
		assert_true(go_table_open(&program.elf, &table));
		assert_int_equal(table.count, 2);
		assert_true(go_table_function(&table, 0, &function));
		assert_string_equal(function.name, "main.first");
		assert_true(function.start == TEXT && function.end == TEXT + 64 && !function.outermost);
		assert_true(go_table_function(&table, 1, &function));
		assert_string_equal(function.name, "runtime.last");
		assert_true(function.start == TEXT + 64 && function.end == TEXT + 128 && function.outermost);
		assert_false(go_table_function(&table, 2, &function));
	}
}

/* Since Go 1.26 the table doesn't say where the text is. */
static void finds_text(void **state)
{
	struct go_function function;
	struct program program;
	struct go_table table;

	(void)state;
	make(&program, &forms[2], EM_X86_64);
	put(&program, 8 + 2 * 8, 0, 8);
	assert_true(go_table_open(&program.elf, &table));
	assert_true(go_table_function(&table, 0, &function) && function.start == TEXT);
	program.sections[1].name = ".data"; /* others aren't looked through */
	assert_false(go_table_open(&program.elf, &table));
}

/* -1: at the place that the link register has, -2: there is none, else: below the canonical frame address. */
static int return_place(const struct cfi_row *row)
{
	for (int i = 0; i < row->count; i++)
		if (row->rules[i].reg == row->return_register)
			return row->rules[i].kind == CFI_AT_OFFSET ? -row->rules[i].value : -2;
	return -1;
}

static void check_row(const struct cfi_section *frames, uint64_t address, int cfa, int place)
{
	struct cfi_row row;

	assert_true(cfi_section_row(frames, address, &row));
	assert_int_equal(row.cfa_kind, CFI_IS_OFFSET);
	assert_int_equal(row.cfa_value, cfa);
	assert_int_equal(return_place(&row), place);
}

static void makes_rows(void **state)
{
	static const struct {
		uint16_t machine;
		int cfa, leaf, last;
	} cases[] = {{EM_X86_64, 8, 8, 8}, {EM_AARCH64, 0, -1, -2}};
	struct cfi_section frames;
	struct program program;
	size_t size;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		make(&program, &forms[2], cases[i].machine);
		uint8_t *data = go_frames_make(&program.elf, &size);
		assert_non_null(data);
		cfi_section_init(&frames, &program.elf, data, size, 0, false);
		assert_int_equal(frames.count, 2);
		check_row(&frames, TEXT, cases[i].cfa, cases[i].leaf);
		check_row(&frames, TEXT + 3, cases[i].cfa, cases[i].leaf);
		check_row(&frames, TEXT + 4, cases[i].cfa + 24, cases[i].cfa ? 8 : 24);
		check_row(&frames, TEXT + 60, cases[i].cfa, cases[i].leaf);
		check_row(&frames, TEXT + 64, cases[i].cfa, cases[i].last);
		cfi_section_deinit(&frames);
		free(data);
	}
}

/* With each byte changed, and of each length: nothing outside is read. */
static void survives_damage(void **state)
{
	struct program program;
	size_t size;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		for (int change = 1; change < 0x100; change = change * 2 + 1) {
			make(&program, &forms[2], EM_X86_64);
			program.bytes[i] ^= (uint8_t)change;
			free(go_frames_make(&program.elf, &size));
		}
	for (size_t i = 0; i < SIZE; i++) {
		make(&program, &forms[2], EM_X86_64);
		uint8_t *exact = malloc(i + 1);
		memcpy(exact, program.bytes, i);
		program.elf.data = exact;
		program.elf.size = program.sections[1].size = i;
		free(go_frames_make(&program.elf, &size));
		free(exact);
	}
}

int unwind_go_frames_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_functions),
		cmocka_unit_test(finds_text),
		cmocka_unit_test(makes_rows),
		cmocka_unit_test(survives_damage),
	};
	return cmocka_run_group_tests_name("frames of Go", tests, NULL, NULL);
}

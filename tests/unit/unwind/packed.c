/* Packed rows: all of the C library's, against the interpreter; and the end of a function, where rules are out of date. */
#include "unwind/packed.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* push %rbp; mov %rsp,%rbp; push %rbx; …; pop %rbx; pop %rbp; ret, as gcc describes it. A CIE, then an FDE for 0x1000..0x1020. */
static const uint8_t frame[] = {
	20,   0,    0, 0,    0,	 0, 0, 0,    1,	   'z',	 'R',  0, 1, 0x78, 16, 1, 0x04, /* absolute 8-byte addresses are DW_EH_PE_udata8 = 4
											 */
	0x0c, 7,    8, 0x90, 1,	 0, 0,							/* CFA = rsp + 8, return address at CFA - 8 */
	44,   0,    0, 0,    28, 0, 0, 0,    0,	   0x10, 0,    0, 0, 0,	   0,  0, 0x20, 0,
	0,    0,    0, 0,    0,	 0, 0, 0x41, 0x0e, 16,	 0x86, 2, /* 0x1001: CFA = rsp + 16, rbp at CFA - 16 */
	0x43, 0x0d, 6,						  /* 0x1004: CFA = rbp + 16 */
	0x41, 0x83, 3,						  /* 0x1005: rbx at CFA - 24 */
	0x4a, 0x0c, 7, 8,					  /* 0x100f: CFA = rsp + 8: both are popped, which nothing says */
	0,    0,    0, 0,    0,	 0, 0, 0,    0,	   0,	 0,    0,
};

/* Addresses from one that is looked at to the next. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEP = 51 };
#else
enum { STEP = 3 };
#endif

static void functions_end(void **state)
{
	const struct elf_file elf = {.is_64bit = true, .machine = EM_X86_64};
	struct cfi_section section;
	struct cfi_row row;
	cfi_section_init(&section, &elf, frame, sizeof(frame), 0, true);
	assert_int_equal(section.count, 1);

	struct packed_row packed = packed_row_at(&section, 0x1000);
	assert_int_equal(packed.base, PACKED_SP);
	assert_int_equal(packed.cfa * PACKED_UNIT, 8);
	assert_int_equal(packed.ip * PACKED_UNIT, -8);
	assert_int_equal(packed.fp, PACKED_SAME);

	packed = packed_row_at(&section, 0x1008);
	assert_int_equal(packed.base, PACKED_FP);
	assert_int_equal(packed.cfa * PACKED_UNIT, 16);
	assert_int_equal(packed.fp * PACKED_UNIT, -16);

	packed = packed_row_at(&section, 0x100f);
	assert_int_equal(packed.base, PACKED_SP);
	assert_int_equal(packed.fp, PACKED_SAME);
	assert_true(cfi_section_row(&section, 0x100f, &row));
	assert_int_equal(row.popped, 1 << 3 | 1 << 6);

	assert_int_equal(packed_row_at(&section, 0xfff).base, PACKED_NONE);
	assert_int_equal(packed_row_at(&section, 0x1020).base, PACKED_NONE);
	cfi_section_deinit(&section);
}

/* A function that saves a register below the stack pointer and never moves that: there it is, and nowhere else. */
static void red_zone(void **state)
{
	const struct elf_file elf = {.is_64bit = true, .machine = EM_X86_64};
	struct cfi_section section;
	uint8_t bytes[sizeof(frame)];
	memcpy(bytes, frame, sizeof(frame));
	memcpy(bytes + 49, "\x41\x86\x02\0\0\0\0\0\0\0\0\0\0\0\0", 15); /* 0x1001: rbp at CFA - 16, CFA still rsp + 8 */
	cfi_section_init(&section, &elf, bytes, sizeof(bytes), 0, true);
	assert_int_equal(packed_row_at(&section, 0x1008).fp * PACKED_UNIT, -16);
	cfi_section_deinit(&section);
}

/* As Go describes functions of arm64: the caller's stack pointer is said to be the CFA. Where it isn't, a packed row can't tell. */
static void stack_pointer_has_a_rule(void **state)
{
	enum { STACK_POINTER = 20 }; /* what it is said to be */
	uint8_t go[] = {
		20,   0,  0, 0, 0xff, 0xff, 0xff, 0xff, 3,    0,    1,	0x7c, 30, /* what leads back is in x30 */
		12,   31, 0, 8, 30,   0x14, 31,	  0,	0,    0,    0,		  /* CFA = sp, x30 is as it is, sp = CFA + 0 */
		28,   0,  0, 0, 0,    0,    0,	  0,	0,    0x10, 0,	0,    0,  0, 0, 0,
		0x20, 0,  0, 0, 0,    0,    0,	  0,	0x44, 0x0e, 32, 0x9e, 8,  0, 0, 0, /* 0x1004: CFA = sp + 32, x30 at CFA - 32 */
	};
	const struct elf_file elf = {.is_64bit = true, .machine = EM_AARCH64};
	struct cfi_section section;
	cfi_section_init(&section, &elf, go, sizeof(go), 0, false);
	struct packed_row packed = packed_row_at(&section, 0x1000);
	assert_int_equal(packed.base, PACKED_SP);
	assert_int_equal(packed.ip, PACKED_SAME);
	packed = packed_row_at(&section, 0x1008);
	assert_int_equal(packed.base, PACKED_SP);
	assert_int_equal(packed.cfa * PACKED_UNIT, 32);
	assert_int_equal(packed.ip * PACKED_UNIT, -32);
	cfi_section_deinit(&section);

	go[STACK_POINTER] = 4; /* sp = CFA - 16 */
	cfi_section_init(&section, &elf, go, sizeof(go), 0, false);
	assert_int_equal(packed_row_at(&section, 0x1008).base, PACKED_OTHER);
	cfi_section_deinit(&section);
}

static void same_as_interpreted(void **state)
{
	static const char *const paths[] = {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/aarch64-linux-gnu/libc.so.6",
					    "/lib64/libc.so.6"};
	struct elf_file elf = {0};
	struct cfi_section section;
	struct cfi_row row;
	size_t packed_rows = 0, others = 0;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !elf.data; i++)
		error_free(elf_open(paths[i], &elf));
	const struct elf_section *found = elf.data ? elf_section(&elf, ".eh_frame") : NULL;
	if (!found) {
		print_message("no C library at its usual places\n");
		skip();
	}
	cfi_section_init(&section, &elf, elf_section_data(&elf, found), found->size, found->addr, true);
	for (size_t i = 0; i < section.count; i++) {
		const struct cfi_entry entry = cfi_section_at(&section, i);
		for (uint64_t address = entry.start; address < cfi_entry_end(&section, &entry); address += STEP) {
			struct cfi_entry covers;
			if (!cfi_section_entry(&section, address, &covers) || covers.number != i)
				continue;
			struct packed_row packed = packed_row_at(&section, address);
			assert_true(cfi_section_row(&section, address, &row));
			struct packed_row expected = packed_row_of(&section.numbers, &row);
			expected.start = packed.start;
			assert_memory_equal(&packed, &expected, sizeof(packed));
			packed_rows++;
			others += packed.base == PACKED_OTHER;
		}
	}
	print_message("%zu addresses, %zu rows that don't fit\n", packed_rows, others);
	assert_true(others * 20 < packed_rows);
	cfi_section_deinit(&section);
	elf_close(&elf);
}

int unwind_packed_tests(void);
int unwind_packed_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(functions_end), cmocka_unit_test(red_zone),
					   cmocka_unit_test(stack_pointer_has_a_rule), cmocka_unit_test(same_as_interpreted)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

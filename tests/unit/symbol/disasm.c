/* Instructions: text, length, kind and target. What is expected is what binutils' objdump says of the same bytes. */
#include "symbol/code/disasm.h"

#include "base/error.h"
#include "base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct expected {
	const char *bytes;
	unsigned int size;
	enum instruction_kind kind;
	uint64_t target; /* 0 = none; all code is at 0x401000 */
	const char *text;
};

static void check(const char *arch, enum disasm_syntax syntax, const struct expected *expected, size_t count)
{
	struct disasm *disasm;
	assert_null(disasm_open(arch, syntax, &disasm));
	for (size_t i = 0; i < count; i++) {
		struct code code = {.bytes = (const uint8_t *)expected[i].bytes, .size = expected[i].size, .address = 0x401000};
		struct instruction instruction;
		struct strbuf text = {0};
		assert_true(disasm_next(disasm, &code, &instruction));
		assert_int_equal(instruction.size, expected[i].size);
		assert_int_equal(instruction.kind, expected[i].kind);
		assert_int_equal(instruction.has_target, expected[i].target != 0);
		assert_int_equal(instruction.target, expected[i].target);
		instruction_add_text(&instruction, &text);
		assert_string_equal(strbuf_str(&text), expected[i].text);
		strbuf_deinit(&text);
		assert_false(disasm_next(disasm, &code, &instruction));
	}
	disasm_close(disasm);
}

static void x86(void **state)
{
	static const struct expected att[] = {
		{"\xc3", 1, INSTRUCTION_RETURN, 0, "retq"},
		{"\xe8\0\0\0\0", 5, INSTRUCTION_CALL, 0x401005, "callq 0x401005"},
		{"\xff\x15\xaa\xbb\0\0", 6, INSTRUCTION_CALL, 0, "callq *0xbbaa(%rip)"},
		{"\xff\xe0", 2, INSTRUCTION_JUMP, 0, "jmpq *%rax"},
		{"\xeb\x05", 2, INSTRUCTION_JUMP, 0x401007, "jmp 0x401007"},
		{"\x74\xfe", 2, INSTRUCTION_BRANCH, 0x401000, "je 0x401000"},
		{"\xe2\xfe", 2, INSTRUCTION_BRANCH, 0x401000, "loop 0x401000"},
		{"\x0f\x05", 2, INSTRUCTION_SYSTEM_CALL, 0, "syscall"},
		{"\x48\xcf", 2, INSTRUCTION_RETURN, 0, "iretq"},
		{"\x06", 1, INSTRUCTION_BAD, 0, "(bad)"},
		{"\x48\x89\xe5", 3, INSTRUCTION_OTHER, 0, "movq %rsp, %rbp"},
	};
	static const struct expected intel[] = {
		{"\x48\x89\xe5", 3, INSTRUCTION_OTHER, 0, "mov rbp, rsp"},
		{"\xe8\0\0\0\0", 5, INSTRUCTION_CALL, 0x401005, "call 0x401005"},
	};
	static const struct expected bits32[] = {
		{"\x06", 1, INSTRUCTION_OTHER, 0, "pushl %es"},
		{"\xe8\xfb\xef\xff\xff", 5, INSTRUCTION_CALL, 0x400000, "calll 0x400000"},
	};
	check("x86_64", DISASM_ATT, att, sizeof(att) / sizeof(att[0]));
	check("x86_64", DISASM_INTEL, intel, sizeof(intel) / sizeof(intel[0]));
	check("i686", DISASM_ATT, bits32, sizeof(bits32) / sizeof(bits32[0]));
}

static void arm64(void **state)
{
	static const struct expected expected[] = {
		{"\xc0\x03\x5f\xd6", 4, INSTRUCTION_RETURN, 0, "ret"},
		{"\0\0\0\x94", 4, INSTRUCTION_CALL, 0x401000, "bl #0x401000"},
		{"\x20\0\x3f\xd6", 4, INSTRUCTION_CALL, 0, "blr x1"},
		{"\x01\0\0\x54", 4, INSTRUCTION_BRANCH, 0x401000, "b.ne #0x401000"},
		{"\x20\0\0\x36", 4, INSTRUCTION_BRANCH, 0x401004, "tbz w0, #0, #0x401004"},
		{"\0\0\x1f\xd6", 4, INSTRUCTION_JUMP, 0, "br x0"},
		{"\x01\0\0\x14", 4, INSTRUCTION_JUMP, 0x401004, "b #0x401004"},
		{"\xff\xff\xff\xff", 4, INSTRUCTION_BAD, 0, "(bad)"},
		{"\xff\xff", 2, INSTRUCTION_BAD, 0, "(bad)"},
	};
	check("aarch64", DISASM_ATT, expected, sizeof(expected) / sizeof(expected[0]));
}

static void operands_relative_to_the_instruction_pointer(void **state)
{
	struct disasm *disasm;
	assert_null(disasm_open("x86_64", DISASM_ATT, &disasm));
	struct code code = {.bytes = (const uint8_t *)"\x48\x8d\x05\x40\0\0\0", .size = 7, .address = 0x1000};
	struct instruction instruction;
	assert_true(disasm_next(disasm, &code, &instruction));
	assert_true(instruction.has_reference);
	assert_int_equal(instruction.reference, 0x1047);
	assert_false(instruction.has_target);
	disasm_close(disasm);
}

static void unknown_machines(void **state)
{
	struct disasm *disasm;
	struct error *error = disasm_open("vax", DISASM_ATT, &disasm);
	assert_non_null(error);
	assert_int_equal(error_kind(error), ERROR_UNSUPPORTED);
	error_free(error);
}

int symbol_disasm_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86),
		cmocka_unit_test(arm64),
		cmocka_unit_test(operands_relative_to_the_instruction_pointer),
		cmocka_unit_test(unknown_machines),
	};
	return cmocka_run_group_tests_name("disasm", tests, NULL, NULL);
}

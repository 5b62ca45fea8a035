/* What instructions do to registers and memory. The bytes are the GNU assembler's of the text beside them; what is expected is what the
 * processors' manuals say of it. */
#include "symbol/code/operation.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { NONE = OPERATION_NO_REGISTER };
enum flag { ACCESS = 1, STACK = 2, FUSES = 4 };

struct expected {
	const char *text, *bytes;
	unsigned int size;
	enum operation_kind kind;
	uint8_t target, source, base, index;
	int64_t constant, offset;
	unsigned int flags;
	uint32_t written;
};

static unsigned int flags_of(const struct code_operation *operation)
{
	return (operation->accesses ? ACCESS : 0) | (operation->stack ? STACK : 0) | (operation->fuses ? FUSES : 0);
}

static void check(const char *arch, const struct expected *expected, size_t count)
{
	struct disasm *disasm;
	assert_null(disasm_open(arch, DISASM_INTEL, &disasm));
	for (size_t i = 0; i < count; i++) {
		const struct expected *row = &expected[i];
		struct code code = {.bytes = (const uint8_t *)row->bytes, .size = row->size, .address = 0x1000};
		struct instruction instruction;
		struct code_operation operation;
		print_message("%s\n", row->text);
		assert_true(disasm_next(disasm, &code, &instruction));
		assert_int_equal(instruction.size, row->size);
		assert_true(disasm_operation(disasm, &operation));
		assert_int_equal(operation.kind, row->kind);
		assert_int_equal(flags_of(&operation), row->flags);
		assert_int_equal(operation.written, row->written);
		if (row->kind != OPERATION_OTHER)
			assert_int_equal(operation.target, row->target);
		if (row->kind == OPERATION_SUM)
			assert_int_equal(operation.source, row->source);
		assert_int_equal(operation.constant, row->constant);
		assert_int_equal(operation.has_operand ? operation.operand.base : NONE, row->base);
		assert_int_equal(operation.has_operand ? operation.operand.index : NONE, row->index);
		assert_int_equal(operation.operand.offset, row->offset);
	}
	disasm_close(disasm);
}

#define BIT(number) ((uint32_t)1 << (number))

static void x86(void **state)
{
	enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP };
	static const struct expected rows[] = {
		{"mov %rdi,%rbp", "\x48\x89\xfd", 3, OPERATION_SUM, RBP, RDI, NONE, NONE, 0, 0, 0, BIT(RBP)},
		{"mov 0x8(%rdi),%rax", "\x48\x8b\x47\x08", 4, OPERATION_LOAD, RAX, 0, RDI, NONE, 0, 8, ACCESS, BIT(RAX)},
		{"mov (%rax,%rcx,4),%edx", "\x8b\x14\x88", 3, OPERATION_OTHER, 0, 0, RAX, RCX, 0, 0, ACCESS, BIT(RDX)},
		{"lea 0x10(%rip),%rdx", "\x48\x8d\x15\x10\0\0\0", 7, OPERATION_ADDRESS, RDX, 0, NONE, NONE, 0, 0x1017, 0, BIT(RDX)},
		{"add $0x38,%rdi", "\x48\x83\xc7\x38", 4, OPERATION_SUM, RDI, RDI, NONE, NONE, 0x38, 0, 0, BIT(RDI)},
		{"sub $0x18,%rsp", "\x48\x83\xec\x18", 4, OPERATION_SUM, RSP, RSP, NONE, NONE, -0x18, 0, 0, BIT(RSP)},
		{"add %rax,%rdx", "\x48\x01\xc2", 3, OPERATION_SUM, RDX, RDX, NONE, NONE, 0, 0, 0, BIT(RDX)},
		{"push %rbx", "\x53", 1, OPERATION_SUM, RSP, RSP, NONE, NONE, -8, 0, STACK, BIT(RSP)},
		{"pop %rbx", "\x5b", 1, OPERATION_SUM, RSP, RSP, NONE, NONE, 8, 0, STACK, BIT(RSP) | BIT(RBX)},
		{"leave", "\xc9", 1, OPERATION_SUM, RSP, RBP, NONE, NONE, 8, 0, STACK, BIT(RSP) | BIT(RBP)},
		{"mov $0x404040,%edi", "\xbf\x40\x40\x40\0", 5, OPERATION_CONSTANT, RDI, 0, NONE, NONE, 0x404040, 0, 0, BIT(RDI)},
		{"mov %fs:0x28,%rax", "\x64\x48\x8b\x04\x25\x28\0\0\0", 9, OPERATION_LOAD, RAX, 0, NONE, NONE, 0, 0x28, ACCESS, BIT(RAX)},
		{"cmpl $0x1,0x4(%rdi)", "\x83\x7f\x04\x01", 4, OPERATION_OTHER, 0, 0, RDI, NONE, 0, 4, ACCESS | FUSES, 0},
		{"xor %eax,%eax", "\x31\xc0", 2, OPERATION_OTHER, 0, 0, NONE, NONE, 0, 0, 0, BIT(RAX)},
		{"call *0x8(%rax)", "\xff\x50\x08", 3, OPERATION_OTHER, 0, 0, RAX, NONE, 0, 8, ACCESS | STACK, BIT(RSP)},
		{"mov %edi,%eax", "\x89\xf8", 2, OPERATION_OTHER, 0, 0, NONE, NONE, 0, 0, 0, BIT(RAX)},
		{"nopw (%rax)", "\x66\x0f\x1f\x00", 4, OPERATION_OTHER, 0, 0, RAX, NONE, 0, 0, 0, 0},
	};
	check("x86_64", rows, sizeof(rows) / sizeof(rows[0]));
}

static void arm64(void **state)
{
	enum { X0, X1, X2, X19 = 19, X29 = 29, X30, SP };
	static const struct expected rows[] = {
		{"mov x19, x0", "\xf3\x03\x00\xaa", 4, OPERATION_SUM, X19, X0, NONE, NONE, 0, 0, 0, BIT(X19)},
		{"adrp x0, -0x1000", "\xe0\xff\xff\xd0", 4, OPERATION_CONSTANT, X0, 0, NONE, NONE, -0x1000, 0, 0, BIT(X0)},
		{"ldr x0, [x1, #8]", "\x20\x04\x40\xf9", 4, OPERATION_LOAD, X0, 0, X1, NONE, 0, 8, ACCESS, BIT(X0)},
		{"ldr w0, [x1, #8]", "\x20\x08\x40\xb9", 4, OPERATION_OTHER, 0, 0, X1, NONE, 0, 8, ACCESS, BIT(X0)},
		{"ldr x0, [x1], #16", "\x20\x04\x41\xf8", 4, OPERATION_LOAD, X0, 0, X1, NONE, 16, 0, ACCESS, BIT(X0)},
		{"stp x29, x30, [sp, #-32]!", "\xfd\x7b\xbe\xa9", 4, OPERATION_OTHER, 0, 0, SP, NONE, 0, -32, ACCESS | STACK, 0},
		{"ldp x29, x30, [sp], #32", "\xfd\x7b\xc2\xa8", 4, OPERATION_LOAD, X29, 0, SP, NONE, 32, 0, ACCESS | STACK,
		 BIT(X29) | BIT(X30)},
		{"add x0, x0, #0x38", "\x00\xe0\x00\x91", 4, OPERATION_SUM, X0, X0, NONE, NONE, 0x38, 0, 0, BIT(X0)},
		{"add x0, x1, x2, lsl #3", "\x20\x0c\x02\x8b", 4, OPERATION_SUM, X0, X1, NONE, NONE, 0, 0, 0, BIT(X0)},
		{"sub sp, sp, #0x20", "\xff\x83\x00\xd1", 4, OPERATION_SUM, SP, SP, NONE, NONE, -0x20, 0, 0, BIT(SP)},
		{"mov x29, sp", "\xfd\x03\x00\x91", 4, OPERATION_SUM, X29, SP, NONE, NONE, 0, 0, 0, BIT(X29)},
		{"ldr x0, [x1, x2, lsl #3]", "\x20\x78\x62\xf8", 4, OPERATION_LOAD, X0, 0, X1, X2, 0, 0, ACCESS, BIT(X0)},
		{"str x0, [x1, #24]", "\x20\x0c\x00\xf9", 4, OPERATION_OTHER, 0, 0, X1, NONE, 0, 24, ACCESS, 0},
	};
	check("aarch64", rows, sizeof(rows) / sizeof(rows[0]));
}

/* The base moves before or behind the access. */
static void bases_move(void **state)
{
	static const struct {
		const char *bytes;
		uint8_t base;
		int64_t by;
	} rows[] = {{"\x20\x04\x41\xf8", 1, 16}, {"\xfd\x7b\xbe\xa9", 31, -32}, {"\x20\x04\x40\xf9", NONE, 0}};
	struct disasm *disasm;
	assert_null(disasm_open("aarch64", DISASM_INTEL, &disasm));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct code code = {.bytes = (const uint8_t *)rows[i].bytes, .size = 4};
		struct instruction instruction;
		struct code_operation operation;
		assert_true(disasm_next(disasm, &code, &instruction));
		assert_true(disasm_operation(disasm, &operation));
		assert_int_equal(operation.base_moved, rows[i].base);
		assert_int_equal(operation.moved, rows[i].by);
	}
	disasm_close(disasm);
}

static void others_are_unknown(void **state)
{
	struct disasm *disasm;
	struct code code = {.bytes = (const uint8_t *)"\x90", .size = 1};
	struct instruction instruction;
	struct code_operation operation;
	assert_null(disasm_open("i686", DISASM_INTEL, &disasm));
	assert_true(disasm_next(disasm, &code, &instruction));
	assert_null(disasm_calling(disasm));
	assert_false(disasm_operation(disasm, &operation));
	disasm_close(disasm);
}

int symbol_operation_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86),
		cmocka_unit_test(arm64),
		cmocka_unit_test(bases_move),
		cmocka_unit_test(others_are_unknown),
	};
	return cmocka_run_group_tests_name("operation", tests, NULL, NULL);
}

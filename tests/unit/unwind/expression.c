/* DWARF expressions as call frame information has them, and broken ones. */
#include "unwind/expression.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool read_memory(void *context, uint64_t address, unsigned int size, uint64_t *ret)
{
	*ret = address * 2 + size;
	return address < 0x1000;
}

static bool evaluate(const char *code, size_t size, uint64_t *ret)
{
	static const uint64_t registers[17] = {[7] = 0x7000, [16] = 0x100b};
	struct expression_context context = {
		.registers = registers, .known = 1 << 7 | 1 << 16, .register_count = 17, .word = 8, .read = read_memory};
	return expression_evaluate(&context, (const uint8_t *)code, size, false, 0, ret);
}

#define EVALUATE(code, ret) evaluate(code, sizeof(code) - 1, ret)

static void results(void **state)
{
	uint64_t value;
	/* The linkage table's CFA: sp + 8 + (ip & 15 >= 11) * 8. */
	assert_true(EVALUATE("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", &value));
	assert_int_equal(value, 0x7010);
	assert_true(EVALUATE("\x08\x10\x06", &value)); /* const1u 16, deref */
	assert_int_equal(value, 0x28);
	assert_true(EVALUATE("\x32\x35\x16\x1c", &value)); /* 5 - 2 after swap */
	assert_int_equal(value, 3);
	assert_true(EVALUATE("\x31\x28\x02\x00\x32\x33\x34", &value)); /* a branch over two */
	assert_int_equal(value, 4);
	assert_true(EVALUATE("\x09\xff\x09\xff\x1b", &value)); /* -1 / -1 */
	assert_int_equal(value, 1);
}

static void broken(void **state)
{
	uint64_t value;
	assert_false(EVALUATE("", &value));
	assert_false(EVALUATE("\x22", &value));			    /* plus without operands */
	assert_false(EVALUATE("\x70\x00", &value));		    /* an unknown register */
	assert_false(EVALUATE("\x2f\xfd\xff", &value));		    /* jumps to itself for ever */
	assert_false(EVALUATE("\x2f\x00\x70", &value));		    /* jumps out */
	assert_false(EVALUATE("\x0c\x00\x10\x00\x00\x06", &value)); /* memory that isn't there */
	assert_false(EVALUATE("\x08", &value));			    /* cut off */
	assert_false(EVALUATE("\x31\x12\x2f\xfc\xff", &value));	    /* fills the stack */
}

int unwind_expression_tests(void);
int unwind_expression_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(results), cmocka_unit_test(broken)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

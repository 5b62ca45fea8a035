/* Depths of calls in traces of hardware, and what branches are called. */
#include "analysis/itrace/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { CALL = TRACED_BRANCH | TRACED_CALL, RETURN = TRACED_BRANCH | TRACED_RETURN, BEGIN = TRACED_BRANCH | TRACED_BEGIN };

static void test_names(void **state)
{
	static const struct {
		uint32_t flags;
		const char *text;
	} CASES[] = {
		{CALL, "call"},
		{RETURN, "return"},
		{TRACED_BRANCH, "jmp"},
		{TRACED_BRANCH | TRACED_CONDITIONAL, "jcc"},
		{CALL | TRACED_SYSCALL, "syscall"},
		{RETURN | TRACED_SYSCALL, "sysret"},
		{CALL | TRACED_INTERRUPT, "int"},
		{RETURN | TRACED_INTERRUPT, "iret"},
		{CALL | TRACED_ASYNC | TRACED_INTERRUPT, "hw int"},
		{BEGIN, "tr strt"},
		{BEGIN | TRACED_END, "tr strt tr end"},
		{TRACED_BRANCH | TRACED_END, "tr end"},
		{CALL | TRACED_SYSCALL | TRACED_END, "tr end  syscall"},
		{TRACED_BRANCH | TRACED_ASYNC | TRACED_END, "tr end  async"},
		{CALL | TRACED_TRANSACTION, "call              (x)"},
		{RETURN | TRACED_END | TRACED_TRANSACTION, "tr end  return    (x)"},
		{CALL | TRACED_RETURN, "bcr"},
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct strbuf out = {0};
		flow_flags_text(CASES[i].flags, &out);
		assert_string_equal(strbuf_str(&out), CASES[i].text);
		strbuf_deinit(&out);
	}
}

static void test_depths(void **state)
{
	static const struct {
		uint64_t key;
		uint32_t flags;
		uint64_t from, to, back;
		uint32_t depth; /* afterwards, of that key */
	} STEPS[] = {
		{7, CALL, 0x100, 0x200, 0x105, 1},
		{7, CALL, 0x210, 0x300, 0x215, 2},
		{8, RETURN, 0x900, 0x910, 0, 0},   /* another thread's, of a call that nobody saw */
		{7, RETURN, 0x310, 0x999, 0, 2},   /* fits nothing */
		{7, CALL, 0x310, 0x315, 0x315, 2}, /* of what comes next: only its address is wanted */
		{7, CALL, 0x320, 0x400, 0x325, 3},
		{7, RETURN, 0x410, 0x105, 0, 0},		/* as longjmp() does */
		{7, CALL | TRACED_END, 0x110, 0x500, 0x115, 1}, /* tracing ends in it … */
		{7, BEGIN, 0, 0x115, 0, 0},			/* … and begins behind it */
		{7, CALL | TRACED_END, 0x120, 0x500, 0x125, 1},
		{7, BEGIN, 0, 0x777, 0, 0}, /* … or anywhere else */
		{7, CALL, 0x130, 0, 0x135, 0},
	};
	struct flow_stacks stacks = {0};
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
		flow_take_branch(&stacks, STEPS[i].key, STEPS[i].flags, STEPS[i].from, STEPS[i].to, STEPS[i].back);
		assert_int_equal(flow_depth(&stacks, STEPS[i].key), STEPS[i].depth);
	}
	flow_stacks_deinit(&stacks);
}

/* A trace may say so: nothing grows without end, nor does a return look through all of it. */
static void test_endless_calls(void **state)
{
	struct flow_stacks stacks = {0};
	flow_take_branch(&stacks, 7, CALL, 0x100, 0x200, 0x105);
	for (unsigned int i = 0; i < 1u << 20; i++)
		flow_take_branch(&stacks, 7, CALL, 0x200, 0x300, 0x205);
	const uint32_t depth = flow_depth(&stacks, 7);
	assert_true(depth > 1000 && depth < 1u << 20);
	flow_take_branch(&stacks, 7, RETURN, 0x300, 0x105, 0);
	assert_int_equal(flow_depth(&stacks, 7), depth);
	flow_take_branch(&stacks, 7, RETURN, 0x300, 0x205, 0);
	assert_int_equal(flow_depth(&stacks, 7), depth - 1);
	flow_stacks_deinit(&stacks);
}

int analysis_flow_tests(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_depths),
						  cmocka_unit_test(test_endless_calls)};
	return cmocka_run_group_tests_name("analysis/flow", tests, NULL, NULL);
}

/* What BPF programs can return. */
#include "kernel/bpf/bpf_returns.h"

#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SET(reg, value)                                                               \
	{                                                                             \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value) \
	}
#define SET32(reg, value)                                                           \
	{                                                                           \
		.code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value) \
	}
#define COPY(reg, from)                                                                  \
	{                                                                                \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (reg), .src_reg = (from) \
	}
#define ADD(reg, value)                                                               \
	{                                                                             \
		.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (reg), .imm = (value) \
	}
#define LOAD(reg)                                                                            \
	{                                                                                    \
		.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = (reg), .src_reg = 1, .off = 8 \
	}
#define WIDE(reg, value)                                                       \
	{.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = (reg), .imm = (value)}, \
	{                                                                      \
		.imm = 0                                                       \
	}
#define CALL                                         \
	{                                            \
		.code = BPF_JMP | BPF_CALL, .imm = 5 \
	}
#define IF_ZERO(reg, over)                                                         \
	{                                                                          \
		.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = (reg), .off = (over) \
	}
#define GO(over)                                        \
	{                                               \
		.code = BPF_JMP | BPF_JA, .off = (over) \
	}
#define GO_FAR(over)                                      \
	{                                                 \
		.code = BPF_JMP32 | BPF_JA, .imm = (over) \
	}
#define TAIL_CALL                      \
	{                              \
		.code = BPF_JMP | 0xf0 \
	}
#define SWAP                                                                                          \
	{                                                                                             \
		.code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 1, .src_reg = 2, .imm = BPF_CMPXCHG \
	}
#define EXIT                               \
	{                                  \
		.code = BPF_JMP | BPF_EXIT \
	}

struct program {
	bool may;
	struct bpf_insn code[10];
};

static size_t length_of(const struct program *program)
{
	size_t length = sizeof(program->code) / sizeof(program->code[0]);
	while (length && !program->code[length - 1].code)
		length--;
	return length;
}

static void each_way_counts(void **state)
{
	static const struct program programs[] = {
		{false, {SET(0, 1), EXIT}},
		{false, {SET32(0, -1), EXIT}},
		{true, {SET(0, 0), EXIT}},
		{true, {SET(1, 1), EXIT}},
		{true, {CALL, EXIT}},
		{true, {SET(0, 1), CALL, EXIT}},
		{false, {CALL, SET(0, 1), EXIT}},
		{true, {SET(0, 1), LOAD(0), EXIT}},
		{false, {SET(0, 1), LOAD(6), WIDE(1, 0), EXIT}},
		{true, {SET(0, 1), WIDE(0, 1), EXIT}},
		{true, {SET(0, 1), ADD(0, -1), EXIT}},
		{true, {COPY(0, 1), EXIT}},
		{true, {SET(0, 1), SWAP, EXIT}},
		{true, {SET(0, 1), TAIL_CALL, EXIT}},
		{false, {LOAD(6), IF_ZERO(6, 1), CALL, SET(0, 1), EXIT}},
		{true, {LOAD(6), SET(0, 0), IF_ZERO(6, 1), SET(0, 1), EXIT}},
		{false, {LOAD(6), SET(0, 2), IF_ZERO(6, 1), SET(0, 1), EXIT}},
		{true, {SET(0, 1), IF_ZERO(6, 2), SET(0, 1), EXIT, SET(0, 0), EXIT}},
		{false, {GO(2), SET(0, 0), EXIT, SET(0, 1), EXIT}},
		{false, {GO_FAR(2), SET(0, 0), EXIT, SET(0, 1), EXIT}},
		{false, {SET(0, 1), IF_ZERO(6, -2), EXIT}},
		{true, {SET(0, 1), IF_ZERO(6, 1), EXIT, CALL, GO(-3)}},
	};
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (bpf_may_return_zero(programs[i].code, length_of(&programs[i])) != programs[i].may)
			fail_msg("program %zu", i);
}

static void what_is_broken_may(void **state)
{
	static const struct bpf_insn without_end[] = {SET(0, 1)}, out_of_it[] = {SET(0, 1), GO(-5), EXIT},
				     half[] = {{.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1}};
	assert_true(bpf_may_return_zero(without_end, 0));
	assert_true(bpf_may_return_zero(without_end, 1));
	assert_true(bpf_may_return_zero(out_of_it, 3));
	assert_true(bpf_may_return_zero(half, 1));
}

int kernel_bpf_returns_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_way_counts), cmocka_unit_test(what_is_broken_may)};
	return cmocka_run_group_tests_name("kernel/bpf_returns", tests, NULL, NULL);
}

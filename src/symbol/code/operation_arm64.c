/* What instructions of arm64 do. Numbers of registers: DWARF for the Arm 64-bit Architecture, table "DWARF register names". */
#include "symbol/code/disasm_internal.h"

enum { X0 = 0, X19 = 19, X29 = 29, X30 = 30, STACK_POINTER = 31 };

#define BIT(number) ((uint32_t)1 << (number))
const struct calling calling_arm64 = {
	.stack = STACK_POINTER,
	.result = X0,
	.entry = 0,
	.word = 8,
	/* x19 to x29 and the stack pointer: AAPCS64, "general-purpose registers" */
	.kept = (BIT(X30) - BIT(X19)) | BIT(STACK_POINTER),
};

/* Of 64 bits. */
static uint8_t whole(unsigned int reg)
{
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
		return (uint8_t)(reg - ARM64_REG_X0);
	return reg == ARM64_REG_X29 ? X29 : reg == ARM64_REG_X30 ? X30 : reg == ARM64_REG_SP ? STACK_POINTER : OPERATION_NO_REGISTER;
}

static uint8_t number_of(unsigned int reg)
{
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
		return (uint8_t)(reg - ARM64_REG_W0);
	return reg == ARM64_REG_WSP ? STACK_POINTER : whole(reg);
}

/* The memory that is named, and by how much its base moves: "[x1, #16]!" before the access, "[x1], #16" behind it. */
static void note_operand(const cs_insn *insn, const cs_arm64 *arm64, unsigned int at, struct code_operation *ret)
{
	const arm64_op_mem *memory = &arm64->operands[at].mem;
	bool behind = at + 1 < arm64->op_count && arm64->operands[at + 1].type == ARM64_OP_IMM;
	ret->operand = (struct memory_operand){
		.base = whole(memory->base), .index = number_of(memory->index), .scale = 1, .offset = behind ? 0 : memory->disp};
	ret->has_operand = true;
	ret->accesses = insn->id != ARM64_INS_PRFM && insn->id != ARM64_INS_PRFUM;
	if (arm64->writeback) {
		ret->base_moved = ret->operand.base;
		ret->moved = behind ? arm64->operands[at + 1].imm : memory->disp;
		ret->stack = ret->base_moved == STACK_POINTER;
	}
}

static void note_kind(const cs_insn *insn, struct code_operation *ret)
{
	const cs_arm64 *arm64 = &insn->detail->arm64;
	const cs_arm64_op *operands = arm64->operands;
	uint8_t target = arm64->op_count >= 2 && operands[0].type == ARM64_OP_REG ? whole(operands[0].reg) : OPERATION_NO_REGISTER;
	if (target == OPERATION_NO_REGISTER)
		return;
	const cs_arm64_op *last = &operands[arm64->op_count - 1];
	unsigned int shift = last->shift.type == ARM64_SFT_LSL ? last->shift.value & 31 : 0;
	int64_t value = last->type == ARM64_OP_IMM ? (int64_t)((uint64_t)last->imm << shift) : 0;
	uint8_t source = operands[1].type == ARM64_OP_REG ? whole(operands[1].reg) : OPERATION_NO_REGISTER;
	enum operation_kind kind = OPERATION_OTHER;
	switch (insn->id) {
	case ARM64_INS_MOV:
		kind = source != OPERATION_NO_REGISTER ? OPERATION_SUM : OPERATION_OTHER;
		break;
	case ARM64_INS_ADD:
	case ARM64_INS_SUB:
		if (last->type == ARM64_OP_REG && insn->id == ARM64_INS_ADD)
			ret->other = whole(last->reg);
		if (source != OPERATION_NO_REGISTER && (last->type == ARM64_OP_IMM || insn->id == ARM64_INS_ADD))
			kind = OPERATION_SUM;
		value = insn->id == ARM64_INS_SUB ? -value : value;
		break;
	case ARM64_INS_ADR:
	case ARM64_INS_ADRP:
		kind = OPERATION_CONSTANT;
		break;
	case ARM64_INS_LDR:
	case ARM64_INS_LDUR:
	case ARM64_INS_LDAR:
	case ARM64_INS_LDP:
		kind = ret->has_operand ? OPERATION_LOAD : OPERATION_OTHER;
		break;
	default:
		break;
	}
	ret->kind = kind;
	ret->target = target;
	ret->source = source;
	ret->constant = value;
}

void operation_of_arm64(struct disasm *disasm, struct code_operation *ret)
{
	const cs_insn *insn = disasm->insn;
	const cs_arm64 *arm64 = &insn->detail->arm64;
	ret->written = disasm_written(disasm, number_of);
	for (unsigned int i = 0; i < arm64->op_count; i++)
		if (arm64->operands[i].type == ARM64_OP_MEM && !ret->has_operand)
			note_operand(insn, arm64, i, ret);
	note_kind(insn, ret);
	if (ret->base_moved != OPERATION_NO_REGISTER)
		ret->written &= ~BIT(ret->base_moved);
}

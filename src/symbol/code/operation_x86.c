/* What instructions of x86-64 do. Numbers of registers: System V psABI, AMD64 supplement, figure 3.36. */
#include "symbol/code/disasm_internal.h"

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP };

#define BIT(number) ((uint32_t)1 << (number))
const struct calling calling_x86 = {
	.stack = RSP,
	.result = RAX,
	.entry = -8,
	.word = 8,
	.kept = BIT(RBX) | BIT(RBP) | BIT(RSP) | BIT(12) | BIT(13) | BIT(14) | BIT(15),
};

/* A register or a part of one. */
static uint8_t number_of(unsigned int reg)
{
	static const uint16_t forms[][5] = {
		[RAX] = {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
		[RDX] = {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
		[RCX] = {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
		[RBX] = {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
		[RSI] = {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
		[RDI] = {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
		[RBP] = {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
		[RSP] = {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
		[8] = {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
		[9] = {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
		[10] = {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
		[11] = {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
		[12] = {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
		[13] = {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
		[14] = {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
		[15] = {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
	};
	for (unsigned int i = 0; i < sizeof(forms) / sizeof(forms[0]) && reg != X86_REG_INVALID; i++)
		for (unsigned int k = 0; k < 5; k++)
			if (forms[i][k] == reg)
				return (uint8_t)i;
	return OPERATION_NO_REGISTER;
}

static void note_operand(const cs_insn *insn, const x86_op_mem *memory, struct code_operation *ret)
{
	struct memory_operand *operand = &ret->operand;
	*operand = (struct memory_operand){.base = number_of(memory->base),
					   .index = number_of(memory->index),
					   .scale = (uint8_t)memory->scale,
					   .segment = memory->segment == X86_REG_FS   ? 'f'
						      : memory->segment == X86_REG_GS ? 'g'
										      : 0,
					   .offset = memory->disp};
	if (memory->base == X86_REG_RIP)
		operand->offset = (int64_t)((uint64_t)memory->disp + insn->address + insn->size);
	ret->has_operand = true;
	ret->accesses = insn->id != X86_INS_LEA && insn->id != X86_INS_NOP;
}

static bool is_whole(const cs_x86_op *operand)
{
	return operand->type == X86_OP_REG && operand->size == 8 && number_of(operand->reg) != OPERATION_NO_REGISTER;
}

static void sum(struct code_operation *ret, uint8_t target, uint8_t source, int64_t constant)
{
	ret->kind = OPERATION_SUM;
	ret->target = target;
	ret->source = source;
	ret->constant = constant;
}

/* "mov $0x404040, %edi" has an address, too, in programs that are linked to a fixed one: the upper half is 0 then. */
static void note_move(const cs_x86_op *to, const cs_x86_op *from, struct code_operation *ret)
{
	uint8_t target = to->type == X86_OP_REG ? number_of(to->reg) : OPERATION_NO_REGISTER;
	if (target == OPERATION_NO_REGISTER || to->size < 4)
		return;
	if (from->type == X86_OP_IMM) {
		ret->kind = OPERATION_CONSTANT;
		ret->constant = to->size == 4 ? (uint32_t)from->imm : from->imm;
	} else if (to->size != 8) {
		return;
	} else if (from->type == X86_OP_MEM) {
		ret->kind = OPERATION_LOAD;
	} else if (is_whole(from)) {
		sum(ret, target, number_of(from->reg), 0);
	}
	ret->target = target;
}

static void note_add(const cs_x86_op *to, const cs_x86_op *by, int sign, struct code_operation *ret)
{
	uint8_t target = is_whole(to) ? number_of(to->reg) : OPERATION_NO_REGISTER;
	bool constant = by->type == X86_OP_IMM;
	if (target == OPERATION_NO_REGISTER || (!constant && (sign < 0 || !is_whole(by))))
		return;
	sum(ret, target, target, constant ? by->imm * sign : 0);
	ret->other = constant ? OPERATION_NO_REGISTER : number_of(by->reg);
}

static void note_stack(const cs_insn *insn, struct code_operation *ret)
{
	bool word = insn->detail->x86.op_count == 0 || insn->detail->x86.operands[0].size == 8;
	ret->stack = true;
	switch (insn->id) {
	case X86_INS_PUSH:
	case X86_INS_PUSHFQ:
		if (word)
			sum(ret, RSP, RSP, -8);
		break;
	case X86_INS_POP:
	case X86_INS_POPFQ:
		if (word)
			sum(ret, RSP, RSP, 8);
		break;
	case X86_INS_LEAVE:
		sum(ret, RSP, RBP, 8);
		break;
	default: /* call, return: the stack pointer is the same again behind the call */
		break;
	}
}

static void note_kind(const cs_insn *insn, struct code_operation *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	switch (insn->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		note_move(to, from, ret);
		break;
	case X86_INS_LEA:
		if (is_whole(to)) {
			ret->kind = OPERATION_ADDRESS;
			ret->target = number_of(to->reg);
		}
		break;
	case X86_INS_ADD:
		note_add(to, from, 1, ret);
		break;
	case X86_INS_SUB:
		note_add(to, from, -1, ret);
		break;
	case X86_INS_PUSH:
	case X86_INS_PUSHFQ:
	case X86_INS_POP:
	case X86_INS_POPFQ:
	case X86_INS_LEAVE:
	case X86_INS_CALL:
	case X86_INS_RET:
		note_stack(insn, ret);
		break;
	default:
		break;
	}
}

/* Intel's optimisation manual, "macro-fusion". */
static bool fuses(unsigned int id)
{
	return id == X86_INS_CMP || id == X86_INS_TEST || id == X86_INS_ADD || id == X86_INS_SUB || id == X86_INS_AND;
}

void operation_of_x86(struct disasm *disasm, struct code_operation *ret)
{
	const cs_insn *insn = disasm->insn;
	const cs_x86 *x86 = &insn->detail->x86;
	ret->written = disasm_written(disasm, number_of);
	for (unsigned int i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM && !ret->has_operand)
			note_operand(insn, &x86->operands[i].mem, ret);
	note_kind(insn, ret);
	ret->fuses = ret->accesses && fuses(insn->id);
	if (ret->kind != OPERATION_OTHER)
		ret->written |= BIT(ret->target);
}

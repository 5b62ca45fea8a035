/* The disassembler: capstone behind a small face. The library is loaded with the first disassembler.
 *
 * Capstone tells groups (jump, call, return) that don't fit everywhere: its arm64 calls are jumps, and loops are in no group but
 * "relative". The kind of an instruction is taken from the groups first, and fixed by what is known for the processor. */
#include "symbol/code/disasm.h"

#include "arch/arch.h"
#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "symbol/code/disasm_internal.h"

#include <stdio.h>
#include <string.h>

#define CAPSTONE_FUNCTIONS(X) X(open) X(option) X(malloc) X(free) X(close) X(disasm_iter) X(insn_group) X(regs_access)

/* capstone.open() is cs_open(). */
static struct {
#define CAPSTONE_MEMBER(name) __typeof__(cs_##name) *name;
	CAPSTONE_FUNCTIONS(CAPSTONE_MEMBER)
#undef CAPSTONE_MEMBER
} capstone;

static struct error *load_capstone(void)
{
#define CAPSTONE_ROW(name) LIBRARY_FUNCTION(cs_##name, &capstone.name),
	const struct library_function rows[] = {CAPSTONE_FUNCTIONS(CAPSTONE_ROW)};
#undef CAPSTONE_ROW
	return library_load(LIBCAPSTONE, rows, sizeof(rows) / sizeof(*rows));
}

struct error *disasm_open(const char *arch, enum disasm_syntax syntax, struct disasm **ret)
{
	const struct arch *machine = arch_find(arch);
	csh handle;
	struct error *error = load_capstone();
	if (error)
		return error;
	if (!machine || !machine->code.unit ||
	    capstone.open((cs_arch)machine->code.capstone, (cs_mode)machine->code.mode, &handle) != CS_ERR_OK)
		return error_new_kind(ERROR_UNSUPPORTED, "no disassembler for machine code of '%s'", arch ? arch : "this processor");
	const struct arch_code *code = &machine->code;
	capstone.option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (code->has_att_syntax)
		capstone.option(handle, CS_OPT_SYNTAX, syntax == DISASM_INTEL ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
	struct disasm *disasm = mem_alloc(sizeof(*disasm));
	*disasm = (struct disasm){.handle = handle,
				  .arch = (cs_arch)code->capstone,
				  .mode = (cs_mode)code->mode,
				  .unit = code->unit,
				  .insn = capstone.malloc(handle)};
	*ret = disasm;
	return NULL;
}

void disasm_close(struct disasm *disasm)
{
	if (!disasm)
		return;
	capstone.free(disasm->insn, 1);
	capstone.close(&disasm->handle);
	free(disasm);
}

/* x86: jmp and its far form always jump, everything else of the group and the loops may. */
static enum instruction_kind x86_kind(const cs_insn *insn, enum instruction_kind kind, bool relative)
{
	switch (insn->id) {
	case X86_INS_JMP:
	case X86_INS_LJMP:
		return INSTRUCTION_JUMP;
	case X86_INS_LCALL:
		return INSTRUCTION_CALL;
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_SYSRET:
	case X86_INS_SYSEXIT:
		return INSTRUCTION_RETURN;
	case X86_INS_XBEGIN:
		return INSTRUCTION_BRANCH;
	default:
		return relative && kind == INSTRUCTION_OTHER ? INSTRUCTION_BRANCH : kind;
	}
}

static enum instruction_kind arm64_kind(const cs_insn *insn, enum instruction_kind kind)
{
	switch (insn->id) {
	case ARM64_INS_BL:
	case ARM64_INS_BLR:
		return INSTRUCTION_CALL;
	case ARM64_INS_BR:
		return INSTRUCTION_JUMP;
	case ARM64_INS_B:
		return insn->detail->arm64.cc == ARM64_CC_INVALID || insn->detail->arm64.cc == ARM64_CC_AL ? INSTRUCTION_JUMP
													   : INSTRUCTION_BRANCH;
	case ARM64_INS_ERET:
		return INSTRUCTION_RETURN;
	default:
		return kind;
	}
}

static enum instruction_kind kind_of(const struct disasm *disasm, const cs_insn *insn)
{
	enum instruction_kind kind = INSTRUCTION_OTHER;
	bool relative = capstone.insn_group(disasm->handle, insn, CS_GRP_BRANCH_RELATIVE);
	if (capstone.insn_group(disasm->handle, insn, CS_GRP_CALL))
		kind = INSTRUCTION_CALL;
	else if (capstone.insn_group(disasm->handle, insn, CS_GRP_RET))
		kind = INSTRUCTION_RETURN;
	else if (capstone.insn_group(disasm->handle, insn, CS_GRP_JUMP))
		kind = INSTRUCTION_BRANCH;
	else if (capstone.insn_group(disasm->handle, insn, CS_GRP_INT))
		kind = INSTRUCTION_SYSTEM_CALL;
	switch (disasm->arch) {
	case CS_ARCH_X86:
		return x86_kind(insn, kind, relative);
	case CS_ARCH_ARM64:
		return arm64_kind(insn, kind);
	case CS_ARCH_ARM:
		return insn->id == ARM_INS_BL || insn->id == ARM_INS_BLX ? INSTRUCTION_CALL : kind;
	default:
		return kind;
	}
}

static bool goes_elsewhere(enum instruction_kind kind)
{
	return kind == INSTRUCTION_JUMP || kind == INSTRUCTION_BRANCH || kind == INSTRUCTION_CALL;
}

static void x86_addresses(const cs_insn *insn, struct instruction *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	for (unsigned int i = 0; i < x86->op_count; i++) {
		const cs_x86_op *operand = &x86->operands[i];
		if (operand->type == X86_OP_IMM && goes_elsewhere(ret->kind) && x86->op_count == 1) {
			ret->has_target = true;
			ret->target = (uint64_t)operand->imm;
		} else if (operand->type == X86_OP_MEM && operand->mem.base == X86_REG_RIP) {
			ret->has_reference = true;
			ret->reference = insn->address + insn->size + (uint64_t)operand->mem.disp;
		}
	}
}

/* The target is the last operand: "tbz w0, #0, #0x401004". */
static void arm64_addresses(const cs_insn *insn, struct instruction *ret)
{
	const cs_arm64 *arm64 = &insn->detail->arm64;
	if (goes_elsewhere(ret->kind) && arm64->op_count > 0 && arm64->operands[arm64->op_count - 1].type == ARM64_OP_IMM) {
		ret->has_target = true;
		ret->target = (uint64_t)arm64->operands[arm64->op_count - 1].imm;
	}
}

static void arm_addresses(const cs_insn *insn, struct instruction *ret)
{
	const cs_arm *arm = &insn->detail->arm;
	if (goes_elsewhere(ret->kind) && arm->op_count > 0 && arm->operands[arm->op_count - 1].type == ARM_OP_IMM) {
		ret->has_target = true;
		ret->target = (uint32_t)arm->operands[arm->op_count - 1].imm;
	}
}

static void pass_over(const struct disasm *disasm, struct code *code, struct instruction *ret)
{
	unsigned int size = disasm->unit < code->size ? disasm->unit : (unsigned int)code->size;
	*ret = (struct instruction){
		.address = code->address, .bytes = code->bytes, .size = size, .kind = INSTRUCTION_BAD, .mnemonic = "(bad)", .operands = ""};
	code->bytes += size;
	code->size -= size;
	code->address += size;
}

bool disasm_next(struct disasm *disasm, struct code *code, struct instruction *ret)
{
	if (code->size == 0)
		return false;
	const uint8_t *bytes = code->bytes;
	cs_insn *insn = disasm->insn;
	disasm->valid = capstone.disasm_iter(disasm->handle, &code->bytes, &code->size, &code->address, insn);
	if (!disasm->valid) {
		pass_over(disasm, code, ret);
		return true;
	}
	*ret = (struct instruction){
		.address = insn->address,
		.bytes = bytes,
		.size = insn->size,
		.kind = kind_of(disasm, insn),
		.mnemonic = insn->mnemonic,
		.operands = insn->op_str,
	};
	if (disasm->arch == CS_ARCH_X86)
		x86_addresses(insn, ret);
	else if (disasm->arch == CS_ARCH_ARM64)
		arm64_addresses(insn, ret);
	else if (disasm->arch == CS_ARCH_ARM)
		arm_addresses(insn, ret);
	return true;
}

uint32_t disasm_written(struct disasm *disasm, uint8_t (*number_of)(unsigned int reg))
{
	cs_regs read, written;
	uint8_t read_count, written_count;
	uint32_t result = 0;
	if (capstone.regs_access(disasm->handle, disasm->insn, read, &read_count, written, &written_count) != CS_ERR_OK)
		return 0;
	for (uint8_t i = 0; i < written_count; i++) {
		uint8_t number = number_of(written[i]);
		if (number != OPERATION_NO_REGISTER)
			result |= (uint32_t)1 << number;
	}
	return result;
}

const struct calling *disasm_calling(const struct disasm *disasm)
{
	if (disasm->arch == CS_ARCH_X86 && disasm->mode == CS_MODE_64)
		return &calling_x86;
	return disasm->arch == CS_ARCH_ARM64 ? &calling_arm64 : NULL;
}

bool disasm_operation(struct disasm *disasm, struct code_operation *ret)
{
	if (!disasm->valid || !disasm_calling(disasm))
		return false;
	*ret = (struct code_operation){.target = OPERATION_NO_REGISTER,
				       .source = OPERATION_NO_REGISTER,
				       .other = OPERATION_NO_REGISTER,
				       .base_moved = OPERATION_NO_REGISTER};
	if (disasm->arch == CS_ARCH_X86)
		operation_of_x86(disasm, ret);
	else
		operation_of_arm64(disasm, ret);
	return true;
}

void instruction_add_text(const struct instruction *instruction, struct strbuf *text)
{
	strbuf_add_str(text, instruction->mnemonic);
	if (instruction->operands[0] != '\0') {
		strbuf_add_char(text, ' ');
		strbuf_add_str(text, instruction->operands);
	}
}

/* What disasm.c and the files that look into its instructions (operation_*.c) share. */
#pragma once

#include "symbol/code/operation.h"

#include <capstone/capstone.h>

struct disasm {
	csh handle;
	cs_arch arch;
	cs_mode mode;
	unsigned int unit; /* bytes that are passed over where there is no instruction */
	cs_insn *insn;
	bool valid; /* insn is the instruction that was given last */
};

/* Bit set of the registers that the instruction writes to, also those that its text doesn't name. `number_of` makes their numbers of
 * capstone's; OPERATION_NO_REGISTER = not one of those. */
uint32_t disasm_written(struct disasm *disasm, uint8_t (*number_of)(unsigned int reg));

void operation_of_x86(struct disasm *disasm, struct code_operation *ret);
void operation_of_arm64(struct disasm *disasm, struct code_operation *ret);
extern const struct calling calling_x86, calling_arm64;

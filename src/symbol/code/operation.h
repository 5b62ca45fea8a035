/* What an instruction does to registers and memory: as much of it as tells which data is at an address that the next ones use. For x86-64
 * and arm64. Registers have the numbers of debug information (DWARF). */
#pragma once

#include "symbol/code/disasm.h"

#include <stdbool.h>
#include <stdint.h>

enum { OPERATION_REGISTERS = 32, OPERATION_NO_REGISTER = 0xff };

enum operation_kind {
	OPERATION_OTHER,    /* no more than what `written` says */
	OPERATION_SUM,	    /* target ← source + constant, and plus `other` where there is one */
	OPERATION_CONSTANT, /* target ← constant */
	OPERATION_LOAD,	    /* target ← as many bytes as an address has, read at the operand */
	OPERATION_ADDRESS,  /* target ← the address of the operand, which isn't accessed */
};

/* base + index * scale + offset */
struct memory_operand {
	uint8_t base, index; /* OPERATION_NO_REGISTER = none */
	uint8_t scale;
	char segment;	/* 'f', 'g': counted from the beginning of x86's segment; 0 = from 0 */
	int64_t offset; /* without a base: an address, also where the instruction has it relative to itself */
};

struct code_operation {
	enum operation_kind kind;
	bool has_operand; /* `operand` is set */
	bool accesses;	  /* and read or written */
	bool stack;	  /* moves something to or from the top of the stack: push, pop, call, return */
	bool fuses;	  /* a branch behind it is executed together with it */
	uint8_t target, source, other;
	uint8_t base_moved; /* the register to which `moved` is added when all else is done; OPERATION_NO_REGISTER = none */
	int64_t moved;
	int64_t constant;
	struct memory_operand operand;
	uint32_t written; /* bit set of registers that get another value, `target` too */
};

/* Of the instruction that disasm_next() gave last, where `disasm` was opened with DISASM_INTEL. False where it isn't one, or of another
 * processor. */
bool disasm_operation(struct disasm *disasm, struct code_operation *ret);

/* What calls do with registers. */
struct calling {
	uint8_t stack, result; /* the stack pointer; where a function's result is */
	int8_t entry;	       /* stack pointer minus canonical frame address at a function's first instruction */
	uint8_t word;	       /* bytes of an address */
	uint32_t kept;	       /* bit set of the registers that a called function gives back as they were */
};
/* NULL where disasm_operation() knows nothing of the processor. */
const struct calling *disasm_calling(const struct disasm *disasm);

/* Machine code → instructions: their text, length and what they do to the flow of control.
 *
 *     struct disasm *disasm;
 *     error = disasm_open("x86_64", DISASM_ATT, &disasm);
 *     struct code code = {.bytes = bytes, .size = size, .address = address};
 *     struct instruction instruction;
 *     while (disasm_next(disasm, &code, &instruction))
 *         …
 *     disasm_close(disasm);
 *
 * One disassembler belongs to one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum disasm_syntax {
	DISASM_ATT,
	DISASM_INTEL, /* for x86; other processors have but one syntax */
};

enum instruction_kind {
	INSTRUCTION_OTHER,
	INSTRUCTION_JUMP,   /* always taken */
	INSTRUCTION_BRANCH, /* taken or not */
	INSTRUCTION_CALL,
	INSTRUCTION_RETURN,
	INSTRUCTION_SYSTEM_CALL, /* and software interrupts */
	INSTRUCTION_BAD,	 /* no instruction: what bytes have been passed over */
};

/* What is left of a piece of machine code. The bytes are the caller's. */
struct code {
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* of the first byte, in whatever space targets are wanted in */
};

struct instruction {
	uint64_t address;
	const uint8_t *bytes; /* in the caller's code */
	unsigned int size;
	enum instruction_kind kind;
	bool has_target;      /* a jump, branch or call to an address that the instruction itself tells */
	bool has_reference;   /* x86: an operand in memory is relative to the instruction pointer */
	uint64_t target;      /* where it goes */
	uint64_t reference;   /* the address of that operand */
	const char *mnemonic; /* prefixes too: "lock incq"; valid until the next call */
	const char *operands; /* "" where there are none; a target stands in it as 0x… (arm64: #0x…); valid until the next call */
};

struct disasm;

/* `arch` is uname's name of the machine that the code is for ("x86_64", "i686", "aarch64", "armv7l", "ppc64le", "s390x", …), NULL is this
 * machine's. ERROR_UNSUPPORTED: no disassembler for it. */
struct error *disasm_open(const char *arch, enum disasm_syntax syntax, struct disasm **ret);
void disasm_close(struct disasm *disasm);
/* The next instruction; false at the end of the code. Never fails: what isn't an instruction is handed out as INSTRUCTION_BAD, the smallest
 * unit at a time. */
bool disasm_next(struct disasm *disasm, struct code *code, struct instruction *ret);

struct strbuf;
/* Adds "movq %rax, %rbx": mnemonic, a blank, operands. Addresses stay numbers. */
void instruction_add_text(const struct instruction *instruction, struct strbuf *text);

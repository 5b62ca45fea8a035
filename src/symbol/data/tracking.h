/* What registers have while a function runs, and which data its operands are. */
#pragma once

#include "symbol/code/code_file.h"
#include "symbol/code/operation.h"
#include "symbol/data/data_access.h"
#include "symbol/data/variables.h"

enum content_kind {
	CONTENT_UNKNOWN,
	CONTENT_POINTER, /* to `type`, `offset` bytes into it */
	CONTENT_FRAME,	 /* canonical frame address plus `offset` */
	CONTENT_ADDRESS, /* the address `offset` */
};

struct content {
	enum content_kind kind;
	bool array; /* CONTENT_POINTER: to one of several, so that what is beyond its ends are others */
	int64_t offset;
	Dwarf_Die type; /* typedefs stay */
};

struct tracked_registers {
	struct content contents[OPERATION_REGISTERS];
};

/* An instruction of the function. */
struct code_step {
	uint64_t address;
	struct code_operation operation;
	enum instruction_kind kind;
	bool has_target, known; /* known: disasm_operation() knows it */
	uint64_t target;
};

struct type_tracking {
	struct data_file *file;		      /* NULL = no debug information */
	struct data_unit *unit;		      /* NULL = none for the function */
	const struct data_function *function; /* the same */
	struct code_file *code;
	struct code_range range;
	const struct calling *calling;
	bool kernel;
	size_t *effort;
	VEC(struct code_step) steps;
};

/* Data that was found. */
struct typed_place {
	Dwarf_Die type; /* typedefs stay */
	uint64_t offset;
	bool tracked;
};

/* What an operand is; registers are as before the instruction at `address`. */
enum data_outcome operand_place(const struct type_tracking *tracking, const struct tracked_registers *registers,
				const struct memory_operand *operand, uint64_t address, struct typed_place *ret);
/* What a register has by debug information, else by `registers`. */
struct content register_content(const struct type_tracking *tracking, const struct tracked_registers *registers, uint8_t reg,
				uint64_t address);

/* Calls `visit` for each step in the order of addresses, with the registers before it. */
void tracking_run(const struct type_tracking *tracking,
		  void (*visit)(void *context, const struct type_tracking *tracking, size_t step,
				const struct tracked_registers *registers),
		  void *context);

/* Which data an instruction accesses: the type of the variable, structure or array element that is behind its operand in memory, and where
 * in it.
 *
 *	mov 0x8(%rdi), %rax      %rdi has the parameter `struct node *node` there  →  struct node, 8
 *
 * That a register has a pointer is told by debug information, or by the instructions before, which are followed through the whole
 * function: what was loaded through a pointer, a sum, the address of a variable, what a function gave back. For x86-64 and arm64.
 *
 * One thread at a time; what was asked before may be asked again by several. */
#pragma once

#include "symbol/data/data_type.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stdint.h>

enum data_outcome {
	DATA_FOUND,
	DATA_STACK,	  /* push, pop, call, return */
	DATA_CANARY,	  /* what the compiler guards stacks with */
	DATA_NO_SYMBOL,	  /* outside of known functions */
	DATA_NO_CODE,	  /* the file isn't there, or the processor another one */
	DATA_NO_ACCESS,	  /* the instruction accesses no memory */
	DATA_NO_DEBUG,	  /* no debug information in the file, */
	DATA_NO_UNIT,	  /* or none for this function */
	DATA_NO_VARIABLE, /* nobody knows what the registers have */
	DATA_NO_TYPE,	  /* a pointer to nothing in particular */
	DATA_NO_SIZE,	  /* to a type that is only declared */
	DATA_BAD_OFFSET,  /* outside of the type */
	DATA_OUTCOMES,
};

struct data_access {
	const struct data_type *type; /* never NULL: data_type_unknown and its like where there is none */
	uint32_t offset;	      /* in it */
	uint8_t outcome;	      /* enum data_outcome */
	bool tracked;		      /* told by the instructions before */
	uint32_t address;	      /* from the function's begin: of the instruction, or of the one that is executed together with it */
};

struct data_accesses;
/* The resolver must outlive it. */
struct data_accesses *data_accesses_create(struct resolver *resolver);
void data_accesses_destroy(struct data_accesses *accesses);
/* Of the instruction at a dso address (map_to_dso()) in a function; `symbol` may be NULL. Lives as long as `accesses`. */
const struct data_access *data_accesses_at(struct data_accesses *accesses, struct dso *dso, const struct symbol *symbol, uint64_t dso_addr);
/* What an instruction is called, for x86 as the GNU tools write it; "" where there is no code. Lives as long as `accesses`. */
const char *data_accesses_mnemonic(struct data_accesses *accesses, struct dso *dso, uint64_t dso_addr);
/* Why nothing was found, as the kernel's tool calls it: "no_var". */
const char *data_outcome_name(enum data_outcome outcome);

/* What a walk up a stack carries along. */
#pragma once

#include "model/maps_cache.h"
#include "unwind/tables.h"
#include "unwind/unwind.h"

#include <string.h>

struct registers {
	uint64_t value[CFI_REGISTERS]; /* by DWARF number */
	uint64_t known;		       /* bit set: has a value */
};

static inline bool register_get(const struct registers *regs, unsigned int reg, uint64_t *ret)
{
	if (reg >= CFI_REGISTERS || !(regs->known >> reg & 1))
		return false;
	*ret = regs->value[reg];
	return true;
}

static inline void register_set(struct registers *regs, unsigned int reg, uint64_t value)
{
	regs->value[reg] = value;
	regs->known |= (uint64_t)1 << reg;
}

struct unwind_walk {
	const struct unwind_input *input;
	const struct arch_frames *arch;
	struct resolver *resolver;
	struct unwind_cache *cache;
	struct maps_state maps;
	struct registers regs;
	uint64_t ip;
	uint64_t stack_start;	    /* address of the first recorded byte */
	bool exact;		    /* ip is where execution was, not a return address */
	bool full;		    /* all registers are carried along; else only stack and frame pointer */
	bool dropped;		    /* some weren't */
	enum unwind_reason missing; /* why memory could not be read in this step; UNWIND_COMPLETE = it could */
};

/* Takes the authentication code out of a return address: user addresses have at most 52 bits, and those above 48 only where asked for. */
static inline uint64_t unwind_without_signature(uint64_t address)
{
	return address & (((uint64_t)1 << 48) - 1);
}

/* One word of the process's memory; false when it isn't there. What is mapped but not recorded reads as 0, and is noted in `missing`. */
bool walk_read_unrecorded(struct unwind_walk *walk, uint64_t address, unsigned int size, uint64_t *ret);
static inline bool walk_read(struct unwind_walk *walk, uint64_t address, unsigned int size, uint64_t *ret)
{
	uint64_t offset = address - walk->stack_start;
	uint32_t half;
	if (__builtin_expect(offset >= walk->input->stack_size || size >= walk->input->stack_size - offset, 0))
		return walk_read_unrecorded(walk, address, size, ret);
	const uint8_t *from = (const uint8_t *)walk->input->stack + offset;
	if (size == 8) {
		memcpy(ret, from, 8);
	} else {
		memcpy(&half, from, 4);
		*ret = half;
	}
	return true;
}

/* To the caller by a row that can say anything. False: there is none, or it can't be found. */
bool walk_step_by_row(struct unwind_walk *walk, const struct cfi_row *row);

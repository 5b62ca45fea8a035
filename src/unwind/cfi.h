/* Call frame information of one file: from a code address to the rules that restore the caller's registers there.
 * Sources of the facts: DWARF 5 section 6.4; LSB "Exception Frames" for .eh_frame; AArch64 DWARF for the return address state. */
#pragma once

#include "symbol/elf/elf.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	CFI_REGISTERS = ARCH_DWARF_REGISTERS
}; /* x86-64: 0-15 and 16 = return address; arm64: x0-x30, sp = 31, 32 unused. Others are ignored */

enum cfi_kind {
	CFI_SAME,	   /* not changed: rules of this kind aren't stored */
	CFI_UNDEFINED,	   /* lost; of the return address: there is no caller */
	CFI_AT_OFFSET,	   /* saved at CFA + value */
	CFI_IS_OFFSET,	   /* is CFA + value */
	CFI_IN_REGISTER,   /* in register number `value` */
	CFI_AT_EXPRESSION, /* saved where the expression says */
	CFI_IS_EXPRESSION, /* is what the expression says */
};

struct cfi_rule {
	uint8_t reg;
	uint8_t kind;	 /* enum cfi_kind */
	uint16_t length; /* of an expression */
	int32_t value;	 /* offset; register; expression: its place in the section */
};

/* What holds from one instruction on to the next row. */
struct cfi_row {
	uint8_t cfa_kind; /* CFI_IS_OFFSET (of register cfa_register) or CFI_IS_EXPRESSION */
	uint8_t cfa_register;
	uint8_t return_register;
	uint8_t count;
	bool signal_frame;   /* the caller was interrupted, it did not call */
	bool return_signed;  /* arm64: the return address carries an authentication code */
	uint16_t cfa_length; /* of the expression */
	int32_t cfa_value;   /* offset, or the expression's place */
	uint64_t popped;     /* bit set: of this register the rule still says where it was saved, but the stack pointer has gone past that
				place since: it has its value again. Compilers don't say so at the end of a function */
	const uint8_t *section; /* expressions are in it */
	struct cfi_rule rules[CFI_REGISTERS];
};

/* A function. */
struct cfi_entry {
	uint64_t start;	 /* virtual address */
	uint32_t offset; /* of the FDE in the section */
	uint32_t number; /* in the section */
};

/* packed.c: rows of functions, for CFI_FUNCTIONS of them at a time; NULL until one of these is asked for. */
enum { CFI_FUNCTIONS = 64 };
struct cfi_function;
typedef struct cfi_function *_Atomic *_Atomic cfi_functions;

/* One section's functions, sorted by address. Points into the section's bytes and those of its table, which must outlive it. */
struct cfi_section {
	const uint8_t *data;
	size_t size;
	uint64_t address; /* virtual, for pc-relative pointers */
	bool eh_frame;	  /* else .debug_frame */
	bool is_64bit, swap;
	struct frame_registers numbers; /* ARCH_NO_REGISTER on a machine that isn't known */
	size_t count;			/* of functions */
	/* Private: where they are, found by a walk, or else in the linker's table as it is. */
	struct cfi_place *places;
	const uint8_t *pairs;
	uint64_t pairs_address;
	cfi_functions *functions;
};

/* Finds all functions in a section of call frame information. `elf` says how its pointers are written. */
void cfi_section_init(struct cfi_section *section, const struct elf_file *elf, const uint8_t *data, size_t size, uint64_t address,
		      bool eh_frame);
/* The same of .eh_frame by the sorted table of its functions that linkers make for run-time unwinders (.eh_frame_hdr), without reading the
 * section: a function's entry is read when it is asked for. The table is searched where it lies, unless it has functions of other sections,
 * too, which are left out. False: it is of another form, or not sorted. */
struct cfi_table {
	const uint8_t *data;
	size_t size;
	uint64_t address;
};
bool cfi_section_init_sorted(struct cfi_section *section, const struct elf_file *elf, const uint8_t *data, size_t size, uint64_t address,
			     const struct cfi_table *table);
void cfi_section_deinit(struct cfi_section *section);
/* Function number `number`, less than `count`. Thread-safe, as all that follow. */
struct cfi_entry cfi_section_at(const struct cfi_section *section, size_t number);
/* How many functions begin at or before the address: the last of them covers it, if one does. */
size_t cfi_section_until(const struct cfi_section *section, uint64_t address);
/* Where the function ends; of one whose entry is broken, where it begins. */
uint64_t cfi_entry_end(const struct cfi_section *section, const struct cfi_entry *entry);
/* The offset of the CIE that it belongs to; false when its entry is broken. */
bool cfi_entry_cie(const struct cfi_section *section, const struct cfi_entry *entry, uint64_t *ret);
/* The row for a virtual address; false when no function covers it or its program is broken. */
bool cfi_section_row(const struct cfi_section *section, uint64_t address, struct cfi_row *ret);
/* The function that covers it; false: none does. */
bool cfi_section_entry(const struct cfi_section *section, uint64_t address, struct cfi_entry *ret);
/* Calls `visit` for each row of the function in the order of the addresses; `start` is where it begins to hold. False when the program is
 * broken: then rows up to there were visited. */
typedef void (*cfi_visitor)(void *context, uint64_t start, const struct cfi_row *row);
bool cfi_section_rows(const struct cfi_section *section, const struct cfi_entry *entry, cfi_visitor visit, void *context);

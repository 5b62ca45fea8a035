/* Rules in 12 bytes: what nearly all rows of call frame information say, and all that return addresses need.
 *
 * Rows of a function are packed when one of them is asked for first, and then shared by all threads. A row that says more (another
 * register, an expression, a signal frame) is marked; then cfi_section_row() has the whole of it. */
#pragma once

#include "unwind/cfi.h"

#include <stddef.h>
#include <stdint.h>

enum packed_base {
	PACKED_SP,    /* the CFA is counted from the stack pointer */
	PACKED_FP,    /* or from the frame pointer */
	PACKED_OTHER, /* the row doesn't fit: see cfi_section_row() */
	PACKED_END,   /* the return address is undefined: nobody has called */
	PACKED_NONE,  /* no row */
};

enum {
	PACKED_UNIT = 4,	     /* bytes: offsets are multiples of it */
	PACKED_SAME = INT16_MIN,     /* instead of a place: the register is as it is */
	PACKED_LOST = INT16_MIN + 1, /* or has no value */
};

struct packed_row {
	uint32_t start; /* from the function's first byte */
	int16_t cfa;	/* base plus this */
	int16_t fp, ip; /* where frame pointer and return address are: CFA plus this; or PACKED_SAME (ip: the link register), PACKED_LOST */
	uint8_t base;	/* enum packed_base */
	uint8_t is_signed; /* arm64: the return address carries an authentication code */
};

/* The row for a virtual address. Thread-safe. */
struct packed_row packed_row_at(const struct cfi_section *section, uint64_t address);
/* All rows of the function there, sorted; none: NULL and *ret_count 0. They live as long as the section. Thread-safe. */
const struct packed_row *packed_rows_of(const struct cfi_section *section, uint64_t address, size_t *ret_count);
/* Frees them: cfi_section_deinit()'s. */
void packed_forget(struct cfi_section *section);
/* The same of a whole row. */
struct packed_row packed_row_of(const struct frame_registers *numbers, const struct cfi_row *row);

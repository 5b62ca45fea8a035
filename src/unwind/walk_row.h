/* Rows for who walks stacks where no expression can be evaluated (bpf/user_stacks.bpf.c): what packed rows say, and the few forms that
 * compilers and C libraries give to the others. 12 bytes. */
#pragma once

#include "unwind/cfi.h"

#include <stdint.h>

/* Where the canonical frame address is. Places are this or another address plus a number of units of 4 bytes, as in packed rows. */
enum walk_base {
	WALK_SP,      /* the stack pointer plus `cfa` */
	WALK_FP,      /* the frame pointer plus `cfa` */
	WALK_OTHER,   /* the row says more than fits here */
	WALK_END,     /* nobody calls this code */
	WALK_NONE,    /* no row: the frame pointer is all that there is */
	WALK_THIRD,   /* x86-64: rbx plus `cfa` */
	WALK_ALIGNED, /* in memory, at the frame pointer plus `cfa`; so are the saved registers. The stack was aligned anew */
	WALK_STUB, /* of the procedure linkage table: the stack pointer plus `cfa`, and 8 more when the lower four bits of the address are
			 `more` or above */
	WALK_WIDE, /* the stack pointer plus `cfa`, without its sign, plus `more` << 16: a frame of 128 KB or more. rbx is lost. On arm64 the
			 stack pointer is also what places are counted from, and each return address may carry an authentication code */
	WALK_SWITCH, /* as WALK_SP, but in a function of Go's runtime that changes stacks (goroutines.h): if it has, the goroutine's comes next,
			 `more`: enum walk_switch. rbx is lost */
	WALK_SIGNAL, /* in memory, at the stack pointer plus `cfa`; so is all else. The caller was interrupted, it did not call */
};

enum { WALK_UNIT = 4, WALK_SAME = INT16_MIN, WALK_LOST = INT16_MIN + 1, WALK_MORE_LOST = UINT8_MAX };

enum walk_switch {
	WALK_GOES_ON_AT_CALL,  /* the goroutine has called it */
	WALK_GOES_ON_AT_PLACE, /* the goroutine is at the beginning of a function, as if it had been interrupted there */
	WALK_BEGINS_THREAD,    /* what this calls is the first of a thread */
	WALK_BEGINS_PROGRAM,   /* no row says this: nobody calls it, WALK_END */
};

struct walk_row {
	uint32_t start;
	int16_t cfa;
	int16_t fp, ip; /* where frame pointer and return address are: CFA plus this; or WALK_SAME (ip: the link register), WALK_LOST */
	uint8_t base;	/* enum walk_base */
	uint8_t more; /* x86-64: so many units below the CFA is rbx; 0 = it is as it is; WALK_MORE_LOST. arm64: 1 = the return address carries
			   an authentication code */
};

struct walk_row walk_row_of(const struct cfi_section *section, const struct cfi_row *row);

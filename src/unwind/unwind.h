/* Unwinding of user stacks: registers and stack bytes of a sample → return addresses, by the call frame information of the mapped files.
 *
 * A pure function of what the sample recorded and the files: nothing is read from a living process. Tables are built once for each file
 * and then shared by all threads. x86-64, 32-bit programs there (and recordings of i386), arm64. */
#pragma once

#include "model/machine.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_input {
	const char *arch;	   /* machine->arch: "x86_64", "aarch64" */
	uint64_t abi;		   /* PERF_SAMPLE_REGS_ABI_*: 2 = 64-bit process, 1 = 32-bit: unwound on x86 only */
	uint64_t mask;		   /* which registers there are, by the kernel's numbers (asm/perf_regs.h) */
	const uint64_t *registers; /* one value for each bit, lowest first */
	const void *stack;	   /* bytes from the stack pointer upwards */
	uint64_t stack_size;
	const struct maps *maps; /* may be NULL: only the instruction pointer comes out */
	uint64_t time;		 /* model time for `maps` */
	uint64_t *sps;		 /* gets the stack pointer in each frame, as many as there are addresses; or NULL, which is faster */
};

/* One thread's memory of rules it has used. */
struct unwind_cache;
void unwind_cache_destroy(struct unwind_cache *cache);

/* Why a stack has no more frames. */
enum unwind_reason {
	UNWIND_COMPLETE,    /* that was where the thread started */
	UNWIND_SHORT,	    /* the copied stack ends before */
	UNWIND_NO_RULES,    /* the file has no unwind information for this code, and there was no frame pointer */
	UNWIND_NO_FILE,	    /* the file isn't there (or is another build) */
	UNWIND_NO_JIT,	    /* JIT-compiled code without a jitdump that tells how to unwind it */
	UNWIND_UNREADABLE,  /* the rules need memory that was not recorded */
	UNWIND_BROKEN,	    /* a return address lies in nothing that is mapped, or the rules lead nowhere */
	UNWIND_DEPTH,	    /* more frames than asked for */
	UNWIND_UNSUPPORTED, /* a process of an unsupported architecture */
	UNWIND_REASONS,
};
struct unwind_end {
	enum unwind_reason reason;
	const struct dso *dso; /* where the last frame is; NULL = in nothing */
	uint64_t depth;	       /* how many bytes above the innermost frame's stack pointer the last one's is */
};

/* Writes up to `max` addresses, innermost first, and returns how many. The first is the instruction pointer; a caller's is one less than
 * where it goes on, except below a signal frame. Thread-safe. `*cache` is NULL at first and kept by the calling thread. */
size_t unwind_user(struct resolver *resolver, struct unwind_cache **cache, const struct unwind_input *input, uint64_t *ips, size_t max,
		   struct unwind_end *ret_end);

/* Why a stack ends at an address whose code has no rules, where the frame pointer led no further; NULL = in nothing. UNWIND_COMPLETE where
 * the kernel itself began to run a program or its dynamic linker. Thread-safe. */
enum unwind_reason unwind_lack_of_rules(struct resolver *resolver, const struct map *map, uint64_t address);

/* Whether there are rules for an address of the file (map_to_dso()). Thread-safe. */
bool unwind_has_rules(struct resolver *resolver, struct dso *dso, uint64_t dso_addr);

/* Whether the rules at an address of the file (map_to_dso()) say that nobody calls it: a thread starts there. Thread-safe. */
bool unwind_is_outermost(struct resolver *resolver, struct dso *dso, uint64_t dso_addr);

/* Whether code at an address of the file (map_to_dso()) runs without a frame of its own, so that the frame pointer leads past its caller:
 * its rules say that the frame pointer isn't in use there (x86), or that the return address is still in the link register (arm64). With
 * `whole` whether that holds for all of the function: what `dso_addr` lies in. False where there are no rules. `arch` as in struct
 * unwind_input. Thread-safe. */
bool unwind_lacks_frame(struct resolver *resolver, struct dso *dso, uint64_t dso_addr, const char *arch, bool whole);

/* Frame pointers lead from a leaf function, which has no frame, past its caller. Where the return address stays in a register (arm64: x30)
 * and that was recorded, the rules at `ip` tell whether it is still there: then the result is the address in the caller, one less than
 * where it goes on, else 0. `stack` and stack pointer of the input aren't used. Thread-safe; `*cache` as above. */
uint64_t unwind_leaf_caller(struct resolver *resolver, struct unwind_cache **cache, const struct unwind_input *input, uint64_t ip);
/* Whether it can find any for registers of this mask. `arch` as in struct unwind_input. */
bool unwind_has_leaf_callers(const char *arch, uint64_t mask);

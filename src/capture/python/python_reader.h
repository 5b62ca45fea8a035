/* Frames of Python in stacks that the kernel copied. A copy has the stack of C, where each function that evaluates leads to its newest
 * frame of Python; the frames themselves are read from the memory of the process when its stack is unwound, a moment later.
 *
 *	copy, of the time of the sample    registers, C stack:  … struct _PyCFrame of a function that evaluates ─┐
 *	memory of the process, by now      frame ◄───────────────────────────────────────────────────────────────┘
 *	                                   └─► previous frame ─► …   each with its code: name, file, lines
 *
 * Since CPython 3.13 the copy has, in place of struct _PyCFrame, the entry with which a function's frames end, and which leads to the
 * newest one of the next function that evaluates. Of the innermost function the newest one is what it has in a register, or what was
 * called has saved of that.
 *
 * The process has gone on meanwhile, and its memory may hold something else by now. So the newest frame of a function counts only if the
 * copy vouches for it: where its code goes on is in a register or on the stack of the function. Else none of the function's frames are
 * shown. The callers of a frame that is vouched for were read with it; they can be wrong only where the same function was called again,
 * in the same place, by another one. Lines of callers are exact then, and the newest frame's is where the copy says that it goes on.
 *
 * Used by one thread. */
#pragma once

#include "capture/python/python_frames.h"
#include "unwind/unwind.h"

struct python_reader;
/* Both outlive the reader. */
struct python_reader *python_reader_create(struct python_frames *frames, struct resolver *resolver);
/* NULL is fine. */
void python_reader_destroy(struct python_reader *reader);

/* Part of a struct machine_holder, of the resolver's machine. */
void python_reader_carry(struct python_reader *reader, const struct carrying *carrying);

/* Adds frames of Python, as programs send them (USER_STACKS_PYTHON_MARK), to the chain that unwind_user() has made of `input`: `count`
 * addresses, with room for `max`. Returns how many there are then. */
size_t python_reader_add(struct python_reader *reader, uint32_t pid, const struct unwind_input *input, struct unwind_cache **cache,
			 uint64_t *ips, size_t count, size_t max);

/* Functions that evaluate, of all stacks: whose frames were added; that had others by then; whose process could not be read. */
struct python_reader_counts {
	uint64_t added, changed, unreadable;
	uint64_t stacks; /* with some of the latter */
	int failure;	 /* error number of the last one that could not be read */
};
struct python_reader_counts python_reader_counts(const struct python_reader *reader);

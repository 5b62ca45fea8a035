/* A profile that another tool has made: what is sampled, stacks of functions, and how much of what each takes. Readers of formats fill it,
 * imported_write() makes a recording of it, whose names are in the recording itself (symbol/carried/carried.h).
 *
 *	import_folded() ─┐
 *	import_pprof() ──┼──► struct imported ──► imported_write() ──► perf.data
 *	import_speedscope()
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IMPORTED_NO_STACK = UINT32_MAX, IMPORTED_STACKS_MAX = 1 << 24 };

/* A function in a stack; all strings are interned, `function` is never NULL. */
struct imported_frame {
	const char *function, *file; /* or NULL */
	const char *mapping;	     /* the program or library that it is in, or NULL */
	uint32_t line;
	bool kernel;
	bool inlined; /* into its caller */
};

/* A frame and its callers. */
struct imported_stack {
	uint32_t frame, parent; /* IMPORTED_NO_STACK = outermost */
};

struct imported_event {
	const char *name;
	bool nanoseconds;
};

struct imported_thread {
	uint32_t pid, tid;
	const char *comm;
};

struct imported_sample {
	uint32_t event, stack, thread;
	uint32_t count; /* of samples, at least 1 */
	uint64_t period, time;
};

struct imported {
	struct intern texts;
	VEC(struct imported_event) events;
	VEC(struct imported_frame) frames;
	VEC(struct imported_stack) stacks;
	VEC(struct imported_thread) threads;
	VEC(struct imported_sample) samples;
	uint64_t left_out;				     /* entries that weren't understood */
	struct map64 frame_index, stack_index, thread_index; /* private: hash → number + 1 */
};

void imported_deinit(struct imported *imported);
/* Numbers of what may be there already. Few bytes can say many stacks: behind the IMPORTED_STACKS_MAX-th a stack is that of its parent, and
 * counted as left out. */
uint32_t imported_event(struct imported *imported, const char *name, bool nanoseconds);
uint32_t imported_frame(struct imported *imported, const struct imported_frame *frame);
uint32_t imported_stack(struct imported *imported, uint32_t parent, uint32_t frame);
uint32_t imported_thread(struct imported *imported, uint32_t pid, uint32_t tid, const char *comm);

struct import_options {
	const char *name; /* of the input, for messages */
	bool comm;	  /* folded: the outermost frames are names of threads */
};

/* Readers of bytes that may be hostile. An error says what isn't as the format has it. */
typedef struct error *import_fn(const char *data, size_t size, const struct import_options *options, struct imported *ret);
import_fn import_folded, import_pprof, import_speedscope;

/* Writes the recording. `words`: the command line, ended by NULL. *ret_cut: stacks that were longer than a record can be. */
struct error *imported_write(struct imported *imported, const char *path, const char *const *words, uint64_t *ret_cut);

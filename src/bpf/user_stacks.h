/* Walking user stacks in the kernel: a BPF program that runs for each sample of an event, or each time that a tracepoint or probe is
 * passed, and writes, in front of the sample and into its ring, the addresses of the user stack; or registers and a copy of the stack where
 * it can't walk it (Linux 6.1 or newer, root or CAP_BPF and CAP_PERFMON).
 *
 * It walks what it has been given rows of. Files of which it has none come as copies that name them (struct user_stacks_copy), and with
 * them the recorder is woken up. */
#pragma once

#include "base/error.h"
#include "bpf/user_stacks_shared.h"

#include <stddef.h>

struct bpf_map;
struct bpf_user_stacks;

/* What a program can be attached to; to be said before, since each way takes the kernel some milliseconds to check. */
enum user_stacks_kinds {
	USER_STACKS_OF_SAMPLES = 1 << 0,
	USER_STACKS_OF_TRACEPOINTS = 1 << 1,
	USER_STACKS_OF_PROBES = 1 << 2,
};
struct user_stacks_options {
	unsigned int kinds; /* enum user_stacks_kinds; 0: only rows, for programs that share them */
	uint32_t depth;	    /* frames that are followed at most, 1 to USER_STACKS_DEPTH */
	bool of_threads;    /* of tracepoints and probes: only those of threads that have counters of their own */
	uint64_t memory;    /* bytes of rows at most, up to USER_STACKS_MEMORY */
};

/* Loads the program; an error says why that isn't possible here. */
struct error *bpf_user_stacks_open(const struct user_stacks_options *options, struct bpf_user_stacks **ret);
/* NULL is fine. What is attached goes on as long as its counters are open. */
void bpf_user_stacks_close(struct bpf_user_stacks *stacks);

enum user_stacks_output {
	USER_STACKS_CHAINS, /* chains, and copies of what can't be walked */
	USER_STACKS_NEWS,   /* copies for want of rows: somebody should be woken up */
};
/* Where records of a CPU go: an open counter of PERF_COUNT_SW_BPF_OUTPUT there. */
struct error *bpf_user_stacks_direct(struct bpf_user_stacks *stacks, enum user_stacks_output output, int cpu, int counter);
/* How much of a ring may be the program's, before stacks are no longer copied; at least USER_STACKS_COPY. */
void bpf_user_stacks_limit(struct bpf_user_stacks *stacks, uint64_t bytes);
/* That so much of the ring of a CPU has been read by now: user_stacks_bytes() of all records since the beginning. */
void bpf_user_stacks_note_read(struct bpf_user_stacks *stacks, int cpu, uint64_t bytes);
/* Every sample of this counter, and of those that inherit from it, has a record in front of it from now on. Of a tracepoint or probe that
 * holds for all counters that there are, and it must be said once. */
struct error *bpf_user_stacks_attach(struct bpf_user_stacks *stacks, enum user_stacks_kinds kind, int counter);

/* The maps of user_walk.bpf.h in another program, which is open and not loaded yet: it walks by the rows of this one. Returns 0, or a
 * negative error number. */
struct user_stacks_maps {
	struct bpf_map *files, *pythons, *first_rows, *row_chunks, *first_words, *word_chunks;
};
int bpf_user_stacks_share(const struct bpf_user_stacks *stacks, const struct user_stacks_maps *maps);

/* A file's code, from a multiple of 1 << USER_STACKS_BLOCK_BITS on: the program knows the file from now on, and asks for the rows of what
 * it meets there. `begin` and `end` are equal: nothing is known of the file. `interpreter`: what the file is, too; or NULL. */
enum user_stacks_added {
	USER_STACKS_ADDED,
	USER_STACKS_NO_ROOM,  /* for the rows: stacks that meet them are copied */
	USER_STACKS_TOO_MANY, /* files, USER_STACKS_FILES: the same */
};
enum user_stacks_added bpf_user_stacks_add(struct bpf_user_stacks *stacks, const struct user_stacks_file *file, uint64_t begin,
					   uint64_t end, const struct user_stacks_interpreter *interpreter, struct user_stacks_code *ret);
/* The rows that hold in [begin, end) of a file that was added, sorted; each holds until the next one begins. Both are multiples of
 * 1 << USER_STACKS_BLOCK_BITS, but for the end of the file, and the first row begins at `begin`. */
enum user_stacks_added bpf_user_stacks_fill(struct bpf_user_stacks *stacks, const struct user_stacks_code *code,
					    const struct user_stacks_row *rows, size_t count, uint64_t begin, uint64_t end);
/* `file` is the one that was added as `known`, under another identity; false: it wasn't, or there is no room for one more. */
bool bpf_user_stacks_add_name(struct bpf_user_stacks *stacks, const struct user_stacks_file *file, const struct user_stacks_file *known);
/* What the program is going to know the file by that is mapped at an address of this process; false: none is, or the kernel doesn't say. */
bool bpf_user_stacks_identify(const struct bpf_user_stacks *stacks, const void *mapped, struct user_stacks_file *ret);
/* Makes room for so many rows at once, within the limit of memory: the kernel waits each time that there is none. */
void bpf_user_stacks_reserve(struct bpf_user_stacks *stacks, uint64_t rows);
/* Forgets all files and rows: what is met from now on is asked for again, and goes where the others were. */
void bpf_user_stacks_clear(struct bpf_user_stacks *stacks);
/* Codes of Python that were told of are told of again, by other numbers, when they are met. */
void bpf_user_stacks_forget_codes(struct bpf_user_stacks *stacks);
/* Memory that rows take, in bytes. */
uint64_t bpf_user_stacks_memory(const struct bpf_user_stacks *stacks);
/* Stacks for which there was no room in the rings, so far. */
uint64_t bpf_user_stacks_unsent(const struct bpf_user_stacks *stacks);

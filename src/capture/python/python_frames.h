/* Frames of Python beside those of C, in chains that a BPF program walks (bpf/user_walk.bpf.h), or the recorder (python_reader.h).
 *
 *	chain of the program     … _PyEval_EvalFrameDefault · code 17, instruction 40 · code 3, instruction 8 · PyEval_EvalCode …
 *	chain of the recording   … _PyEval_EvalFrameDefault · address in "[python]"   · address in "[python]"  · PyEval_EvalCode …
 *
 * "[python]" is mapped into each process that has such frames, where no program can have anything. It is a file of names and lines
 * (symbol/code/names_image.h), which is in the build-id cache after the recording, so that every reader of recordings shows
 * py::NAME:FILE, as CPython names its own trampolines, and the source line. */
#pragma once

#include "base/buildid.h"
#include "base/strbuf.h"
#include "bpf/user_stacks_shared.h"
#include "model/machine.h"

#define PYTHON_FRAMES_FILE "[python]"

/* Names and lines take about so much at most: codes are the processes' to choose. */
enum { PYTHON_FRAMES_BYTES = 256 << 20 };

/* Who needs names while it is recorded, as a live session or a pipe: is given files of a few functions each, before the chains that need
 * them. They are mapped by build-id, beside each other where else the one file would be. */
struct python_frames_taker {
	void (*take)(void *context, const char *name, const struct buildid *id, const struct strbuf *image);
	void (*drop)(void *context, const struct buildid *id); /* no chain that is placed from now on leads there; or NULL */
	void *context;
	bool one_name; /* PYTHON_FRAMES_FILE; else paths that end with it, for readers who know files by their names */
};

struct python_frames;
/* `taker` lives as long as the result; NULL: there is one file, python_frames_make_file(). */
struct python_frames *python_frames_create(const struct python_frames_taker *taker);
/* NULL is fine. */
void python_frames_destroy(struct python_frames *frames);
/* Instead of PYTHON_FRAMES_BYTES, which is the most. */
void python_frames_limit(struct python_frames *frames, size_t bytes);
/* A code that chains name from now on; its lines have so many bytes. When there is no more room it is left out, or, where a taker is given
 * files, names begin anew. */
void python_frames_add(struct python_frames *frames, const struct user_stacks_python_code *code, size_t lines);
/* How many codes were left out; of NULL, none. */
uint64_t python_frames_left_out(const struct python_frames *frames);
/* Warns of that, when the measurement ends; of NULL, nothing. */
void python_frames_warn(const struct python_frames *frames);
/* How often names have begun anew; of NULL, 0. Codes that were told of before have to be told of again, by other numbers: those of then go
 * with the next time. */
uint64_t python_frames_books(const struct python_frames *frames);
/* A program that tells of codes, and remembers which ones. */
struct python_teller {
	size_t codes; /* that it has told of since it remembered none: for its owner to count */
	uint64_t books;
};
/* Whether it should forget them now: names have begun anew since, or it soon remembers USER_STACKS_CODES and could tell of no others. */
bool python_teller_forgets(struct python_teller *teller, const struct python_frames *frames);
/* Copies a chain to `out`, which has room for it, with addresses in place of frames; frames of codes that aren't known are left out.
 * Returns how many addresses there are. */
size_t python_frames_place(struct python_frames *frames, const uint64_t *chain, size_t count, uint64_t *out);
bool python_frames_is_place(uint64_t address);
/* The number of the file that has an address of python_frames_place(), and the map of a file. */
size_t python_frames_file_of(const struct python_frames *frames, uint64_t address);
struct map_description python_frames_map(const struct python_frames *frames, size_t file, uint32_t pid);

/* Appends the file of all names so far; false: there are none. */
bool python_frames_make_file(const struct python_frames *frames, struct strbuf *out, struct buildid *ret_id);

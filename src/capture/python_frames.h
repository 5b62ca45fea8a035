/* Frames of Python beside those of C, in chains that a BPF program walks (bpf/user_walk.bpf.h).
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
#include "symbol/resolve.h"

#define PYTHON_FRAMES_FILE "[python]"

/* What the program has to know of a file; false: it is no interpreter, or of a version whose frames aren't known. */
bool python_frames_describe(struct resolver *resolver, struct dso *dso, struct user_stacks_interpreter *ret);

struct python_frames;
struct python_frames *python_frames_create(void);
/* NULL is fine. */
void python_frames_destroy(struct python_frames *frames);
/* A code that chains name from now on; its lines have so many bytes. */
void python_frames_add(struct python_frames *frames, const struct user_stacks_python_code *code, size_t lines);
/* Copies a chain to `out`, which has room for it, with addresses in place of frames; frames of codes that aren't known are left out.
 * Returns how many addresses there are. */
size_t python_frames_place(struct python_frames *frames, const uint64_t *chain, size_t count, uint64_t *out);
/* The map of PYTHON_FRAMES_FILE. */
struct map_description python_frames_map(uint32_t pid);
bool python_frames_is_place(uint64_t address);

/* Appends the file of all names so far; false: there are none. */
bool python_frames_make_file(const struct python_frames *frames, struct strbuf *out, struct buildid *ret_id);

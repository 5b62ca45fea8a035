/* Which processes readers of the recording were told of: that a file of Python's names is mapped there (python_frames.h). */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty. */
struct python_told {
	/* Private: when processes began or were replaced, by number; when they were told of files, whose numbers are << 32 there. */
	struct map64 begun, told;
	size_t kept; /* of those that began, when some were forgotten the last time */
};

void python_told_deinit(struct python_told *told);

/* A process begins, or becomes another program (execve()). */
void python_told_begin(struct python_told *told, uint32_t pid, uint64_t time);
/* Whether readers know of the file since the process began or was replaced, and before `time`. If not, they are going to: from now on they
 * do. */
bool python_told_know(struct python_told *told, uint32_t pid, size_t file, uint64_t time);
/* For what runs for days: nobody asks with times before `since`. */
void python_told_forget(struct python_told *told, uint64_t since);

/* Writing to a descriptor that may be a pipe, and what became of what a stream was given. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes all of `text`. That nobody reads any more is no error: *ret_closed becomes true (else it is left alone), the rest isn't written.
 * `what` is for the message: "writing WHAT". */
struct error *output_write(int fd, const char *text, size_t size, const char *what, bool *ret_closed);
/* Flushes the stream: 0, or the errno of what has failed since it was opened. A stream remembers only that something has: then it is asked
 * once more, by a newline behind an output that is broken anyway. */
int output_failure(FILE *file);
/* The same, and closes the stream. */
int output_close(FILE *file);

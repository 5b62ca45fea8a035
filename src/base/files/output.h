/* Writing to a descriptor that may be a pipe. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes all of `text`. That nobody reads any more is no error: *ret_closed becomes true (else it is left alone), the rest isn't written.
 * `what` is for the message: "writing WHAT". */
struct error *output_write(int fd, const char *text, size_t size, const char *what, bool *ret_closed);

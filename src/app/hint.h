/* Hints: sentences that read a result for a person, explain, or name a command that shows more. A program that reads our output must never
 * meet one: hints go to terminals, and anywhere with -v. That something was lost or broken is no hint and is always said
 * (log_warning()). */
#pragma once

#include <stdbool.h>

/* Hints may be written to this descriptor: it is a terminal, or -v was given; never with -q. */
bool hint_is_wanted(int fd);
/* The same for standard error and what one needn't hear each time: true once a day on each terminal, and always with -v. It is told apart
 * by `name`, letters and dashes. Remembered by a file in ~/.cache/perf-ng (or $XDG_CACHE_HOME); where that can't be written, true. */
bool hint_is_due(const char *name);

/* Reading a list of the kernel's symbols before it is asked for, on a thread of its own. */
#pragma once

#include "symbol/kernel/kallsyms.h"

struct kallsyms_ahead;

/* NULL when there can be no thread. */
struct kallsyms_ahead *kallsyms_ahead_start(const char *path);
/* What kallsyms_open() would give, once from `ahead` if the list at `path` was read there; waits until it is. `ahead` may be NULL. One call
 * at a time. */
struct error *kallsyms_ahead_take(struct kallsyms_ahead *ahead, const char *path, struct kallsyms *ret);
/* Waits for the thread. */
void kallsyms_ahead_destroy(struct kallsyms_ahead *ahead);

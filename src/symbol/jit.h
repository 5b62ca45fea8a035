/* Names of generated code, as run-time compilers write them: /tmp/perf-PID.map, lines "START SIZE NAME", hexadecimal, absolute addresses;
 * or a jitdump. */
#pragma once

#include "symbol/resolve.h"
#include "symbol/symtab.h"

#include <stdbool.h>
#include <stdint.h>

/* Could the dso be code without a file? Anonymous memory, heap, stack, shared memory, or "/tmp/perf-PID.map" itself. */
bool jit_dso(const struct dso *dso);
/* The symbols of such a dso. The map is looked for in the process's own /tmp first (containers), by its pid there, then in ours; one that
 * belongs to somebody else than the reader or root is not trusted. Never NULL: without a map the table is empty and its source says why. */
struct symtab *jit_load(const struct symbol_options *options, const struct dso *dso);
/* The symbols of a jitdump, with its source lines. Never NULL. */
struct symtab *jit_load_dump(const struct dso *dso);

/* The text of /tmp/perf-PID.map: lines "START SIZE NAME", hexadecimal, absolute addresses. The format has no escapes: the name is the rest
 * of the line. */
#pragma once

#include "symbol/symtab.h"

#include <stddef.h>

/* Adds its symbols and settles them. `text` must be followed by a NUL; it is changed, and the names stay in it. Memory for code is used
 * again and again: where lines overlap the later one is what is there now. */
void perf_map_parse(char *text, size_t size, struct symbol_builder *builder);

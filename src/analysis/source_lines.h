/* Source lines of addresses, as text: "file.c:12". */
#pragma once

#include "analysis/report/fold.h"
#include "symbol/dwarf/functions.h"
#include "symbol/resolve.h"

#include <stdbool.h>

/* Where execution is at a frame's address. `own`: in the frame's own function (unwound stacks have a frame for each function that was
 * inlined there); else in the innermost one. NULL = not known. Lives as long as the resolver. */
const struct code_function *source_find(struct resolver *resolver, const struct frame *frame, bool own);
/* The file's name, with its path or without: the end of `path`. */
const char *source_file(const char *path, bool full_path);

/* The lines of places of a fold, each made once. Thread-safe only for places that were asked for before. */
struct source_lines;
/* `own`: callers' lines are those in their own functions, as in unwound stacks. */
struct source_lines *source_lines_create(struct resolver *resolver, bool full_path, bool own);
void source_lines_destroy(struct source_lines *lines);
/* "file.c:12"; without debug information "function+17" (decimal, from its start), without a symbol "file[17ab]", where nothing is mapped
 * "??:0". Interned: equal lines have equal pointers, which live as long as `lines`. */
const char *source_lines_line(struct source_lines *lines, const struct fold_frame *place, bool caller);
/* "file.c", "" when it isn't known. Interned too. */
const char *source_lines_file(struct source_lines *lines, const struct fold_frame *place, bool caller);

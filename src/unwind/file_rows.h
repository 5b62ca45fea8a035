/* All rows of a file at once, by place in the file, for who walks stacks elsewhere (capture/stack_walker.h). */
#pragma once

#include "base/vec.h"
#include "symbol/resolve.h"
#include "unwind/walk_row.h"

struct file_rows {
	VEC(struct walk_row) rows; /* sorted; `start` is an offset in the file, the last row's end is `end` */
	uint64_t end;
};

/* Appends the rows of the file's code: those of .eh_frame, and of .debug_frame what that has not. The first row begins at a multiple of
 * `align`, a power of two. Nothing is appended for a file that isn't there, has no rules, or whose code lies above 4 GB. Thread-safe. */
void file_rows_collect(struct resolver *resolver, struct dso *dso, uint32_t align, struct file_rows *out);
void file_rows_deinit(struct file_rows *rows);

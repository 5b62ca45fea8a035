/* Rows of a part of a file, by place in the file, for who walks stacks elsewhere (capture/stacks/stack_walker.h). */
#pragma once

#include "base/vec.h"
#include "symbol/resolve.h"
#include "unwind/walk_row.h"

struct file_rows {
	VEC(struct walk_row) rows; /* sorted; `start` is an offset in the file */
};

/* Where the code of a file lies, from a multiple of `align` on, a power of two: offsets in the file. False for a file that isn't there, has
 * no rules, or whose code lies above 4 GB. Thread-safe. */
bool file_rows_extent(struct resolver *resolver, struct dso *dso, uint32_t align, uint64_t *ret_begin, uint64_t *ret_end);
/* Appends the rows that hold in [begin, end), of which nothing need be code: those of .eh_frame, and of .debug_frame what that has not. The
 * first one is at `begin`. Only of files that have an extent. Thread-safe. */
void file_rows_collect(struct resolver *resolver, struct dso *dso, uint64_t begin, uint64_t end, struct file_rows *out);
void file_rows_deinit(struct file_rows *rows);

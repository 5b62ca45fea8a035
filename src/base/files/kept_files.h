/* A folder that holds files of one kind, up to so many: the oldest make room for newer ones. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the files whose names `is_ours` takes, which are in the order of time, the newest `count` with `bytes` at most stay; the newest one
 * does however large it is. Those whose names are equal up to `together` bytes count as one (SIZE_MAX: each is alone). Other files are left
 * alone. */
void kept_files_remove_oldest(const char *folder, bool (*is_ours)(const void *context, const char *name), const void *context,
			      size_t together, uint64_t count, uint64_t bytes);
/* None of them stays. */
void kept_files_remove_all(const char *folder, bool (*is_ours)(const void *context, const char *name), const void *context);
/* Brings a file, or a folder's entries, to disk. */
struct error *kept_files_settle(const char *path);
/* Whether a name begins with a time, YYYYMMDDTHHMMSS, and then `next`. */
bool kept_files_begins_with_time(const char *name, char next);

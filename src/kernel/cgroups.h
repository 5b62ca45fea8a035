/* Control groups that counters can be told apart by: the hierarchies of perf_event (version 1) and of version 2. */
#pragma once

#include <stddef.h>

/* Opens the directory of a group by its path below the root ("/", "user.slice"). Returns a descriptor, and the directory's path in `path`
 * (which may be NULL); -1 when there is none. */
int cgroups_open(const char *name, char *path, size_t size);

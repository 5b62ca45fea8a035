/* Control groups that counters can be told apart by: the hierarchies of perf_event (version 1) and of version 2. */
#pragma once

#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the directory of a group by its path below the root ("/", "user.slice"). Returns a descriptor, and the directory's path in `path`
 * (which may be NULL); -1 when there is none. */
int cgroups_open(const char *name, char *path, size_t size);
/* The directory is of the kernel's own root group, not of a container's: whatever runs is in it or below. By the files that only a root
 * has, or lacks (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cgroups.rst). */
bool cgroups_is_root(int directory);

struct cgroups_names {
	VEC(char *) names; /* paths below the hierarchy's root, without a leading '/' */
};

/* The groups whose path matches a POSIX extended regular expression, sorted; the root is none of them. An error for a bad expression or
 * when there is no hierarchy; that none matches is an empty list. */
struct error *cgroups_find(const char *pattern, struct cgroups_names *ret);
/* The same below a directory ("/sys/fs/cgroup/"), for tests. */
struct error *cgroups_find_below(const char *path, const char *pattern, struct cgroups_names *ret);
/* Frees the names, too. */
void cgroups_names_deinit(struct cgroups_names *list);

/* Visits all groups of the hierarchy that perf events belong to: the controller perf_event of version 1, else version 2; or of version 2
 * alone. Ids are those of samples (PERF_SAMPLE_CGROUP) and of BPF programs, names paths below the root: "/", "/user.slice". */
void cgroups_visit(bool only_v2, void (*visit)(void *context, uint64_t id, const char *name), void *context);

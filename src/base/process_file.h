/* Files of other processes: where they are, and whether those are to be trusted that a process writes for its profiler (perf maps, jitdumps). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does the process live in another mount namespace? Then its paths are to be looked up below /proc/PID/root. `proc` is "/proc", for tests another
 * tree. */
bool process_has_other_mounts(const char *proc, uint32_t pid);
/* Opens a regular file for reading; -1 when there is none. One that belongs neither to this user nor to root could say anything: it is warned of, not
 * opened, and *ret_foreign is set, unless `any_owner`. */
int process_file_open(const char *path, bool any_owner, bool *ret_foreign);

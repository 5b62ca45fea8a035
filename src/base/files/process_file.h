/* Files of other processes: where they are, and whether those are to be trusted that a process writes for its profiler (perf maps,
 * jitdumps). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether what belongs to `owner` is to be trusted: it is this user or root. */
bool owner_is_trusted(uid_t owner);
/* Whether DIRECTORY/NAME may be used without being asked for: it belongs to a trusted owner, and so does the link if it is one; or it isn't
 * there, and the directory it would be made in belongs to one. */
bool own_directory(const char *directory, const char *name);
/* "$HOME/.debug", where the build-id cache is when no other place is chosen: NULL without HOME, and where it may not be used, which sets
 * *ret_foreign (may be NULL). Freed by the caller. */
char *home_cache_directory(bool *ret_foreign);
/* Does the process live in another mount namespace? Then its paths are to be looked up below /proc/PID/root. `proc` is "/proc", for tests
 * another tree. */
bool process_has_other_mounts(const char *proc, uint32_t pid);
enum { PROCESS_ROOT_SIZE = 64 };
/* The same, and by which path its root directory is reached: "/proc/PID/root", or one that process_roots_keep() has opened. */
bool process_root(const char *proc, uint32_t pid, char root[PROCESS_ROOT_SIZE]);
/* The path of a process's root directory, whatever its mounts are; "", which is ours, where that is the same or can't be had any more. */
void process_any_root(const char *proc, uint32_t pid, char root[PROCESS_ROOT_SIZE]);
/* Opens the root directories of the processes that have other mounts or another root now, for the time when this process may look at others
 * no more (kernel/sandbox.h). Called once, on one thread. */
void process_roots_keep(void);
/* The path by which we reach what a process with the root directory `root` ("/proc/PID/root"; "" is our own) means by the absolute path
 * `name`: without symbolic links, each followed as the process does, so that absolute ones stay inside. Freed by the caller; NULL when
 * links lead around in circles. Sets *ret_foreign when one of the links is of an owner that isn't trusted; it may be NULL. */
char *process_root_path(const char *root, const char *name, bool *ret_foreign);
/* Opens a regular file for reading, `name` as a process with the root directory `root` means it; -1 when there is none. One that belongs
 * neither to this user nor to root, or is reached by such a link, could say anything: it is warned of, not opened, and *ret_foreign is set,
 * unless `any_owner`. */
int process_file_open(const char *root, const char *name, bool any_owner, bool *ret_foreign);

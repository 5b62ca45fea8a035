/* The kernel's code as it is in memory now, kept for later: a folder like that which the kernel's tool makes.
 *
 *	perf.data/kcore_dir/             kcore: an ELF core with the code of the kernel, its modules and BPF programs
 *	DIR/[kernel.kcore]/ID/TIME/      kallsyms, modules: what /proc said at the same time
 */
#pragma once

#include "base/buildid.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether that file of a folder, which came with somebody's recording, is a pipe, a device or a link: who opens it may wait for ever. */
bool kcore_copy_is_trap(const char *folder, const char *name);
/* NULL when the memory in `from` can be read, and nothing in it is a trap; an error says why not. */
struct error *kcore_copy_check(const char *from);
/* Copies what is in `from` ("/proc", or such a folder) into the folder `to`, which is made and must not be there yet. On an error nothing
 * is left of it. */
struct error *kcore_copy(const char *from, const char *to);

/* Puts a copy into the build-id cache `cache`, unless one of the same boot is there; *ret: its folder, freed by the caller. */
struct error *kcore_copy_to_cache(const char *from, const char *cache, const struct buildid *id, char **ret, bool *ret_new);
/* The newest copy in the cache in whose list `symbol` has that address: of the same boot. Freed by the caller; NULL = there is none. */
char *kcore_copy_find(const char *cache, const struct buildid *id, const char *symbol, uint64_t address);
/* Removes all copies in the cache. */
void kcore_copy_purge(const char *cache);

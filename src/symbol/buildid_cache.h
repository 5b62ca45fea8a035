/* The build-id cache: copies of files by which recordings can be understood when the files have changed. Shared with the kernel's perf:
 *
 *	DIR/usr/bin/ls/BUILDID/elf            the copy; "debug", "kallsyms" of the kernel, "vdso"
 *	DIR/.build-id/15/dfff…  ──►  ../../usr/bin/ls/BUILDID
 */
#pragma once

#include "base/buildid.h"
#include "base/error.h"
#include "base/vec.h"

/* Puts in the file at `path`, as `name`: an absolute path, "[python]", "[kernel.kallsyms]" or "[vdso]". One that is there already is left
 * as it is. An error says why it can't be, as when the file has another build-id. */
struct error *buildid_cache_add(const char *dir, const struct buildid *id, const char *name, const char *path);
/* The same for its separate debug file. */
struct error *buildid_cache_add_debug(const char *dir, const struct buildid *id, const char *name, const char *path);
/* Whether there is a file of that build-id. */
bool buildid_cache_has(const char *dir, const struct buildid *id);
/* Removes the one of a build-id in hexadecimal digits; false when it isn't there, or stays. */
bool buildid_cache_remove(const char *dir, const char *id);

struct buildid_cache_entry {
	char id[41];
	char *name; /* "/usr/bin/ls", "[kernel.kallsyms]" */
};
struct buildid_cache_list {
	VEC(struct buildid_cache_entry) entries; /* by build-id */
};
void buildid_cache_list(const char *dir, struct buildid_cache_list *ret);
void buildid_cache_list_deinit(struct buildid_cache_list *list);

/* The store of probes in the build-id cache, for the commands probe and buildid-cache. */
#pragma once

#include "base/error.h"

struct probe_options;
struct probe_target;
struct probe_definitions;

/* probe --cache -a: keeps what was defined for a program, or the kernel. */
struct error *probe_cached_add(const struct probe_options *options, const struct probe_target *target,
			       const struct probe_definitions *list);
/* probe --cache -l, -d. */
struct error *probe_cached_list(const struct probe_options *options);
/* Takes probes out of the cache by the patterns of --del; one that fits none is an error. */
struct error *probe_cached_delete(const struct probe_options *options, int *ret_status);
/* buildid-cache -a: keeps the static tracepoints of a program that is in the cache `dir`; `path` is where it is for us. Nothing when it has
 * none. */
struct error *probe_cached_add_static(const char *dir, const char *name, const char *id, const char *path);

/* Visits the programs in the cache that have a static tracepoint which the text of a probe means, as long as they are the cached ones
 * still. */
struct error *probe_cached_visit_static(const char *text, struct error *(*visit)(void *context, const char *path), void *context);

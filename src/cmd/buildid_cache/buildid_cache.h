/* perf buildid-cache: what its files share. */
#pragma once

#include "app/options.h"
#include "base/error.h"
#include "symbol/debug_server.h"

#include <stdbool.h>

/* How long servers may take, all together. */
enum { BUILDID_CACHE_FETCHING_MS = 600000 };

/* --debuginfod[=URLS]: sets the bool `field`, and DEBUGINFOD_URLS. Without servers, or with "system" as the kernel's tool has it, those of
 * the environment; none there is an error. */
option_parse_fn buildid_cache_option_servers;

/* Puts the debug file of a build-id, as `server` (may be NULL) has it, into the cache. False when it has none. */
bool buildid_cache_fetch_debug(const char *cache, const struct buildid *id, const char *name, struct debug_server *server);

/* Whether a file is a recording and no program. */
bool buildid_cache_is_recording(const char *path);
/* Puts the files that were sampled into the cache: as they are here, else from `server` (may be NULL), which is asked for their debug
 * files, too. */
struct error *buildid_cache_add_recording(const char *cache, const char *path, bool force, bool verbose, struct debug_server *server);

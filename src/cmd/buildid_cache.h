/* perf buildid-cache: what its files share. */
#pragma once

#include "base/error.h"
#include "symbol/debug_server.h"

#include <stdbool.h>

/* Whether a file is a recording and no program. */
bool buildid_cache_is_recording(const char *path);
/* Puts the files that were sampled into the cache: as they are here, else from `server` (may be NULL), which is asked for their debug files, too. */
struct error *buildid_cache_add_recording(const char *cache, const char *path, bool force, bool verbose, struct debug_server *server);

/* --self-contained: what a recording carries of the files that its samples hit. */
#pragma once

#include "base/error.h"
#include "perfdata/features/features.h"

/* Reads the recording at `path`, whose records are complete, and adds the table to `features`, its header's. `afterwards`: not by who has
 * just recorded it, so that their build-ids have to say which files are the recorded ones. */
struct error *self_contained_gather(const char *path, bool afterwards, struct features *features);

/* Which files samples hit: by the sampled address alone, not by the call chain: that takes a tenth of the time, and every frame's file
 * is in some sample's way. */
#pragma once

#include "analysis/sides.h"
#include "session/session.h"

#include <stdint.h>

/* Of each dso of the machine, by its index, how many samples hit it. Freed by the caller. */
struct error *hits_find(struct session *session, enum machine_sides sides, uint64_t **ret_by_dso);

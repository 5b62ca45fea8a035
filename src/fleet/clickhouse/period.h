/* A time for which a fleet is asked, as people write it (--time):
 *
 *	-2h                  the last two hours (s, m, h, d)
 *	-2h,-1h              from then until then
 *	2026-11-27           that day; times of the clock are those of this machine's time zone
 *	2026-11-27 10:30,2026-11-27 11:00      from, to; T instead of the space is fine, as are seconds
 *	@1795808006,@1795811606                seconds since 1970 */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct fleet_period {
	uint64_t from, to; /* seconds since 1970; `to` isn't in it */
};

/* NULL: the last hour. `now`: seconds since 1970. */
struct error *fleet_period_parse(const char *text, uint64_t now, struct fleet_period *ret);

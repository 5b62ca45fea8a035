/* Which functions cost most, of a fleet's profile.
 *
 * A function's own share is that of stacks that end in it, its whole share that of all in which it is, once each. Of events that measure
 * time the table also says how many CPUs that was on average, of others how many there were in a second. */
#pragma once

#include "analysis/import/imported.h"
#include "base/error.h"
#include "fleet/clickhouse/query.h"
#include "result/table.h"

#include <stddef.h>

/* Where the table has a function and its file. */
enum { FLEET_COSTS_FUNCTION = 3, FLEET_COSTS_FILE };

/* `event`: its name, or NULL for the one with most samples. `rows`: at most; 0 = all. */
struct error *fleet_costs_table(const struct imported *imported, const struct fleet_profile *profile, const char *event, size_t rows,
				struct table **ret);

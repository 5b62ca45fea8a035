/* Derived metrics: what people read from counts, computed where the counts it takes are there: instructions per cycle, the share of missed
 * branches, GHz, how many CPUs were busy, and for all else how often a second of running it happened. The names are those of the kernel's
 * perf, since scripts look for them. */
#pragma once

#include "analysis/counting/counts.h"
#include "base/arena.h"
#include "result/counting.h"

/* The metrics of an event in a place, the first one next to its count. One that cannot be computed has known = false: its unit still says
 * what would stand there; "" = nothing. At least one, except where the event can have none; allocated in `arena`. */
const struct derived_metric *derived_metrics_of(const struct counts *counts, size_t event, size_t place, bool counted, struct arena *arena,
						unsigned int *ret_count);

/* What the filters of addresses (event/address_filter.h) of an event that traces are for the kernel, which knows addresses of its own, and
 * offsets in files, but no names. */
#pragma once

#include "base/error.h"
#include "event/event.h"
#include "kernel/pmu_sysfs.h"

#include <stdbool.h>

/* Puts into event->filter what event->address_filter means; `by_cpu`: whole CPUs are traced, for which the kernel takes addresses of its
 * own only. `kallsyms`: the kernel's list of symbols, "/proc/kallsyms". The text lives as long as `events`. An error says which names there
 * are, or that the PMU has no such filters, or not so many. */
struct error *trace_filter_resolve(struct event_list *events, struct event *event, const struct pmu *pmu, bool by_cpu,
				   const char *kallsyms);

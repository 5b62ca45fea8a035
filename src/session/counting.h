/* Counting: what `stat` makes of events' attributes, and reading the counters. Opening is session/counters.h's (counters_open_present). */
#pragma once

#include "event/event.h"
#include "session/counters.h"

#include <stdbool.h>
#include <stdint.h>

struct counting_scope {
	bool no_inherit; /* children and new threads aren't followed */
	bool all_user, all_kernel;
	bool by_cpu;   /* whole CPUs */
	bool workload; /* nothing but a command that we start: its exec enables the counters */
	bool delayed;  /* enabled later, by us */
	bool identified; /* counters get ids, for a recording */
	bool no_bundles; /* no groups but those that were asked for: events are switched one by one (--control), or recorded */
};

/* Sets the attributes of all events to plain counting, and gives those that count time their unit. Events that the tool counts itself leave
 * their groups. Runs of single events of the kernel's own (software, tracepoints) become groups, so that they are switched and read
 * together; the hardware has no say in whether such a group fits. */
void counting_configure(struct event_list *events, const struct counting_scope *scope);

/* Gives an event that counts time its unit and scale. */
void counting_set_unit(struct event *event);

/* What one descriptor has counted since it was opened. */
struct count {
	uint64_t value;
	uint64_t enabled_ns; /* how long it was wanted … */
	uint64_t running_ns; /* … and how long it really counted: less when there are more events than counters */
	bool open;
};

/* Reads everything. cells[event] has one element for each CPU × thread of the target; those of events that aren't open stay as they are. */
void counting_read(const struct counters *counters, const struct event_list *events, struct count *const *cells);
